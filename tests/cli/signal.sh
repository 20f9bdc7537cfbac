# SIGTERM and SIGINT: the step ends, a checkpoint is saved, the status is 0, and the run
# goes on from there when it is started again. A reader of the console that leaves ends
# nothing; a run directory that is gone ends training with a sentence.
. "$ROOT/tests/cli/tiny.bash"
tiny_data data
options=("${tiny[@]}" data=data log_every=1)

wait_for() # TEXT: until the log holds it
{
    for _ in $(seq 1 600); do
        ! grep -q "$1" run/run.jsonl 2>/dev/null || return 0
        sleep 0.05
    done
    fail "the log never held $1"
}
newest() { sed -n 's/^model_checkpoint_path: "model.ckpt-\([0-9]*\)"$/\1/p' run/checkpoint; }
sessions() { grep -c '"event":"start"' run/run.jsonl || true; }

step=0
for signal in TERM INT TERM; do
    last="ferry train run=run, then SIG$signal"
    # a shell starts its background jobs with SIGINT ignored; exec from one that does not
    env --default-signal=INT "$FERRY" train run=run "${options[@]}" max_steps=1000000 \
        >.out 2>.err &
    pid=$!
    wait_for "\"event\":\"step\",.*\"step\":$((step + 3)),"
    kill -$signal $pid
    got=0
    wait $pid || got=$?
    [ "$got" -eq 0 ] || fail "status $got after SIG$signal, want 0"
    err_has 'stopped by a signal'
    err_has 'the same command continues from there'
    tail -n 1 run/run.jsonl >.out
    out_has '"event":"stop"'
    out_has '"reason":"signal"'
    [ "$(newest)" -gt "$step" ] || fail "the checkpoint is of step $(newest), it began at $step"
    step=$(newest)
    out_has "\"step\":$step,"
done
[ "$(sessions)" -eq 3 ] || fail "want three sessions in the log"

# three interrupted parts and a last one equal an uninterrupted run
end=$((step + 5))
expect 0 "$FERRY" train run=run "${options[@]}" max_steps=$end
err_has 'resuming run'
expect 0 "$FERRY" train run=whole "${options[@]}" max_steps=$end
cmp run/model.ckpt-$end.data-00000-of-00001 whole/model.ckpt-$end.data-00000-of-00001 ||
    fail "stopping changed the result"

# the console's reader leaves: training goes on to its end, and its lines into a file
last="ferry train run=piped | head"
{ got=0; "$FERRY" train run=piped "${options[@]}" max_steps=$end || got=$?; echo "$got" >.status; } \
    2>&1 | head -n 2 >.out
[ "$(cat .status)" -eq 0 ] || fail "status $(cat .status) without a reader, want 0"
tail -n 1 piped/run.jsonl >.out
out_has '"reason":"max_steps"'
cmp piped/model.ckpt-$end.data-00000-of-00001 whole/model.ckpt-$end.data-00000-of-00001 ||
    fail "a reader that left changed the result"
grep -q 'standard error was closed' piped/rank-0.log || fail "nobody said where the lines are"
grep -q "finished at step $end" piped/rank-0.log || fail "the lines are nowhere"

# the run directory is removed, renamed, or another is put in its place
for how in removed renamed replaced; do
    rm -rf run
    last="ferry train run=run, which is $how"
    "$FERRY" train run=run "${options[@]}" max_steps=1000000 >.out 2>lost.err &
    pid=$!
    wait_for '"event":"step",.*"step":3,'
    mv run "$how"
    [ "$how" != removed ] || rm -r "$how"
    [ "$how" != replaced ] || expect 0 "$FERRY" train run=run "${options[@]}" max_steps=7
    got=0
    wait $pid || got=$?
    mv lost.err .err
    [ "$got" -eq 3 ] || fail "status $got, want 3"
    err_has 'the run directory was removed, renamed or replaced'
    [ "$how" = replaced ] || [ ! -e run ] || fail "the directory was made again: $(ls -A run)"
    [ "$how" = removed ] || {
        tail -n 1 "$how/run.jsonl" >.out
        out_has '"reason":"error"'
        expect 0 "$FERRY" train run="$how" "${options[@]}" max_steps=7
        [ -e "$how/model.ckpt-7.index" ] || fail "it does not go on"
    }
done
# who trains in the new directory is left alone
expect 0 "$FERRY" inspect run --verify --no-tensors
cmp run/model.ckpt-7.data-00000-of-00001 replaced/model.ckpt-7.data-00000-of-00001 ||
    fail "two trainings disturbed each other"

# Standard streams that are closed: what is said lands in no file of the run.
expect 0 bash -c '"$@" <&- >&- 2>&-' - "$FERRY" train run=closed "${options[@]}" max_steps=5
! grep -rlaE 'training closed|finished at step' closed | grep -v 'run.jsonl' || fail "a file holds what was said"
expect 0 "$FERRY" inspect closed/events.out.tfevents.*
expect 3 bash -c '"$@" >&-' - "$FERRY" version
expect 3 bash -c '"$@" <&-' - "$FERRY" translate closed

# A limit on the size of files: a sentence, and the run goes on without it.
expect 3 bash -c 'ulimit -f 4 && "$@"' - "$FERRY" train run=limited "${options[@]}" max_steps=20
err_has 'ulimit -f'
expect 0 "$FERRY" train run=limited "${options[@]}" max_steps=$end
cmp limited/model.ckpt-$end.data-00000-of-00001 whole/model.ckpt-$end.data-00000-of-00001 ||
    fail "the limit changed the result"

# A corpus that is cut short under a running job: a sentence with its name, and the run goes on once it is back.
cp -r data cut
last='ferry train run=cut-run, its corpus cut short'
"$FERRY" train run=cut-run "${options[@]}" data=cut save_every=2 max_steps=1000000 >.out 2>.err &
pid=$!
for _ in $(seq 1 600); do
    [ ! -e cut-run/checkpoint ] || break
    sleep 0.05
done
truncate -s 0 cut/train.bin
got=0
wait $pid || got=$?
[ "$got" -eq 3 ] || fail "status $got after the corpus was cut short, want 3"
err_has 'ferry train: cut/train.bin: it can no longer be read, for it was cut short'
cp data/train.bin cut/train.bin
at=$(sed -n 's/^model_checkpoint_path: "model.ckpt-\([0-9]*\)"$/\1/p' cut-run/checkpoint)
expect 0 "$FERRY" train run=cut-run "${options[@]}" data=cut save_every=2 max_steps=$((at + 2))
err_has 'resuming cut-run'
