# ctest: slow
# MPI_Finalize that never comes back: the ranks end by themselves, having saved and said all. The
# status is mpirun's, which frowns on ranks that leave so.
. "$ROOT/tests/cli/mpirun.bash"
. "$ROOT/tests/cli/tiny.bash"
command -v cc >/dev/null || skip "there is no compiler"
echo '#include <unistd.h>
int MPI_Finalize(void) { for (;;) pause(); }' >hang.c
cc -shared -fPIC -o hang.so hang.c
tiny_data data
hung=(timeout 60 "${mpirun[@]}" -n 2 -x LD_PRELOAD="$WORK/hang.so" "$FERRY" train "${tiny[@]}" max_steps=3)

"${hung[@]}" run=run data=data >run.out 2>&1 &
good=$!
"${hung[@]}" run=bad data=nowhere >bad.out 2>&1 &
bad=$!
for pid in $good $bad; do
    code=0
    wait $pid || code=$?
    [ "$code" -ne 124 ] || fail "the ranks wait for ever"
done
grep -q 'model.ckpt-3' run/checkpoint || fail "the run was not saved"
grep -q '^ferry train: .*nowhere' bad.out || { cat bad.out >&2; fail "the reason was not said"; }
