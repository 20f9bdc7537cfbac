# Runs that Ferry did not make: the console log of OpenSeq2Seq, and TensorBoard's events.
. "$ROOT/tests/cli/tiny.bash"
value() { python3 -c "import json, sys; a = json.load(open(sys.argv[1]))['runs'][0]
print(eval(sys.argv[2], {'a': a['answers'], 'run': a}))" "$@"; }
is() { [ "$(value "$1" "$2")" = "$3" ] || fail "$2 is $(value "$1" "$2"), want $3"; }

PYTHONIOENCODING=utf-8 python3 "$ROOT/tests/cli/reference_log.py" >nohup.out
expect 0 "$FERRY" report nohup.out steps=300000
out_is nohup.out.report.html
json=nohup.out.report.json
is $json "a['time']['code']" finished
is $json "a['time']['values']['steps']" 106200.0
is $json "a['trained']['values']['best_loss']" 1.5429
is $json "a['trained']['values']['best_loss_step']" 100025.0
is $json "a['trained']['code'] in ('IMPROVING', 'SLOWING')" True # about 1 % for half as many again
is $json "a['overfit']['code'] in ('NO', 'UNCLEAR')" True
is $json "abs(a['step']['values']['mean_s'] - 1.941) < 1e-6" True
is $json "a['network']['code']" missing # the log says nothing of it: it is not guessed
is $json "a['busy']['code']" missing
is $json "'lr(t) = 2' in str(a['rate']['evidence'])" True
is $json "[h['id'] for h in run['health']]" '[]'
grep -q 'to 300,000 steps' nohup.out.report.html || fail "the asked length is not answered"
grep -q '60,880,896' nohup.out.report.html || fail "the parameters are not told"
grep -q 'Das Schiff &lt;script&gt;' nohup.out.report.html || fail "no sample"
! grep -q '<script\|<b>ship' nohup.out.report.html || fail "text of the log became markup"

# cut anywhere, it is still a report; without its end the run is not called finished
head -c 60000 nohup.out >cut.log
expect 0 "$FERRY" report cut.log
is cut.log.report.json "a['time']['code']" died
head -c 0 nohup.out >empty.log
expect 0 "$FERRY" report empty.log
printf 'nothing of the kind\n' >other.log
refuses 4 'other.log: neither a run.jsonl nor a log of OpenSeq2Seq' "$FERRY" report other.log

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
mkdir torn # as a crash leaves it
for file in events/events.out.tfevents.*; do head -c -9 "$file" >torn/"${file##*/}"; done
expect 0 "$FERRY" report torn
is torn/report.json "a['trained']['values']['best_loss_step'] >= 10" True
mkdir bare
refuses 3 run.jsonl "$FERRY" report bare

# three of a kind on one page
expect 0 "$FERRY" report run events nohup.out out=all.html
grep -q '3 runs side by side' all.html || fail "no comparison"
is all.json "run['name']" run
grep -q 'nohup.out and run have no evaluations at about the same step' all.md ||
    fail "losses of different steps are compared"
