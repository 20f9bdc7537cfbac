# ctest: slow
# MPICH across two hosts, a rank on each: they train as one does; a killed rank is named, and the
# job started again goes on from the checkpoint.
command -v mpiexec.hydra >/dev/null && [ -e "$TOOLS/ferry-mpi-mpich.so" ] || {
    skip "MPICH is not installed, or ferry was built without it"
}
. "$ROOT/tests/net/subject.bash"
hosts=(-H n1:1,n2:1 mpi=mpich bind=false restarts=30)

train "$WORK/whole" 300
await
[ "$code" -eq 0 ] || { cat launch.log; fail "status $code of an undisturbed run"; }

train "$WORK/run" 300
until_true 120 is_beyond run 0
kill -KILL "$(lab pids n2 ferry 1)"
until_true 120 has_reported 2
await
[ "$code" -eq 0 ] || { cat launch.log; fail "status $code"; }
log_has 'on n2'
same_end run whole 300 || fail "the fault changed the result"
