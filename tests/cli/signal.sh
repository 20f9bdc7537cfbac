# SIGTERM and SIGINT: the step ends, a checkpoint is saved, the status is 0, and the run
# goes on from there when it is started again.
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
