# "${mpirun[@]}" -n N PROGRAM runs it as N ranks; where that cannot be, the test ends here.
mpirun=("$(command -v mpirun.openmpi || command -v mpirun || true)" --oversubscribe)
if [ -z "${mpirun[0]}" ]; then
    skip "mpirun is not installed"
fi
[ "$(id -u)" -ne 0 ] || mpirun+=(--allow-run-as-root)
if ! "${mpirun[@]}" -n 2 true >/dev/null 2>&1; then
    skip "mpirun does not start processes here"
fi
