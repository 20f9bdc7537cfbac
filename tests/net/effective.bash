# lab: 3 hosts
#
# One training on three uneven hosts for EFFECTIVE seconds (1800), a checkpoint about every ten
# seconds, and in every five minutes a fault of a kind and at an instant that SEED chooses. What
# stays broken stays so until the next fault. tests/net/effective-share says how much of the time
# was lost, in a line of RESULTS; the log, its faults and the launcher's words stay beside it.
. "$ROOT/tests/net/breaking.bash"
seconds=${EFFECTIVE:-1800}
every=${EVERY:-300}
seed=${SEED:-$((RANDOM * 32768 + RANDOM))}
kinds=(kill kill_host launcher stop cut5 cut12 cut_gone crash_first crash_first_gone clock bit_flip)
keep=$RESULTS.effective
mkdir -p "$keep"

until_time() { while awk -v a="$1" -v b="$(now)" 'BEGIN { exit !(b < a) }'; do sleep 0.2; done; }
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
    # The first rank writes the log by its clock: it keeps the right one.
    if [ "$fault" = clock ]; then host=n3; else host=$(struck_by "$fault"); fi
    until_time "$((begin + i * every + every / 10 + RANDOM % (every / 2)))"
    reset_hosts
    n_reports=$(reports)
    cp launch.log before.log
    t0=$(now)
    echo "$t0 $fault $host" | tee -a faults
    break_it "$fault"
    is_noticed()
    {
        if [ "$fault" = launcher ]; then have_ended; else [ "$(grep -c 'the job is lost' launch.log)" -gt "$(grep -c 'the job is lost' before.log)" ]; fi
    }
    case $fault in
    cut5 | clock) continue ;;
    esac
    until_true 120 is_noticed
    mend_it "$fault"
    until_true 120 has_reported $((n_reports + 1))
done
until_time "$((begin + seconds))"
kill -TERM "$(launcher_pid)"
await
[ "$code" -eq 0 ] || { cat launch.log; fail "status $code at the end"; }
cp launch.log faults "$run/run.jsonl" "$keep"
echo "fault=effective seed=$seed $(share run/run.jsonl --faults faults) outcome=ok" | tee -a "$RESULTS"
