# ctest: slow
# Four ranks on two hosts report through the first rank of their host: the launcher has one
# connection for each. Whoever dies or stands still is named, the leader or a rank behind it, and
# of its host nobody else.
. "$ROOT/tests/net/subject.bash"

pid_of_rank()
{
    local pid
    for pid in $(lab pids n1 ferry) $(lab pids n2 ferry); do
        ! tr '\0' '\n' <"/proc/$pid/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$1" || echo "$pid"
    done
}
# Connections of the launcher's control channel.
connections()
{
    local port
    port=$(tr '\0' '\n' <"/proc/$(pid_of_rank 3)/environ" | sed -n 's/^FERRY_CONTROL=.*://p')
    lab head ss -Htn state established "sport = :$port" | wc -l
}
command -v ss >/dev/null || skip "there is no ss"

train "$WORK/run" 100000
# lose SIGNAL RANK OTHER: the rank is named, the other one of its host is not
lose()
{
    local n from pid
    n=$(starts)
    until_true 120 has_reported "$n"
    until_true 120 is_beyond run "$(published run)"
    [ "$(connections)" -eq 2 ] || fail "$(connections) connections to the launcher, want one for each host"
    from=$(wc -l <launch.log) pid=$(pid_of_rank "$2")
    kill "-$1" "$pid"
    until_true 120 has_reported $((n + 1))
    kill -KILL "$pid" 2>/dev/null || true
    tail -n "+$((from + 1))" launch.log >launch.part
    grep -q "rank $2 on n2 is dead\|the first to go was rank $2 on n2" launch.part ||
        { cat launch.part; fail "SIG$1 of rank $2: it is not named"; }
    ! grep -q "rank $3 on n2 is dead\|the first to go was rank $3" launch.part ||
        { cat launch.part; fail "SIG$1 of rank $2: rank $3 is named"; }
}
until_true 120 has_reported 1
lose KILL 3 2
lose KILL 2 3
lose STOP 3 2
lose STOP 2 3
kill -TERM "$(pgrep -P "$job")"
await
[ "$code" -eq 0 ] || { cat launch.log; fail "status $code"; }
