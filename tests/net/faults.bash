# Every fault of the list, COUNT times each (10), on four ranks of two hosts. A line for each
# goes to RESULTS (default: a file of this run), the table of tests/net/faults-table to the
# console. FAULTS="kill cut" chooses some. Run by `make test-faults`.
#
# What is asked of each:
#   whole     the run finishes with the checkpoint of an undisturbed run, byte for byte
#   fewer     the host never comes back: the run finishes on the other one, with the same
#             pairs in every update and a validation loss within 0.02
# and of those called harmless also that nothing was started again.
. "$ROOT/tests/net/subject.bash"
steps=${STEPS:-600}
count=${COUNT:-10}
results=${RESULTS:-$WORK/results}
all='kill kill_host kill_in_save stop stop3 freeze freeze_gone freeze_first freeze_first_gone cut5 cut cut_gone hole hole_gone
    crash crash_gone crash_first crash_first_gone mpirun memory disk_full bit_flip'
harmless=' stop3 cut5 disk_full '

victim() { lab pids "$1" ferry "${2:-1}"; }
mpirun_pid() { pgrep -P "$(pgrep -P "$job")" -x mpirun; }
# The process of a rank, as seen here.
pid_of_rank()
{
    local pid
    for pid in $(lab pids "$1" ferry); do
        ! tr '\0' '\n' <"/proc/$pid/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$2" || echo "$pid"
    done
}
# A directory of a host's own disk, as seen here.
own_disk() { echo "/proc/$(cat "/run/netlab-$NETLAB/hosts/$1/init")/root/tmp/node"; }

# Each fault: break_NAME; mend_NAME, called once the loss has been seen, so that the next start
# has all ranks again. NAME_gone is NAME without the mending, until the run is over.
break_kill() { kill -KILL "$(victim n2)"; }
break_kill_host() { local pid; for pid in $(lab pids n2 ferry); do kill -KILL "$pid"; done; }
# The rank that writes, while it does. It is held for a moment to see whether it does: a shell
# is too slow to catch it running.
break_kill_in_save()
{
    local writer
    writer=$(pid_of_rank n1 0)
    while kill -STOP "$writer" && ! compgen -G "$run/*.tmp-*" >/dev/null; do
        kill -CONT "$writer"
        sleep "0.0$((RANDOM % 10))"
    done
    t0=$(now)
    kill -KILL "$writer"
    compgen -G "$run/*.tmp-*" >/dev/null || note=after_the_save
}
break_stop() { kill -STOP "$(victim n2)"; }
break_stop3() { local pid; pid=$(victim n2) && kill -STOP "$pid" && sleep 3 && kill -CONT "$pid"; }
break_freeze() { lab freeze n2; }
mend_freeze() { lab thaw n2; }
break_freeze_first() { lab freeze n1; } # its first rank holds the lock of the run, for ever
mend_freeze_first() { lab thaw n1; }
# On a starved machine the mending itself may take seconds; what it was is noted.
break_cut5()
{
    local begin
    begin=$(now)
    lab cut n2 && sleep 4.9 && lab mend n2
    note=cut_for_$(seconds "$begin" "$(now)")_s
}
break_cut() { lab cut n2; }
mend_cut() { lab mend n2; }
break_hole() { lab hole n2; }
mend_hole() { lab mend n2; }
break_crash() { lab crash n2; }
mend_crash() { lab boot n2; }
break_crash_first() { lab crash n1; }
mend_crash_first() { lab boot n1; }
break_mpirun() { kill -KILL "$(mpirun_pid)"; }
# A neighbour eats what the host has left; the kernel is told whom to kill for it.
break_memory()
{
    local used pid
    for pid in $(lab pids n2 ferry); do echo 1000 >"/proc/$pid/oom_score_adj"; done
    used=$(cat /sys/fs/cgroup/memory/netlab-"$NETLAB"-n2/memory.usage_in_bytes 2>/dev/null ||
        cat /sys/fs/cgroup/netlab-"$NETLAB"-n2/memory.current)
    lab mem n2 $((used + (64 << 20)))
    lab exec n2 sh -c 'head -c 100M /dev/zero | tail >/dev/null' &
}
mend_memory() { lab mem n2 -1; }
# Each host has the run on a disk of its own; one fills up and is freed after a save in vain.
break_disk_full()
{
    fill_disk n1
    until_true 120 grep -q 'not saved' launch.log
    lab exec n1 rm /tmp/node/fill
}
# Killed in order to make the next start read what was flipped.
break_bit_flip()
{
    flip_byte "$run/model.ckpt-$(published "$run").data-00000-of-00001" 5000
    kill -KILL "$(victim n2)"
}
flip_byte()
{
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    printf "\\x$(printf %02x $((byte ^ 16)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

seconds() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f", b - a }'; }
now() { date +%s.%N; }
is_seen() { grep -q 'is dead:\|the job is lost' launch.log; }
# The last update in the log before its second start; where that began.
last_before() { awk -F '"step":' '/"event":"start"/ { if (++n == 2) exit } /"event":"step"/ { at = $2 + 0 } END { print at + 0 }' "$1/run.jsonl"; }
began_at() { awk -F '"step":' '/"event":"start"/ && ++n == 2 { print $2 + 0; exit }' "$1/run.jsonl"; }
# Has the second start come to where the first one was?
has_caught_up()
{
    awk -F '"step":' '
        /"event":"start"/ { n++ }
        /"event":"step"/ { if (n < 2) lost = $2 + 0; else if ($2 + 0 >= lost) found = 1 }
        END { exit !found }' "$1/run.jsonl"
}
# Tokens and sentences of every update, as the last start that made it counted them.
order_of()
{
    sed -n 's/^{"event":"step",.*"step":\([0-9]*\),"epoch":\([0-9]*\),.*\("source_tokens":.*\),"steps":.*/\1 \2 \3/p' "$1/run.jsonl" |
        awk '{ line[$1] = $0; if ($1 > last) last = $1 } END { for (i = 1; i <= last; i++) print line[i] }'
}
valid_loss_of() { sed -n 's/^{"event":"eval",.*"valid_loss":\([0-9.e+-]*\),.*/\1/p' "$1/run.jsonl" | tail -n 1; }

same_data_and_loss()
{
    order_of "$1" >one.order
    order_of "$2" >two.order
    [ "$(wc -l <one.order)" -eq "$steps" ] && cmp one.order two.order || return 1
    awk -v a="$(valid_loss_of "$1")" -v b="$(valid_loss_of "$2")" \
        'BEGIN { exit !(a > 0 && b > 0 && a - b < 0.02 && b - a < 0.02) }'
}

# A launch on healthy hosts, whatever the last one left.
reset_hosts()
{
    local host
    for host in n1 n2; do
        lab thaw "$host"
        lab mem "$host" -1
        [ ! -e "/run/netlab-$NETLAB/hosts/$host/crashed" ] || lab boot "$host"
        lab mend "$host"
        rm -rf "$(own_disk "$host")"/*
    done
}

# Was there a start without a host, because it had not come back in time?
was_smaller() { grep 'ferry launch: start' launch.log | grep -qv ' 4 ranks on'; }

# The end of a run of `fault`: ok, or what is wrong.
judge()
{
    if [ "$code" -ne 0 ]; then
        echo "status_$code"
    elif [[ $harmless == *" $fault "* ]] && [ "$(starts)" -ne 1 ]; then
        echo restarted
    elif [[ $fault == *_gone ]] || was_smaller; then
        same_data_and_loss "$run" "$WORK/whole" >&2 && echo ok || echo other_training
    else
        same_end "$run" "$WORK/whole" "$steps" >&2 && echo ok || echo other_bytes
    fi
}

# One fault at a random instant; a line of the results.
try()
{
    local fault=$1 name=${1%_gone} detect=- restart=- caught=- redone=- note='' outcome t0 t1 t2 t3
    reset_hosts
    run=$WORK/run
    rm -rf "$run"
    if [ "$fault" = disk_full ]; then
        run=$(own_disk n1)/run
        train /tmp/node/run "$steps"
    elif [ "$fault" = kill_in_save ]; then
        train "$run" "$steps" save_every=2 # there is nearly always one under way
    else
        train "$run" "$steps"
    fi
    until_true 120 is_beyond "$run" 0
    sleep "0.$((RANDOM % 10))"
    t0=$(now)
    "break_$name"
    if [[ $harmless != *" $fault "* ]]; then
        until_true 120 is_seen
        t1=$(now)
        [[ $fault == *_gone ]] || ! declare -F "mend_$name" >/dev/null || "mend_$name"
        until_true 120 has_reported 2
        t2=$(now)
        until_true 120 has_caught_up "$run"
        t3=$(now)
        detect=$(seconds "$t0" "$t1") restart=$(seconds "$t1" "$t2") caught=$(seconds "$t0" "$t3")
        redone=$(($(last_before "$run") - $(began_at "$run")))
    fi
    await
    outcome=$(judge)
    [[ $fault == *_gone ]] || ! was_smaller || note=on_fewer_ranks
    echo "$fault $detect $restart $caught $redone $outcome $note" | tee -a "$results"
    [ "$outcome" = ok ] || cp launch.log "${KEEP_LOGS:-$WORK}/launch-$fault.log"
}

train "$WORK/whole" "$steps"
await
[ "$code" -eq 0 ] || { cat launch.log; fail "status $code of an undisturbed run"; }
for fault in ${FAULTS:-$all}; do
    for ((i = 0; i < count; i++)); do try "$fault"; done
done
"$ROOT/tests/net/faults-table" "$results"
! grep -qv '^[^ ]* [^ ]* [^ ]* [^ ]* [^ ]* ok' "$results" || fail "not every fault was survived"
