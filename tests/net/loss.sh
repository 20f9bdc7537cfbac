# ctest: slow
# A link that loses one packet in a hundred, 10 ms each way, costs time and nothing else: one
# start, and the bytes of a run on a good one.
. "$ROOT/tests/net/subject.bash"
small=(d_model=16 d_ff=24 heads=2 encoder_layers=1 decoder_layers=1)

train "$WORK/good" 20 "${small[@]}"
await
[ "$code" -eq 0 ] || { cat launch.log; fail "status $code of an undisturbed run"; }

lab delay n2 10 1
train "$WORK/lossy" 20 "${small[@]}"
await
[ "$code" -eq 0 ] || { cat launch.log; fail "status $code"; }
[ "$(starts)" -eq 1 ] || { cat launch.log; fail "it was started again"; }
same_end lossy good 20 || fail "lost packets changed the result"
