# ctest: slow
# Started by mpirun alone, the first rank watches: another one that stands still is named and the
# job ended, also behind the leader of another node; when the first one itself stands still, the
# others end by themselves.
. "$ROOT/tests/cli/mpirun.bash"
. "$ROOT/tests/cli/tiny.bash"
tiny_data data

# stop_rank RANK: in a run of its own, the last two ranks of four on a node of their own; what was
# said is in .err, the status in `code`
stop_rank()
{
    "${mpirun[@]}" -n 4 sh -c 'FERRY_NODE=$((OMPI_COMM_WORLD_RANK / 2)) exec "$@"' - "$FERRY" train run="run$1" "${tiny[@]}" data=data max_steps=1000000 >.out 2>.err &
    local job=$! pid victim=
    last="SIGSTOP of rank $1"
    for _ in $(seq 1 300); do
        grep -q '"event":"step",.*"step":20,' "run$1/run.jsonl" 2>/dev/null && break
        sleep 0.1
    done
    for pid in $(pgrep -P $job); do
        ! tr '\0' '\n' <"/proc/$pid/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$1" || victim=$pid
    done
    [ -n "$victim" ] || fail "rank $1 is not to be found"
    kill -STOP "$victim"
    for _ in $(seq 1 300); do
        kill -0 $job 2>/dev/null || break
        sleep 0.1
    done
    ! kill -0 $job 2>/dev/null || { kill -KILL "$victim" $job; fail "the job goes on without rank $1"; }
    code=0
    wait $job || code=$?
    [ "$code" -ne 0 ] || fail "status 0 after rank $1 was lost"
}

# is_named RANK OTHER: of the two, it alone
is_named()
{
    stop_rank "$1"
    err_has "rank $1 on $(hostname) is dead: silent for 8"
    err_lacks "rank $2 on $(hostname) is dead"
    # the watcher's own status, or that of a rank which it sent away
    [ "$code" -eq 7 ] || [ "$code" -eq 9 ] || fail "status $code, want 7 or 9"
}
is_named 1 0
is_named 2 3
is_named 3 2

stop_rank 0
err_has 'ends: no answer over the control channel for 8'
