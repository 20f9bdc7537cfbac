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

# Another build on one host is refused before the ranks exchange anything that it could
# misread, and before they look at the data.
cp "$FERRY" there/bin/other
echo >>there/bin/other
one=(train run=unlike data=nowhere "${tiny[@]}")
expect 2 "${mpirun[@]}" -n 1 there/bin/ferry "${one[@]}" : -n 1 there/bin/other "${one[@]}"
err_has 'has another ferry program than rank 0 on host'
[ "$(grep -c '^ferry train:' .err)" -eq 1 ] || fail "a mistake should be said once"
