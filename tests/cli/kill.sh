# Killed twenty times in a row at any moment, training always resumes where the newest
# published checkpoint is, and ends with the bytes of a run that was never killed.
. "$ROOT/tests/cli/tiny.bash"
tiny_data data
options=("${tiny[@]}" data=data save_every=7 eval_every=20 keep_last=3 keep_best=2
    moving_average=0.9 log_every=10)

# The step of the newest published checkpoint; -1 before the first.
published()
{
    [ -e run/checkpoint ] || { echo -1; return; }
    sed -n 's/^model_checkpoint_path: "model.ckpt-\([0-9]*\)"$/\1/p' run/checkpoint
}
sessions() { grep -c '"event":"start"' run/run.jsonl 2>/dev/null || true; }
# The step that the newest session began with.
began() { sed -n 's/^{"event":"start".*"step":\([0-9]*\),"version.*/\1/p' run/run.jsonl | tail -n 1; }

# How long this build on this machine takes to start, make 40 steps and end: kills fall
# within twice that, and later after each round that came no further (other work may have
# begun since).
start=$(date +%s%N)
expect 0 "$FERRY" train run=timed "${options[@]}" max_steps=40
usual_ms=$((($(date +%s%N) - start) / 1000000 + 1))

RANDOM=7
step=-1
before=0
for round in $(seq 1 20); do
    last="round $round of ferry train run=run"
    "$FERRY" train run=run "${options[@]}" max_steps=1000000 >.out 2>.err &
    pid=$!
    wait_ms=$((RANDOM % (2 * usual_ms)))
    sleep "$(printf '%d.%03d' $((wait_ms / 1000)) $((wait_ms % 1000)))"
    kill -KILL $pid || fail "round $round: training ended by itself"
    got=0
    wait $pid 2>/dev/null || got=$?
    [ "$got" -eq 137 ] || fail "round $round: status $got, want that of a kill"
    ! grep -q '^ferry train:' .err || fail "round $round: training failed"

    after=$(sessions)
    if [ "${after:-0}" -gt "$before" ] && [ "$step" -ge 0 ]; then
        [ "$(began)" -eq "$step" ] || fail "round $round: resumed at $(began), saved was $step"
    fi
    before=${after:-0}
    now=$(published)
    [ -n "$now" ] || fail "round $round: the file checkpoint names none"
    [ "$now" -ge "$step" ] || fail "round $round: went back from step $step to $now"
    [ "$now" -gt "$step" ] || usual_ms=$((usual_ms * 5 / 4 + 1))
    step=$now
done
[ "$step" -gt 0 ] || fail "twenty rounds made no checkpoint"

end=$((step + 10))
expect 0 "$FERRY" train run=run "${options[@]}" max_steps=$end
expect 0 "$FERRY" train run=whole "${options[@]}" max_steps=$end
for part in .data-00000-of-00001 .index .meta; do
    cmp run/model.ckpt-$end$part whole/model.ckpt-$end$part || fail "$part differs"
done
diff <(grep -v '"seconds"\|"checksum"' run/model.ckpt-$end.state) \
    <(grep -v '"seconds"\|"checksum"' whole/model.ckpt-$end.state) || fail "the states differ"
[ -z "$(find run -name '*.tmp-*')" ] || fail "half-written files are left"
for state in run/*.state; do
    [ -e "${state%.state}.index" ] || fail "$state is the rest of a checkpoint"
done
expect 0 "$FERRY" inspect run --verify --no-tensors
expect 0 "$FERRY" report run
