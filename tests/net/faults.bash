# Every fault of the list, COUNT times each (10), on four ranks of two hosts: a table of how
# long it took to see, to train again, and how many updates were done twice; `ok` means that
# the run finished with the checkpoint of an undisturbed run, byte for byte. FAULTS="kill cut"
# chooses some. Run by `make test-faults`.
. "$ROOT/tests/net/subject.bash"
steps=${STEPS:-600}
count=${COUNT:-10}

victim() { lab pids "$1" ferry "${2:-1}"; }
mpirun_pid() { pgrep -P "$(pgrep -P "$job")" -x mpirun; }
cured() { :; }

# Each fault: break_NAME, and mend_NAME, which is called once the loss has been seen so that
# the next start has all ranks. Those of `harmless` must pass without a restart.
harmless=' stop3 cut5 disk_full '
break_kill() { kill -KILL "$(victim n2)"; }
break_kill_host() { local pid; for pid in $(lab pids n2 ferry); do kill -KILL "$pid"; done; }
break_kill_in_save()
{
    local tries
    for ((tries = 0; tries < 20000; tries++)); do compgen -G "$run/*.tmp-*" >/dev/null && break; done
    kill -KILL "$(victim n1)"
}
break_stop() { stopped=$(victim n2) && kill -STOP "$stopped"; }
mend_stop() { kill -CONT "$stopped" 2>/dev/null || true; }
break_stop3() { stopped=$(victim n2) && kill -STOP "$stopped" && sleep 3 && kill -CONT "$stopped"; }
break_freeze() { lab freeze n2; }
mend_freeze() { lab thaw n2; }
break_cut5() { lab cut n2 && sleep 5 && lab mend n2; }
break_cut() { lab cut n2; }
mend_cut() { lab mend n2; }
break_hole() { lab hole n2; }
mend_hole() { lab mend n2; }
break_crash() { lab crash n2; }
mend_crash() { lab boot n2; }
break_crash_first() { lab crash n1; }
mend_crash_first() { lab boot n1; }
break_mpirun() { kill -KILL "$(mpirun_pid)"; }
# A neighbour that eats what the host has left, and whom the kernel is told to spare.
break_memory()
{
    local used
    used=$(cat /sys/fs/cgroup/memory/netlab-"$NETLAB"-n2/memory.usage_in_bytes 2>/dev/null ||
        cat /sys/fs/cgroup/netlab-"$NETLAB"-n2/memory.current)
    lab mem n2 $((used + (64 << 20)))
    lab exec n2 sh -c 'echo -1000 >/proc/self/oom_score_adj; head -c 100M /dev/zero | tail >/dev/null' &
}
mend_memory() { lab mem n2 -1; }
# The run is on a disk of the host's own, which fills up and is freed some saves later.
break_disk_full()
{
    lab exec n1 sh -c 'head -c 1G /dev/zero >/tmp/node/fill' 2>/dev/null || true
    until_true 120 grep -qi 'not saved' launch.log
    lab exec n1 rm /tmp/node/fill
}
# Kill in order to make it read what was flipped.
break_bit_flip()
{
    local newest
    newest=$run/model.ckpt-$(published "$run").data-00000-of-00001
    printf '\377\376' | dd of="$newest" bs=1 seek=5000 conv=notrunc status=none
    kill -KILL "$(victim n2)"
}

seconds() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f", b - a }'; }
now() { date +%s.%N; }
is_seen() { grep -q 'is dead:\|the job is lost' launch.log; }
has_stepped() { [ "$(grep -c '"event":"start"' "$run/run.jsonl")" -ge 2 ] && is_beyond "$run" "$at"; }

# One fault at a random instant; a line of the table.
try()
{
    local fault=$1 t0 t1 t2 detect=- restart=- redone=- lost from outcome=ok
    run=$WORK/run
    rm -rf "$run"
    train "$run" "$steps"
    until_true 120 is_beyond "$run" 0
    sleep "0.$((RANDOM % 10))"
    at=$(published "$run")
    t0=$(now)
    "break_$fault"
    if [[ $harmless != *" $fault "* ]]; then
        until_true 120 is_seen
        t1=$(now)
        ! declare -F "mend_$fault" >/dev/null || "mend_$fault"
        until_true 120 has_reported 2
        t2=$(now)
        detect=$(seconds "$t0" "$t1") restart=$(seconds "$t1" "$t2")
    fi
    await
    if [ "$restart" != - ]; then
        lost=$(sed -n 's/.*it was at step \([0-9]*\).*/\1/p' launch.log | head -n 1)
        from=$(grep '"event":"start"' "$run/run.jsonl" | sed -n '2s/.*"step":\([0-9]*\),"version.*/\1/p')
        redone=$((lost > from ? lost - from : 0))
    elif [ "$(starts)" -ne 1 ]; then
        outcome="restarted, need not"
    fi
    [ "$code" -eq 0 ] || outcome="status $code"
    [ "$code" -ne 0 ] || same_end "$run" "$WORK/whole" "$steps" >/dev/null 2>&1 || outcome="other bytes"
    echo "$fault $detect $restart $redone ${outcome// /_}" | tee -a results |
        awk '{ printf "%-13s %8s %8s %7s  %s\n", $1, $2, $3, $4, $5 }'
    [ "$outcome" = ok ] || cp launch.log "${KEEP_LOGS:-$WORK}/launch-$fault.log"
}

train "$WORK/whole" "$steps"
started=$(now)
await
step_seconds=$(awk -v t="$(seconds "$started" "$(now)")" -v n="$steps" 'BEGIN { print t / n }')
: >results
printf '%-13s %8s %8s %7s  %s\n' fault 'seen s' 'again s' redone outcome
for fault in ${FAULTS:-kill kill_host kill_in_save stop stop3 freeze cut5 cut hole crash crash_first \
    mpirun memory bit_flip}; do
    for ((i = 0; i < count; i++)); do try "$fault"; done
done

# What a fault every five minutes would leave of the time, at checkpoints every five seconds:
# on average half of that is done again.
awk -v step="$step_seconds" '
    { n[$1]++; bad += $5 != "ok"; if ($2 != "-") { m[$1]++; seen[$1] += $2; again[$1] += $3; redone[$1] += $4 } }
    END {
        print ""
        for (f in m) printf "%-13s mean of %d: seen %.1f s, again %.1f s, redone %.1f\n", f, m[f], seen[f] / m[f], again[f] / m[f], redone[f] / m[f]
        if (m["kill"] && m["freeze"]) {
            lost = ((seen["kill"] + again["kill"]) / m["kill"] + (seen["freeze"] + again["freeze"]) / m["freeze"]) / 2 + 2.5
            printf "a fault every 300 s, kills and frozen hosts in turn: %.1f s lost each, %.1f %% effective\n", lost, 100 * (1 - lost / 300)
        }
        printf "%d of %d without the outcome that was asked for\n", bad, NR
        exit bad > 0
    }' results || fail "not every fault was survived"
