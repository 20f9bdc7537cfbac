# ctest: slow
# How ferry launch ends: by a signal after a save, in vain after the last restart, at once when
# another start would not help; and whom it refuses before the first.
worker=("program=$TOOLS/net_worker" --)
mkdir run
has_state() { [ -s run/state ]; }

background -H n1:1,n2:1 "${worker[@]}" "$WORK/run" 4000 50 4
until_true 120 has_state
kill -TERM "$(pgrep -P "$job")"
await
[ "$code" -eq 0 ] || { cat launch.log; fail "status $code after a signal"; }
log_has 'the ranks save and end'
[ "$(cut -d ' ' -f 1 run/state)" -lt 4000 ] || fail "it ran to its end"

background -H n1:1,n2:1 restarts=0 "${worker[@]}" "$WORK/run" 4000 50 4
until_true 120 grep -q 'ranks report' launch.log
kill -KILL "$(lab pids n2 net_worker)"
await
[ "$code" -eq 7 ] || fail "status $code after the last restart"
log_has 'the job was lost 1 times'

# Two losses with one restart: steps gained in between begin the count anew.
is_beyond() { [ "$(cut -d ' ' -f 1 run/state)" -gt "$1" ]; }
lose()
{
    until_true 120 is_beyond "$1"
    until_true 120 grep -q "start $2:" launch.log
    sleep 1.2 # until the launcher has heard of it
    kill -KILL "$(lab pids n2 net_worker)"
}
echo 0 0 >run/state
background -H n1:1,n2:1 restarts=1 "${worker[@]}" "$WORK/run" 200 50 4
lose 20 1
lose 80 2
await
[ "$code" -eq 0 ] || { cat launch.log; fail "status $code after two losses with steps in between"; }
log_has 'finished after 3 starts'

# Every rank finishes, then MPI does not: the run has finished all the same.
launch -H n1:1,n2:1 "${worker[@]}" "$WORK/run" 200 50 4 hang || fail "status $? of a finished run that hangs"
log_has 'mpirun is still running; it is terminated'
launch -H n1:1,n2:1 "${worker[@]}" "$WORK/run" 200 50 4 fail || fail "status $? of a finished run"
log_has 'every rank had finished before mpirun ended with status 1'
[ -z "$(lab pids n1 net_worker)$(lab pids n2 net_worker)" ] || fail "ranks are left over"

# A console that nobody reads stops neither the watch nor a restart.
echo 0 0 >run/state
mkfifo console
exec 5<>console
dd if=/dev/zero of=console bs=4096 oflag=nonblock 2>/dev/null || true
lab head "$FERRY" launch agent="$ROOT/tests/net/rsh" interface=eth0 -H n1:1,n2:1 "${worker[@]}" \
    "$WORK/run" 200 50 4 >console 2>&1 &
job=$!
until_true 60 is_beyond 20
kill -KILL "$(lab pids n2 net_worker)"
await
[ "$code" -eq 0 ] || fail "status $code with a console that stands still"
exec 5>&-

code=0
launch -H n1:1 "${worker[@]}" too few || code=$?
[ "$code" -eq 2 ] || fail "status $code of ranks that refuse their options"
log_has 'another start would not help'

code=0
launch -H n1:1,n2:1 "${worker[@]}" "$WORK/run" 200 50 4 refuse || code=$?
[ "$code" -eq 3 ] || fail "status $code of ranks that agree not to begin"
log_has 'another start would not help'

lab cut n2
code=0
launch -H n1:1,n2:1 "${worker[@]}" "$WORK/run" 4000 50 4 || code=$?
[ "$code" -eq 7 ] || fail "status $code with a host that is away"
log_has 'host n2 does not answer'
lab mend n2

code=0
launch -H n1:1,n2:1 directory=/not/there "${worker[@]}" "$WORK/run" 9 9 9 || code=$?
[ "$code" -eq 7 ] || fail "status $code without a directory"
log_has 'host n1 no directory /not/there'
