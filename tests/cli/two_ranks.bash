# "${launch[@]}" PROGRAM runs it as two ranks; where that cannot be, the test ends here.
. "$ROOT/tests/cli/mpirun.bash"
launch=("${mpirun[@]}" -n 2)
