# Runs that Ferry did not make: the console log of OpenSeq2Seq, and TensorBoard's events.
. "$ROOT/tests/cli/tiny.bash"
value() { python3 -c "import json, sys; a = json.load(open(sys.argv[1]))['runs'][0]
print(eval(sys.argv[2], {'a': a['answers'], 'run': a, 'json': json}))" "$@"; }
is() { [ "$(value "$1" "$2")" = "$3" ] || fail "$2 is $(value "$1" "$2"), want $3"; }

PYTHONIOENCODING=utf-8 python3 "$ROOT/tests/cli/reference_log.py" >nohup.out
expect 0 "$FERRY" report nohup.out steps=300000
out_is nohup.out.report.html
json=nohup.out.report.json
is $json "a['time']['code']" finished
is $json "a['time']['values']['steps']" 106300.0
is $json "a['trained']['values']['best_loss']" 1.5429
is $json "a['trained']['values']['best_loss_step']" 100025.0
is $json "a['trained']['code'] in ('IMPROVING', 'SLOWING')" True # about 1 % for half as many again
is $json "a['overfit']['code'] in ('NO', 'UNCLEAR')" True
is $json "abs(a['step']['values']['mean_s'] - 1.941) < 1e-6" True
is $json "a['network']['code']" computed # from the size of the model, and said to be
is $json "round(a['network']['values']['mb_per_s'], 1)" 188.2
is $json "a['busy']['code']" missing # no card is named: it is not guessed
is $json "a['rate']['code']" computed
is $json "a['trained']['values']['best_bleu']" 37.76
is $json "'lr(t) = 2' in str(a['rate']['evidence'])" True
is $json "[h['id'] for h in run['health']]" '[]'
grep -q 'to 300,000 steps' nohup.out.report.html || fail "the asked length is not answered"
grep -q '60,880,896' nohup.out.report.html || fail "the parameters are not told"
grep -q 'Das Schiff &lt;script&gt;' nohup.out.report.html || fail "no sample"
! grep -q '<script\|<b>ship' nohup.out.report.html || fail "text of the log became markup"

# cut anywhere, it is still a report; without its end the run is not called finished
head -c 60000 nohup.out >cut.log
expect 0 "$FERRY" report cut.log
is cut.log.report.json "a['time']['code']" running # written this second
touch -d '2 days ago' cut.log
expect 0 "$FERRY" report cut.log
is cut.log.report.json "a['time']['code']" open
head -c 0 nohup.out >empty.log
expect 0 "$FERRY" report empty.log
printf 'nothing of the kind\n' >other.log
refuses 4 'other.log: neither a run.jsonl nor a log of OpenSeq2Seq' "$FERRY" report other.log

# compressed, or in a directory, it is the same
for tool in gzip xz zstd; do
    $tool -kq nohup.out
done
for log in nohup.out.gz nohup.out.xz nohup.out.zst; do
    expect 0 "$FERRY" report $log out=packed.html
    is packed.json "a['step']" "$(value $json "a['step']")"
done
mkdir logdir
mv nohup.out.gz logdir
expect 0 "$FERRY" report logdir
is logdir/report.json "a['step']" "$(value $json "a['step']")"
expect 0 "$FERRY" watch logdir
out_has finished

# the events of a run of ours, without its run.jsonl
tiny_data data
expect 0 "$FERRY" train run=run data=data "${tiny[@]}" max_steps=60 eval_every=10 \
    summary_every=5 max_length=32
expect 0 "$FERRY" report run
mkdir events
cp run/events.out.tfevents.* events
expect 0 "$FERRY" report events
is events/report.json "run['origin'].startswith('another program')" True
[ "$(value run/report.json "round(a['trained']['values']['best_loss'], 5)")" = \
    "$(value events/report.json "round(a['trained']['values']['best_loss'], 5)")" ] ||
    fail "the best loss differs between run.jsonl and the events"
is events/report.json "a['rate']['code']" logged
is events/report.json "a['time']['code']" running # its events are of this minute
is events/report.json "'ferry train' in str(run)" False
mkdir torn # as a crash leaves it
for file in events/events.out.tfevents.*; do head -c -9 "$file" >torn/"${file##*/}"; done
expect 0 "$FERRY" report torn
is torn/report.json "a['trained']['values']['best_loss_step'] >= 10" True
mkdir bare
refuses 3 run.jsonl "$FERRY" report bare

# console, events, checkpoints and captures are one run
expect 0 "$FERRY" train run=said data=data "${tiny[@]}" max_steps=60 eval_every=10 \
    summary_every=5 max_length=32 log_format=reference
cp .err console.log
mkdir said.events said.files
mv said/events.out.tfevents.* said.events
mv said/model.ckpt-60.* said/checkpoint said.files
cat >gpu.csv <<EOF
timestamp, name, index, utilization.gpu [%], power.draw [W], power.limit [W]
2020/02/25 19:52:17.123, Tesla V100-PCIE-16GB, 0, 100 %, 45.10 W, 250.00 W
2020/02/25 19:52:18.123, Tesla V100-PCIE-16GB, 0, 100 %, 44.90 W, 250.00 W
EOF
expect 0 "$FERRY" report console.log said.events said.files gpu.csv
json=console.log.report.json
is $json "a['rate']['code']" logged
is $json "a['sizes']['code']" exact
is $json "a['time']['code']" finished
is $json "a['busy']['code'], round(a['busy']['values']['gpu_power_w'])" "('waiting', 45)"
is $json "len(json.load(open('$json'))['runs'])" 1
refuses 4 'of different runs' "$FERRY" report nohup.out said.events

# a checkpoint alone answers what it can
expect 0 "$FERRY" report said.files
is said.files/report.json "a['sizes']['code'], a['sizes']['values']['weights_bytes']" \
    "('exact', 24768.0)"

# and so do best models alone, or an index alone
mkdir best
for part in data-00000-of-00001 index meta; do
    cp said.files/model.ckpt-60.$part best/val_loss=1.0931-step-60.$part
done
expect 0 "$FERRY" report best
is best/report.json "a['sizes']['code'], a['files']['values']['step']" "('exact', 60.0)"
rm best/*.data* best/*.meta
expect 0 "$FERRY" report best
is best/report.json "a['sizes']['values']['weights_bytes']" 24768.0

# three of a kind on one page
expect 0 "$FERRY" report run events nohup.out join=false out=all.html
grep -q '3 runs side by side' all.html || fail "no comparison"
is all.json "run['name']" run
grep -q 'nohup.out and run have no evaluations at about the same step' all.md ||
    fail "losses of different steps are compared"
