# Which checkpoint of a run is used, what is said of it, and what training leaves alone.
. "$ROOT/tests/cli/tiny.bash"
tiny_data data
trainer=
trap 'kill -KILL $trainer 2>/dev/null || true; [ "${KEEP:-}" ] || rm -rf "$WORK"' EXIT
train=("${tiny[@]}" data=data save_every=2)
sums() { (cd "$1" && find . -type f ! -newer ../mark -print0 | sort -z | xargs -0 sha256sum); }
began() { grep -o '"event":"start".*' "$1/run.jsonl" | tail -n 1 | grep -o '"step":[0-9]*' | head -n 1; }

# A directory full of other people's files trains, and they stay as they are.
mkdir -p mine/best_models outside
(cd mine && for name in notes.state notes.meta model.meta foo.tmp-bak paper.tex.tmp-1 book.index \
    model.ckpt-9.meta model.ckpt-9.state val_loss=9.state 'a b.data' best_models/x.tmp-old \
    best_models/x.state; do echo "this is $name" >"$name"; done)
touch mark
sums mine >before
expect 0 "$FERRY" train run=mine "${train[@]}" max_steps=4
expect 0 "$FERRY" train run=mine "${train[@]}" max_steps=6
sums mine >after
cmp before after || fail 'training changed files that are not its own'

# Names in a pointer file cannot make training remove what is elsewhere.
for part in index data-00000-of-00001 meta state; do echo outside >outside/model.ckpt-1.$part; done
cp -r mine run
mkdir run/model.ckpt-d
printf 'all_model_checkpoint_paths: "%s"\n' ../outside/model.ckpt-1 "$WORK/outside/model.ckpt-1" \
    model.ckpt-d/../../outside/model.ckpt-1 >>run/checkpoint
expect 0 "$FERRY" train run=run "${train[@]}" max_steps=10 keep_last=1
[ "$(cat outside/* | sort | uniq -c | tr -s ' ')" = ' 4 outside' ] || fail 'files elsewhere were removed'

# Nor do links lead it out of the run.
echo outside >victim
for name in .lock run.jsonl; do
    mv run/$name kept
    ln -s ../victim run/$name
    refuses 3 'symbolic link' "$FERRY" train run=run "${train[@]}" max_steps=12
    mv kept run/$name
done
for name in checkpoint config.yaml model.ckpt-12.index .pulse; do
    rm -f run/$name
    ln -s ../victim run/$name
done
rm run/config.yaml
expect 0 "$FERRY" train run=run "${train[@]}" max_steps=14
[ "$(cat victim)" = outside ] || fail 'a file elsewhere was written'

# The pointer file decides, alone or not; what is beyond it is kept aside.
echo 'model_checkpoint_path: "model.ckpt-12"' >run/checkpoint
expect 0 "$FERRY" train run=run "${train[@]}" max_steps=13
[ "$(began run)" = '"step":12' ] || fail "began at $(began run)"
err_has 'run/newer-than-12'
expect 0 "$FERRY" inspect run/newer-than-12 --verify --no-tensors
out_has 'newer-than-12/model.ckpt-14'

# Without it the newest whole checkpoint is found, which is said.
rm run/checkpoint
expect 0 "$FERRY" eval run bleu=false checkpoint=last --json
err_has 'there is no file run/checkpoint; using run/model.ckpt-13 instead'
out_has '"step": 13'
out_has '"note": "there is no file'
expect 0 "$FERRY" average run last=2 out=mean
err_has 'there is no file run/checkpoint'
expect 0 "$FERRY" train run=run "${train[@]}" max_steps=14
[ "$(began run)" = '"step":13' ] || fail "began at $(began run)"

# A damaged newest one: said where another is taken, and never found to be all right.
cp -r run damaged
truncate -s 100 damaged/model.ckpt-14.index
expect 0 "$FERRY" eval damaged bleu=false checkpoint=last
err_has 'damaged/model.ckpt-13 instead'
refuses 4 'damaged/model.ckpt-14' "$FERRY" inspect damaged --verify --no-tensors
rm damaged/checkpoint
truncate -s 100 damaged/*.index
refuses 4 'no whole checkpoint' "$FERRY" translate damaged checkpoint=last

# Readers beside a training that saves every step and keeps one checkpoint.
"$FERRY" train run=live "${tiny[@]}" data=data max_steps=100000000 save_every=1 keep_last=1 \
    log_every=1000 >.train 2>&1 &
trainer=$!
while [ ! -e live/checkpoint ]; do
    kill -0 $trainer || fail "training ended: $(tail -n 3 .train)"
    sleep 0.05
done
for i in 1 2 3 4; do
    given 'the ship'
    expect 0 "$FERRY" translate live threads=1
    err_lacks instead
    expect 0 "$FERRY" eval live bleu=false threads=1
    err_lacks instead
    expect 0 "$FERRY" average live last=2 out=mean$i
    expect 0 "$FERRY" inspect live --verify
done
kill -0 $trainer || fail "training ended: $(tail -n 3 .train)"
