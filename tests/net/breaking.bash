# Three uneven hosts and every way to break them. Sourced by the scripts that try faults
# (faults.bash, effective.bash), which say `lab: 3 hosts`.
#
# n1 has two ranks and all that the machine gives, n2 one rank and half a core, n3 one rank
# behind a slower and longer cable.
. "$ROOT/tests/net/subject.bash"
export NETLAB_CLOCK=$TOOLS/net_clock.so
[ -e "$NETLAB_CLOCK" ] || fail "net_clock is not built"
hosts=(-H n1:2,n2:1,n3:1 bind=false restarts=30)
lab slow n2 50
lab rate n3 400mbit
lab delay n3 1

# Which host a fault strikes; of several, one by chance.
struck_by()
{
    local choice
    case ${1%_gone} in
    *_first | kill_in_save) choice=(n1) ;;
    crash | freeze | hole | memory | disk_full) choice=(n2 n3) ;;
    launcher | mpirun) choice=(head) ;;
    *) choice=(n1 n2 n3) ;;
    esac
    echo "${choice[RANDOM % ${#choice[@]}]}"
}

launcher_pid() { pgrep -P "$job"; }
mpirun_pid() { pgrep -P "$(launcher_pid)" -x mpirun; }
ranks_of() { lab pids "$1" ferry; }
all_ranks() { for each in n1 n2 n3; do ranks_of "$each"; done; }
a_rank_of() { local -a pid; mapfile -t pid < <(ranks_of "$1") && echo "${pid[RANDOM % ${#pid[@]}]}"; }
have_ended() { local pid; for pid in $old; do [ ! -e "/proc/$pid" ] || return 1; done; }
# The process of a rank, as seen here.
pid_of_rank()
{
    local pid
    for pid in $(ranks_of "$1"); do
        ! tr '\0' '\n' <"/proc/$pid/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$2" || echo "$pid"
    done
}
# A directory of a host's own disk, as seen here.
own_disk() { echo "/proc/$(cat "/run/netlab-$NETLAB/hosts/$1/init")/root/tmp/node"; }

now() { date +%s.%N; }
seconds() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f", b - a }'; }

# Each fault: break_NAME, which strikes `host`; mend_NAME, called once the loss has been seen, so
# that the next start has all ranks again. NAME_gone is NAME without the mending, until the run
# is over.
break_kill() { kill -KILL "$(a_rank_of "$host")"; }
break_kill_host() { local pid; for pid in $(ranks_of "$host"); do kill -KILL "$pid"; done; }
# The rank that writes, while it does. It is held for a moment to see whether it does: a shell
# is too slow to catch it running.
break_kill_in_save()
{
    local writer
    writer=$(pid_of_rank "$host" 0)
    while kill -STOP "$writer" && ! compgen -G "$run/*.tmp-*" >/dev/null; do
        kill -CONT "$writer"
        sleep "0.0$((RANDOM % 10))"
    done
    t0=$(now)
    kill -KILL "$writer"
    compgen -G "$run/*.tmp-*" >/dev/null || note=after_the_save
}
break_stop() { kill -STOP "$(a_rank_of "$host")"; }
break_stop3() { local pid; pid=$(a_rank_of "$host") && kill -STOP "$pid" && sleep 3 && kill -CONT "$pid"; }
break_freeze() { lab freeze "$host"; }
mend_freeze() { lab thaw "$host"; }
break_freeze_first() { lab freeze "$host"; } # its first rank holds the lock of the run, for ever
mend_freeze_first() { lab thaw "$host"; }
# On a starved machine the mending itself may take seconds; what it was is noted.
cut_for()
{
    local begin
    begin=$(now)
    lab cut "$host" && sleep "$1" && lab mend "$host"
    note=cut_for_$(seconds "$begin" "$(now)")_s
}
break_cut5() { cut_for 4.9; }
# Longer than the patience, shorter than the restart: the host may be there again or not.
break_cut12() { lab cut "$host"; }
mend_cut12() { sleep "$(awk -v a="$t0" -v b="$(now)" 'BEGIN { print b - a < 12 ? 12 - (b - a) : 0 }')" && lab mend "$host"; }
break_cut() { lab cut "$host"; }
mend_cut() { lab mend "$host"; }
break_hole() { lab hole "$host"; }
mend_hole() { lab mend "$host"; }
break_crash() { lab crash "$host"; }
mend_crash() { lab boot "$host"; }
break_crash_first() { lab crash "$host"; }
mend_crash_first() { lab boot "$host"; }
break_mpirun() { kill -KILL "$(mpirun_pid)"; }
# The user starts it again at once, while the ranks of the first are still there: `old`.
break_launcher()
{
    old="$(all_ranks) $(mpirun_pid)"
    kill -KILL "$(launcher_pid)"
    wait "$job" 2>/dev/null || true
    background_on "${command[@]}"
}
# A neighbour eats what the host has left; the kernel is told whom to kill for it.
break_memory()
{
    local used pid
    for pid in $(ranks_of "$host"); do echo 1000 >"/proc/$pid/oom_score_adj"; done
    used=$(cat /sys/fs/cgroup/memory/netlab-"$NETLAB-$host"/memory.usage_in_bytes 2>/dev/null ||
        cat /sys/fs/cgroup/netlab-"$NETLAB-$host"/memory.current)
    lab mem "$host" $((used + (64 << 20)))
    lab exec "$host" sh -c 'head -c 100M /dev/zero | tail >/dev/null' &
}
mend_memory() { lab mem "$host" -1; }
# Each host has the run on a disk of its own; one fills up until a save was in vain.
fill_until_noticed()
{
    fill_disk "$host"
    until_true 120 grep -q 'not saved' launch.log
}
break_disk_full() { fill_until_noticed && lab exec "$host" rm /tmp/node/fill; }
# It stays full, and a rank elsewhere is killed: the next start must do without the host.
break_disk_full_gone()
{
    fill_until_noticed
    t0=$(now)
    kill -KILL "$(a_rank_of n1)"
}
# Hours ahead, hours behind, and right again.
break_clock()
{
    local hours=$((1 + RANDOM % 12))
    note=${hours}_hours
    lab clock "$host" $((hours * 3600)) && sleep 3
    lab clock "$host" $((-hours * 3600)) && sleep 3
    lab clock "$host" 0
}
# The clock stays wrong, and a rank elsewhere is killed: the next start compares the clocks.
break_clock_gone()
{
    lab clock "$host" $((3600 + RANDOM))
    kill -KILL "$(a_rank_of "$([ "$host" = n1 ] && echo n2 || echo n1)")"
}
# Killed in order to make the next start read what was flipped.
break_bit_flip()
{
    flip_bit "$run/model.ckpt-$(published "$run").data-00000-of-00001" 5000
    kill -KILL "$(a_rank_of "$host")"
}
flip_bit()
{
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    printf "\\x$(printf %02x $((byte ^ 16)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# break_it FAULT: the function of that name, or without its _gone
break_it()
{
    if declare -F "break_$1" >/dev/null; then "break_$1"; else "break_${1%_gone}"; fi
}
mend_it() { [[ $1 == *_gone ]] || ! declare -F "mend_$1" >/dev/null || "mend_$1"; }
# Has somebody noticed? Of a killed launcher nobody says so: its ranks and mpirun are gone.
is_seen()
{
    if [ "$1" = launcher ]; then have_ended; else grep -q 'is dead:\|the job is lost' launch.log; fi
}

# Healthy hosts, whatever the last fault left.
reset_hosts()
{
    local each
    for each in n1 n2 n3; do
        lab thaw "$each"
        lab mem "$each" -1
        [ ! -e "/run/netlab-$NETLAB/hosts/$each/crashed" ] || lab boot "$each"
        lab mend "$each"
        lab clock "$each" 0
        rm -rf "$(own_disk "$each")"/*
    done
}

# Every update as the last start that made it told of it: its pairs by their hash, their tokens.
order_of()
{
    sed -n 's/^{"event":"step",.*"step":\([0-9]*\),"epoch":\([0-9]*\),.*\("source_tokens":.*\),"steps":.*/\1 \2 \3 &/p' "$1/run.jsonl" |
        sed 's/ {.*\("pairs_hash":"[0-9a-f]*"\).*/ \1/; s/ {.*//' |
        awk '{ line[$1] = $0; if ($1 > last) last = $1 } END { for (i = 1; i <= last; i++) print line[i] }'
}
# same_order RUN RUN STEPS: all updates up to there were made of the same pairs
same_order()
{
    order_of "$1" >one.order
    order_of "$2" >two.order
    [ "$(grep -c pairs_hash one.order)" -eq "$3" ] && cmp one.order two.order >&2
}
