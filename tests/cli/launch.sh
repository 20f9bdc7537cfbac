# The commands that ferry launch would run, and what it refuses.
expect 0 "$FERRY" launch mpi=openmpi --dry-run -H a:2,b:2 -- train base.yaml run=r
out_has 'ssh -o BatchMode=yes'
out_has "mpirun "
out_has "-n 4 --host a:2,b:2"
out_has "ferry train base.yaml run=r"
expect 0 "$FERRY" launch mpi=mpich --dry-run -n 2 -- train base.yaml
out_has "mpiexec.hydra -n 2 -hosts localhost:2"
printf 'a slots=2\nb slots=2\n' >hosts
expect 0 "$FERRY" launch mpi=openmpi --dry-run hostfile=hosts -n 3 -- train base.yaml
out_has "-n 3 --host a:2,b:1"

refuses 2 "where?" "$FERRY" launch -- train base.yaml
refuses 2 "say what to start" "$FERRY" launch -H a:2
refuses 2 "only train" "$FERRY" launch -n 2 -- translate x
refuses 2 "listed twice" "$FERRY" launch -H a:2,a:1 -- train x
refuses 2 "not a host's name" "$FERRY" launch -H 'a b' -- train x
refuses 2 "do not fit" "$FERRY" launch -H a:2 -n 3 -- train x
refuses 2 "not both" "$FERRY" launch -H a hostfile=hosts -- train x
refuses 2 "min_ranks is 4" "$FERRY" launch -H a:2 min_ranks=4 -- train x
refuses 2 "ports '1-2'" "$FERRY" launch -H a:2 ports=1-2 -- train x
refuses 2 "restart" "$FERRY" launch -H a:2 restart=1 -- train x
refuses 3 "absent" "$FERRY" launch hostfile=absent -- train x
refuses 3 "no-such-mpirun" "$FERRY" launch mpirun=no-such-mpirun -n 2 -- train x

# mpirun's own traces of a lost rank become one line and are kept whole in the run's
# launch.log; what the ranks print arrives byte for byte, on its own stream.
cat >mpirun <<END
#!/bin/sh
seq 1 20000
printf 'no newline '
echo 'step 1/9 loss 4' >&2
sleep 0.3
echo here
cat "$ROOT/tests/data/traces/openmpi-killed" >&2
printf 'ferry train: rank 1 is gone\nlast words' >&2
exit 137
END
chmod +x mpirun
{ seq 1 20000; echo 'no newline here'; } >want.out
grep -v '^#' "$ROOT/tests/data/traces/openmpi-killed" >want.log
mkdir r r2
printf 'run: r2\n' >named.yaml
lost() { expect 7 "$FERRY" launch mpi=openmpi mpirun=./mpirun restarts=0 -n 2 -- train "$@"; }
# folded LOG: of the last command
folded()
{
    cmp .out want.out || fail "the ranks' output was changed"
    err_has "ferry launch: 7 lines that ./mpirun itself printed are in $1: mpirun noticed that process rank 1 with PID 0 on node node1 exited on signal 9 (Killed)."
    err_has 'step 1/9 loss 4'
    err_has 'ferry train: rank 1 is gone'
    err_has 'last words'
    ! grep -q -e '^-----' -e '^Primary job' .err || fail "a trace is left on the console"
    grep -v '^# ' "$1" | cmp - want.log || fail "$1 does not hold the trace"
}
lost x.yaml run=r
folded r/launch.log
lost named.yaml
folded r2/launch.log
lost named.yaml --run r3 # which is on another machine
folded launch.log
rm launch.log
mkdir launch.log # nowhere to write: nothing is folded
lost x.yaml
grep '^-----\|^Primary\|^a non-zero\|^mpirun noticed' .err | cmp - want.log || fail "a trace is lost"

# The last line is ours, with host and cause: not mpirun's box, nor that mpirun ended.
rmdir launch.log
for box in openmpi-failed mpich-killed; do
    cat >mpirun <<END
#!/bin/sh
echo 'ferry train: rank 1 on host b: /run: No space left on device' >&2
echo 'ferry train: messages to other ranks failed: MPI_Testall' >&2
cat "$ROOT/tests/data/traces/$box" >&2
exit 3
END
    expect 3 "$FERRY" launch mpi=openmpi mpirun=./mpirun -n 2 -- train x.yaml run=r
    [ "$(tail -n 1 .err)" = "ferry launch: rank 1 on host b: /run: No space left on device; another start would not help" ] ||
        fail "the last line is not ours"
done

# A host whose ranks would load another MPI library, or none, is refused by name.
if command -v cc >/dev/null && "$FERRY" version mpi=openmpi >here 2>/dev/null; then
    cat >other.c <<'END'
#include "dist/comm/mpi_calls.h"
static const char *library(void) { return "Open MPI v9.9.9"; }
const struct mpi_calls mpi_calls_table = {.version = MPI_CALLS_VERSION, .library = library};
END
    cc -shared -fPIC -I"$ROOT/src" -o other.so other.c
    cat >agent <<END
#!/bin/sh
host=\$1
shift
[ "\$host" != b ] || export FERRY_MPI_MODULE=\$(cat module)
exec sh -c "\$*"
END
    chmod +x agent
    echo "$PWD/other.so" >module
    expect 7 "$FERRY" launch mpi=openmpi mpirun=./mpirun agent="$PWD/agent" -H a,b -- train x.yaml run=r
    [ "$(tail -n 1 .err)" = "ferry launch: host b loads Open MPI v9.9.9 where host a loads $(cat here); install or load the same version of MPI on all hosts" ] ||
        fail "the two versions are not named"
    echo "$PWD/nowhere.so" >module
    expect 7 "$FERRY" launch mpi=openmpi mpirun=./mpirun agent="$PWD/agent" -H a,b -- train x.yaml run=r
    err_has 'ferry launch: host b ferry version: MPI cannot be used: '
fi
