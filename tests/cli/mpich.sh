# Two ranks under MPICH's mpiexec, and under ferry launch with it.
mpiexec=$(command -v mpiexec.mpich || command -v mpiexec.hydra || true)
if [ -z "$mpiexec" ] || [ ! -e "$(dirname "$FERRY")/ferry-mpi-mpich.so" ]; then
    skip "MPICH is not installed, or ferry was built without it"
fi
launch=("$mpiexec" -n 2)
rank_variable=PMI_RANK
. "$ROOT/tests/cli/ranks.bash"

expect 0 "$FERRY" launch mpi=mpich mpirun="$mpiexec" -n 2 bind=false -- \
    train run=launched "${options[@]}" max_steps=20
err_has '2 ranks report'
paste -d ' ' <(losses one) <(losses launched) | awk '
    { d = $1 / $3 - 1; if (d < 0) d = -d }
    d > 1e-3 || $2 != $4 { exit 1 }
    END { if (NR != 20) exit 1 }' || fail "two launched ranks train differently"
