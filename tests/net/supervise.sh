# ctest: slow
# ferry launch with ranks that only pretend: a pause of three seconds together with a cut of five
# passes unnoticed; when the first rank's host is cut off for good, the others go on without it
# and come to the same end.
mkdir run quiet
now() { cut -d ' ' -f 1 run/state 2>/dev/null || echo 0; }
is_beyond() { [ "$(now)" -gt "$1" ]; }
starts() { grep -c 'ferry launch: start' launch.log || true; }

launch -H n1:1 program="$TOOLS/net_worker" -- "$WORK/quiet" 250 1 50 || fail "an undisturbed run failed"

background -H n1:2,n2:2 program="$TOOLS/net_worker" -- "$WORK/run" 250 100 5
until_true 120 is_beyond 5
lab cut n2
kill -STOP "$(lab pids n1 net_worker 1)"
sleep 3
kill -CONT "$(lab pids n1 net_worker 1)"
sleep 2
lab mend n2
sleep 2
[ "$(starts)" -eq 1 ] || fail "a pause of three seconds or a cut of five ended the job"

lab cut n1
# both of its ranks fall silent; the one whose last report is older is named
until_true 120 grep -q 'rank [01] on n1 is dead: silent for 8' launch.log
until_true 120 grep -q 'start 2:' launch.log
log_has 'host n1 does not answer'
log_has '2 ranks on n2:2'
lab mend n1
await
[ "$code" -eq 0 ] || fail "status $code"
cmp run/final quiet/final || fail "the faults changed the result"
[ -z "$(lab pids n1 net_worker)$(lab pids n2 net_worker)" ] || fail "ranks are left over"
