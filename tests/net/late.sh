# ctest: slow
# A host that gets a tenth of a core is named as late while training goes on, and again when it
# has caught up. Nobody is named within 20 s of the start.
. "$ROOT/tests/net/subject.bash"
hosts=(-H n1:1,n2:1 bind=false)

# Updates whose computing outweighs the exchange, on fast processors too.
train "$WORK/run" 1000000 batch_tokens=1500 max_length=64 save_every=5 device=cpu-plain
until_true 60 is_beyond run 0
lab slow n2 10
until_true 45 grep -q 'rank 1 on n2 is late: the others wait for it' launch.log
at=$(published run)
lab slow n2 0
until_true 60 grep -q 'rank 1 on n2 caught up' launch.log
until_true 60 is_beyond run "$at"
kill -TERM "$(pgrep -P "$job")"
await
[ "$code" -eq 0 ] || { cat launch.log; fail "status $code"; }
[ "$(starts)" -eq 1 ] || { cat launch.log; fail "it was started again"; }
