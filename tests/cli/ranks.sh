# Two ranks under Open MPI's mpirun, and what a program that was moved looks for.
. "$ROOT/tests/cli/two_ranks.bash"
rank_variable=OMPI_COMM_WORLD_RANK
. "$ROOT/tests/cli/ranks.bash"

# an installed copy finds its module in ../lib/ferry, one without says where it looked
mkdir -p there/bin there/lib/ferry
cp "$FERRY" there/bin/
expect 2 "${launch[@]}" there/bin/ferry train run=moved "${options[@]}" max_steps=2
err_has 'ferry-mpi-openmpi.so beside the program or in ../lib/ferry'
cp "$(dirname "$FERRY")/ferry-mpi-openmpi.so" there/lib/ferry/
expect 0 "${launch[@]}" there/bin/ferry train run=moved "${options[@]}" max_steps=2
err_has '2 ranks on 1 node'
