# "${launch[@]}" PROGRAM runs it as two ranks; where that cannot be, the test ends here.
mpirun=$(command -v mpirun.openmpi || command -v mpirun || true)
if [ -z "$mpirun" ]; then
    echo "skipped: mpirun is not installed"
    exit 0
fi
launch=("$mpirun" -n 2 --oversubscribe)
[ "$(id -u)" -ne 0 ] || launch+=(--allow-run-as-root)
if ! "${launch[@]}" true >/dev/null 2>&1; then
    echo "skipped: mpirun does not start processes here"
    exit 0
fi
