# Two ranks under Open MPI's mpirun, and what a program that was moved looks for.
. "$ROOT/tests/cli/two_ranks.bash"
rank_variable=OMPI_COMM_WORLD_RANK
. "$ROOT/tests/cli/ranks.bash"

# Three ranks, and two nodes that meet every fifth step, train on the same pairs as one rank.
expect 0 "${mpirun[@]}" -n 3 "$FERRY" train run=three "${options[@]}" max_steps=20
[ "$(pairs three)" = "$(pairs one)" ] || fail "three ranks train on other pairs"
apart=("$FERRY" train run=apart "${options[@]}" local_steps=5 max_steps=20)
expect 0 "${mpirun[@]}" -n 1 -x FERRY_NODE=a "${apart[@]}" : -n 1 -x FERRY_NODE=b "${apart[@]}"
err_has '2 ranks on 2 nodes'
[ "$(pairs apart | tail -n 1)" = "$(pairs one | tail -n 1)" ] || fail "nodes apart train on other pairs"

# The program is one file: alone in a folder it finds its MPI, as root and as anybody else.
mkdir there
cp "$FERRY" there/
expect 0 "${launch[@]}" there/ferry train run=moved "${options[@]}" max_steps=2
err_has '2 ranks on 1 node'
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    mkdir others
    cp -r "$FERRY" data others/
    chown -R 65534:65534 others
    chmod 755 .
    nobody=(env HOME="$PWD/others" TMPDIR="$PWD/others" setpriv --reuid 65534 --regid 65534 --clear-groups)
    if "${nobody[@]}" test -x others/ferry; then
        expect 0 "${nobody[@]}" "${launch[@]}" others/ferry train run=others/run \
            "${options[@]}" data=others/data max_steps=2
        err_has '2 ranks on 1 node'
    fi
fi
expect 2 env FERRY_MPI_MODULE=nowhere.so "${launch[@]}" there/ferry train run=moved \
    "${options[@]}" max_steps=2
err_has 'MPI cannot be used: nowhere.so'

# Another module for MPI on one host, too.
cp "$(dirname "$FERRY")/ferry-mpi-openmpi.so" there/module.so
both=(train run=modules "${options[@]}" max_steps=2)
expect 0 "${mpirun[@]}" -n 1 there/ferry "${both[@]}" : -n 1 -x FERRY_MPI_MODULE=there/module.so there/ferry "${both[@]}"
echo >>there/module.so
expect 2 "${mpirun[@]}" -n 1 there/ferry "${both[@]}" : -n 1 -x FERRY_MPI_MODULE=there/module.so there/ferry "${both[@]}"
err_has "rank 1 on host $(hostname) has another module for MPI than rank 0 on host $(hostname)"

# Another build on one host is refused before the ranks exchange anything that it could
# misread, and before they look at the data.
cp "$FERRY" there/other
echo >>there/other
one=(train run=unlike data=nowhere "${tiny[@]}")
expect 2 "${mpirun[@]}" -n 1 there/ferry "${one[@]}" : -n 1 there/other "${one[@]}"
err_has 'has another ferry program than rank 0 on host'
[ "$(grep -c '^ferry train:' .err)" -eq 1 ] || fail "a mistake should be said once"

# Without a configuration both ranks take what `ferry prepare` proposed.
expect 0 "$FERRY" prepare source=train.en target=train.de valid=10 out=proposed measure=false
expect 0 "${launch[@]}" "$FERRY" train data=proposed run=by-proposal max_steps=2 threads=1 pin=false
[ "$(grep -c '^configuration: proposed/proposal.yaml$' .err)" -eq 1 ] ||
    fail "the proposal should be named once"
grep -q '^d_model: 128$' by-proposal/config.yaml || fail "the ranks did not take the proposal"
