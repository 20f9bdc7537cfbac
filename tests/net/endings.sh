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

code=0
launch -H n1:1 "${worker[@]}" too few || code=$?
[ "$code" -eq 2 ] || fail "status $code of ranks that refuse their options"
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
