# lab: 3 hosts
#
# One training on three uneven hosts for EFFECTIVE seconds (1800), a checkpoint about every ten
# seconds, and in every five minutes a fault of a kind and at an instant that SEED chooses. What
# stays broken stays so until the next fault. tests/net/effective-share says how much of the time
# was lost, in a line of RESULTS; the log, its faults and the launcher's words stay beside it.
# The order of its data is compared with that of a small model on one rank, to whom nothing happens.
. "$ROOT/tests/net/breaking.bash"
seconds=${EFFECTIVE:-1800}
every=${EVERY:-300}
seed=${SEED:-$((RANDOM * 32768 + RANDOM))}
kinds=(kill kill_host launcher stop cut5 cut12 cut_gone crash_first crash_first_gone clock bit_flip)
keep=$RESULTS.effective
mkdir -p "$keep"

until_time() { while awk -v a="$1" -v b="$(now)" 'BEGIN { exit !(b < a) }'; do sleep 0.2; done; }
host_of_first() { local each; for each in n1 n2 n3; do [ -z "$(pid_of_rank "$each" 0)" ] || echo "$each"; done; }
# A host may be left out since the last fault: one that has ranks is struck. The first rank
# writes the log by its host's clock, which stays right.
struck_now()
{
    local each first
    local -a choice=()
    first=$(host_of_first)
    for each in n1 n2 n3; do
        [ -z "$(ranks_of "$each")" ] || [ "$1:$each" = "clock:$first" ] || choice+=("$each")
    done
    case $1 in
    launcher) echo head ;;
    *_first*) echo "$first" ;;
    *) echo "${choice[RANDOM % ${#choice[@]}]}" ;;
    esac
}
losses() { grep -c 'the job is lost' launch.log || true; }
is_noticed() { if [ "$fault" = launcher ]; then have_ended; else [ "$(losses)" -gt "$n_losses" ]; fi; }
share() { "$ROOT/tests/net/effective-share" "$@"; }

train "$WORK/short" 100
await
[ "$code" -eq 0 ] || { cat launch.log; fail "status $code of an undisturbed run"; }
run=$WORK/run
train "$run" 1000000 save_every="$(share "$WORK/short/run.jsonl" --updates-in 10)"
until_true 120 is_beyond "$run" 0

RANDOM=$seed
mapfile -t kinds < <(for kind in "${kinds[@]}"; do echo "$RANDOM $kind"; done | sort -n | cut -d ' ' -f 2)
begin=$(date +%s)
: >faults
for ((i = 0; i < seconds / every; i++)); do
    fault=${kinds[i % ${#kinds[@]}]} note='' old=''
    until_time "$((begin + i * every + every / 10 + RANDOM % (every / 2)))"
    reset_hosts
    host=$(struck_now "$fault")
    n_reports=$(reports) n_losses=$(losses)
    t0=$(now)
    echo "$t0 $fault $host" | tee -a faults
    break_it "$fault"
    [[ $fault != cut5 && $fault != clock ]] || continue
    until_true 300 is_noticed
    mend_it "$fault"
    until_true 300 has_reported $((n_reports + 1))
done
until_time "$((begin + seconds))"
kill -TERM "$(launcher_pid)"
await
[ "$code" -eq 0 ] || { cat launch.log; fail "status $code at the end"; }
steps=$(sed -n 's/^{"event":"stop",.*"step":\([0-9]*\),.*/\1/p' "$run/run.jsonl" | tail -n 1)
expect 0 "$FERRY" train run=quiet data=data "${tiny[@]}" max_steps="$steps" log_every=1
order=differs
! same_order "$run" quiet "$steps" || order=equal
cp launch.log faults "$run/run.jsonl" "$keep"
result=$(share run/run.jsonl --faults faults)
percent=$(sed -n 's/.*effective=\([0-9]*\).*/\1/p' <<<"$result") outcome=ok
[[ $order == equal && ${percent:-0} -ge 90 ]] || outcome=bad
echo "fault=effective seed=$seed $result order=$order outcome=$outcome" | tee -a "$RESULTS"
[ "$outcome" = ok ] || fail "order=$order, ${percent:-no} % effective"
