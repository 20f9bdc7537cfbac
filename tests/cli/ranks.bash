# Two processes of one MPI library train as one does: the first one speaks and writes, a signal
# to any of them stops both after the same update, a mistake is said once. Sourced with
#
#   launch         the words that start two processes
#   rank_variable  what the library calls a process's rank in the environment
if ! "${launch[@]}" true >/dev/null 2>&1; then
    skip "${launch[0]} does not start processes here"
fi
. "$ROOT/tests/cli/tiny.bash"

# The processes below a process, and theirs.
tree_of() { local p; for p in $(pgrep -P "$1" || true); do echo "$p"; tree_of "$p"; done; }
# pid_of_rank PID RANK: of the job that PID started
pid_of_rank()
{
    local p
    for p in $(tree_of "$1"); do
        [ "$(cat "/proc/$p/comm" 2>/dev/null)" != ferry ] ||
            ! tr '\0' '\n' <"/proc/$p/environ" | grep -qx "$rank_variable=$2" || echo "$p"
    done
}

tiny_data data
options=("${tiny[@]}" data=data log_every=1 wire=fp32)

expect 0 "$FERRY" train run=one "${options[@]}" max_steps=20 eval_every=10 eval_bleu=true
expect 0 "${launch[@]}" "$FERRY" train run=two "${options[@]}" max_steps=20 eval_every=10 \
    eval_bleu=true
err_has '2 ranks on 1 node, each '
[ "$(grep -c 'finished at step 20' .err)" -eq 1 ] || fail "one rank should speak"
grep -q 'finished at step 20' two/rank-1.log || fail "the other rank keeps no log"
[ "$(grep -c '"event":"start"' two/run.jsonl)" -eq 1 ] || fail "one rank should write run.jsonl"
grep -q '"event":"ranks".*"rank":1' two/run.jsonl || fail "rank 1 is not in the log"

# the same losses, tokens and evaluations
losses() { sed -n 's/.*"event":"step".*"loss":\([0-9.]*\),.*"target_tokens":\([0-9]*\),.*/\1 \2/p' "$1/run.jsonl"; }
paste -d ' ' <(losses one) <(losses two) | awk '
    { d = $1 / $3 - 1; if (d < 0) d = -d }
    d > (NR <= 10 ? 1e-5 : 1e-3) || $2 != $4 { exit 1 }
    END { if (NR != 20) exit 1 }' || fail "two ranks train differently"

# on the same pairs in every update
pairs() { sed -n 's/.*"event":"step".*"step":\([0-9]*\),.*"pairs_hash":"\([0-9a-f]\{16\}\)".*/\1 \2/p' "$1/run.jsonl" | sort -un; }
[ "$(pairs one | wc -l)" -eq 20 ] || fail "not every update has the hash of its pairs"
[ "$(pairs one)" = "$(pairs two)" ] || fail "two ranks train on other pairs"

# a signal to the second rank alone; both save and end well
"${launch[@]}" "$FERRY" train run=two "${options[@]}" max_steps=1000000 >.out 2>.err &
pid=$!
last="a signal to rank 1"
for _ in $(seq 1 300); do
    grep -q '"event":"step",.*"step":2[5-9],' two/run.jsonl && break
    sleep 0.1
done
second=$(pid_of_rank $pid 1)
[ -n "$second" ] || fail "rank 1 is not to be found"
kill -TERM "$second"
got=0
wait $pid || got=$?
[ "$got" -eq 0 ] || fail "status $got after a signal, want 0"
err_has 'stopped by a signal'
step=$(sed -n 's/^model_checkpoint_path: "model.ckpt-\([0-9]*\)"$/\1/p' two/checkpoint)
[ "$step" -gt 20 ] || fail "nothing was saved"

# one rank goes on where two stopped
expect 0 "$FERRY" train run=two "${options[@]}" max_steps=$((step + 5))
err_has 'resuming two'
err_has "after step $step: 1 rank instead of 2; the order of the data stays the same"
grep -q "\"event\":\"start\".*\"step\":$step,.*\"ranks\":1,\"ranks_before\":2" two/run.jsonl ||
    fail "the log does not say that ranks were fewer"
expect 0 "$FERRY" report two
tr -d , <two/report.md | grep -q "Steps $((step + 1)) to $((step + 5)) were trained on 1 of 2 ranks" ||
    fail "the report does not name the span on fewer ranks"
cp -r one longer
expect 0 "$FERRY" train run=longer "${options[@]}" max_steps=$((step + 5))
[ "$(pairs longer | tail -n 1)" = "$(pairs two | tail -n 1)" ] || fail "with a rank less the order of data changed"

# as nodes of their own, with residuals and moments that no other rank has: a stop by a signal
# leaves no trace
apart=(bash -c "FERRY_NODE=\$$rank_variable exec \"\$0\" \"\$@\"")
for own in wire=int8 'wire=int8 local_steps=3'; do
    rm -rf parts whole
    # shellcheck disable=SC2206 # several options
    nodes=("${options[@]}" save_every=200 $own)
    "${launch[@]}" "${apart[@]}" "$FERRY" train run=parts "${nodes[@]}" max_steps=1000000 >.out 2>.err &
    pid=$!
    last="a signal with $own"
    for _ in $(seq 1 300); do
        grep -q '"event":"step",.*"step":9,' parts/run.jsonl 2>/dev/null && break
        sleep 0.1
    done
    kill -TERM "$(pid_of_rank $pid 1)"
    wait $pid || fail "a signal should end it well"
    [ -e parts/rest ] || fail "the ranks kept nothing of their own"
    step=$(sed -n 's/^model_checkpoint_path: "model.ckpt-\([0-9]*\)"$/\1/p' parts/checkpoint)
    end=$((step + 7))
    expect 0 "${launch[@]}" "${apart[@]}" "$FERRY" train run=parts "${nodes[@]}" max_steps=$end
    expect 0 "${launch[@]}" "${apart[@]}" "$FERRY" train run=whole "${nodes[@]}" max_steps=$end
    cmp parts/model.ckpt-$end.data-00000-of-00001 whole/model.ckpt-$end.data-00000-of-00001 ||
        fail "$own: stopping at step $step changed the result"
    [ ! -e parts/rest ] || fail "what was taken up is still there"
done

# mistakes
expect 2 "${launch[@]}" "$FERRY" train run=bad "${options[@]}" d_model=17
[ "$(grep -c '^ferry train:' .err)" -eq 1 ] || fail "a mistake should be said once"
expect 3 "${launch[@]}" "$FERRY" train run=bad "${options[@]}" data=nowhere
[ "$(grep -c '^ferry train:' .err)" -eq 1 ] || fail "a mistake should be said once"
err_has 'nowhere'
