# ctest: slow
# Four ranks on two hosts train. The cards carry the stated bytes; a killed rank, a frozen host
# and a cut cable are seen, named and survived, and the last checkpoint has the bytes of a run
# that nothing happened to. The report answers every question about it, and each of its numbers
# is derived again.
. "$ROOT/tests/net/subject.bash"
steps=600

# Bytes that n1 has sent, and received.
sent() { lab counters | awk '$1 == "n1" { print $3 }'; }
received() { lab counters | awk '$1 == "n1" { print $2 }'; }

# A step moves two bytes a parameter each way between two nodes (bf16), a third of what a flat
# ring of four ranks in fp32 moves; what a start costs is in both runs and falls out.
cost()
{
    local at_sent at_received
    at_sent=$(sent) at_received=$(received)
    train "$WORK/$1" "$1"
    await
    [ "$code" -eq 0 ] || { cat launch.log; fail "status $code of an undisturbed run"; }
    cost_sent=$(($(sent) - at_sent)) cost_received=$(($(received) - at_received))
}
cost 20
short_sent=$cost_sent short_received=$cost_received
cost 120
parameters=$(sed -n 's/.*"parameters":\([0-9]*\).*/\1/p' 120/run.jsonl | head -n 1)
for pair in "sent $((cost_sent - short_sent))" "received $((cost_received - short_received))"; do
    read -r way bytes <<<"$pair"
    awk -v bytes="$bytes" -v stated=$((100 * 2 * parameters)) -v way="$way" 'BEGIN {
        printf "%s: %d bytes in 100 steps, stated %d: %.3f times\n", way, bytes, stated, bytes / stated
        exit !(bytes / stated > 0.95 && bytes / stated < 1.05) }' || fail "the card's counter differs"
done

train "$WORK/whole" "$steps"
await
[ "$code" -eq 0 ] || { cat launch.log; fail "status $code"; }

train "$WORK/run" "$steps"
until_true 120 is_beyond run 0
kill -KILL "$(lab pids n2 ferry 1)"
until_true 120 has_reported 2
log_has 'on n2'

at=$(published run)
until_true 120 is_beyond run "$at"
lab freeze n2
until_true 120 grep -q 'on n2 is dead: silent for' launch.log
lab thaw n2
until_true 120 has_reported 3

at=$(published run)
until_true 120 is_beyond run "$at"
lab cut n1
until_true 120 grep -q 'on n1 is dead: silent for' launch.log
lab mend n1
await
[ "$code" -eq 0 ] || { cat launch.log; fail "status $code"; }
[ "$(starts)" -ge 4 ] || { cat launch.log; fail "$(starts) starts, want 4"; }
same_end run whole "$steps" || fail "the faults changed the result"

# numbers RUN [--all]: of its report, again from run.jsonl
numbers()
{
    expect 0 "$FERRY" report "$1"
    expect 0 python3 "$ROOT/tests/cli/report_numbers.py" "$@"
    cat .out
}
numbers run
train "$WORK/told" 120 eval_every=10 eval_bleu=true
await
[ "$code" -eq 0 ] || { cat launch.log; fail "status $code"; }
numbers told --all
