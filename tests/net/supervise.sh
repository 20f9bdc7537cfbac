# ctest: slow
# ferry launch over two hosts of two ranks: a rank is killed, then a host freezes, then a cable
# is cut; each time the loss is named, everything ended and started again, and the end is that
# of a run that nothing happened to. A pause of three seconds and a cut of five are survived.
worker=("program=$TOOLS/net_worker" -- "$WORK/run")
mkdir run quiet
now() { cut -d ' ' -f 1 run/state 2>/dev/null || echo 0; }
beyond() { [ "$(now)" -gt "$1" ]; }
starts() { grep -c 'ferry launch: start' launch.log || true; }
is_at_start() { [ "$(grep -c 'ranks report' launch.log || true)" -eq "$1" ]; }

launch -H n1:1 program="$TOOLS/net_worker" -- "$WORK/quiet" 300 1 50 || fail "an undisturbed run failed"

background -H n1:2,n2:2 "${worker[@]}" 300 100 5
until_true 20 is_at_start 1
until_true 20 beyond 10
lab cut n2
kill -STOP "$(lab pids n1 net_worker 1)"
sleep 3
kill -CONT "$(lab pids n1 net_worker 1)"
sleep 2
lab mend n2
sleep 2
[ "$(starts)" -eq 1 ] || fail "a pause of three seconds or a cut of five ended the job"

kill -KILL "$(lab pids n2 net_worker 2)"
until_true 10 is_at_start 2
log_has 'on n2'
at=$(now)
until_true 20 beyond "$at"
lab freeze n2
until_true 13 grep -q 'rank 2 on n2 is dead: silent for 8' launch.log
lab thaw n2
until_true 15 is_at_start 3
log_has '4 ranks on n1:2,n2:2'

at=$(now)
until_true 20 beyond "$at"
lab cut n1
until_true 13 grep -q 'rank 0 on n1 is dead: silent for 8' launch.log
until_true 15 is_at_start 4
log_has 'host n1 does not answer'
log_has '2 ranks on n2:2'
lab mend n1
await
[ "$code" -eq 0 ] || fail "status $code"
cmp run/final quiet/final || fail "the faults changed the result"
[ -z "$(lab pids n1 net_worker)$(lab pids n2 net_worker)" ] || fail "ranks are left over"
