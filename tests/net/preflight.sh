# ctest: slow
# A host whose disk has no room for a checkpoint, or whose data differs, is refused by name before
# the first update; nothing is started again for what stays as it is.
. "$ROOT/tests/net/subject.bash"

fill_disk n2
lab exec n2 truncate -s -1M /tmp/node/fill
background "${hosts[@]}" -- train run=/tmp/node/run "${subject[@]}" max_steps=5
await
[ "$code" -eq 3 ] || { cat launch.log; fail "status $code, want 3"; }
log_has 'the disk of rank 2 on host n2 has 1 MiB left'
log_has 'another start would not help'
lab exec n2 rm /tmp/node/fill

for host in n1 n2; do lab exec "$host" cp -r "$WORK/data" /tmp/node/data; done
tiny_text train 1000 120
expect 0 "$FERRY" prepare source=train.en target=train.de valid_source=valid.en \
    valid_target=valid.de out=other tokenizer=data/vocab.model
lab exec n2 sh -c "rm -r /tmp/node/data && cp -r '$WORK/other' /tmp/node/data"
background "${hosts[@]}" -- train run="$WORK/refused" "${subject[@]}" data=/tmp/node/data max_steps=5
await
[ "$code" -eq 2 ] || { cat launch.log; fail "status $code, want 2"; }
log_has 'rank 2 on host n2 has another corpus than rank 0 on host n1'
log_has 'another start would not help'

# A disk that fills up while training goes on, then a killed rank: the host that alone has no room
# is left out, and all is as before for the others.
pairs() { sed -n 's/.*"event":"step".*"step":\([0-9]*\),.*"pairs_hash":"\([0-9a-f]*\)".*/\1 \2/p' "$1" | sort -n | awk '$1 in seen && seen[$1] != $2 { print "differs"; exit } { seen[$1] = $2 }'; }
is_beyond_on() { [ "$(lab exec "$1" sed -n 's/^model_checkpoint_path: "model.ckpt-\([0-9]*\)"$/\1/p' /tmp/node/run/checkpoint 2>/dev/null | grep . || echo 0)" -gt "$2" ]; }
# lose: fill n2's disk once the run has saved, then kill a rank on n1
lose()
{
    until_true 120 is_beyond_on n1 0
    fill_disk n2
    lab exec n2 truncate -s -1M /tmp/node/fill
    kill -KILL "$(lab pids n1 ferry 1)"
}
background "${hosts[@]}" -- train run=/tmp/node/run "${subject[@]}" max_steps=100000
lose
until_true 120 grep -q 'host n2 alone failed (operating system refused); the next start is without it' launch.log
log_has 'the disk of rank 2 on host n2 has ' # how much depends on the save that was under way
until_true 120 grep -q 'start 3: 2 ranks on n1:2, of 4 that were listed' launch.log
until_true 120 grep -q '2 ranks instead of 4; the order of the data stays the same' launch.log
sleep 3
kill -TERM "$(pgrep -P "$job")"
await
[ "$code" -eq 0 ] || { cat launch.log; fail "status $code without n2"; }
lab exec n1 cat /tmp/node/run/run.jsonl >log
[ -z "$(pairs log)" ] || fail "the order of the data changed"
for host in n1 n2; do lab exec "$host" rm -rf /tmp/node/run /tmp/node/fill; done

# (mpirun's traces come to a launch.log here, too: the run is on the hosts' own disks.)
# Where the job may not go on without it, the same ends the job and names host and cause.
background "${hosts[@]}" min_ranks=4 -- train run=/tmp/node/run "${subject[@]}" max_steps=100000
lose
await
[ "$code" -eq 3 ] || { cat launch.log; fail "status $code, want 3"; }
[ "$(grep -c 'ferry launch: start ' launch.log)" -eq 3 ] || fail "not tried once more"
grep '^ferry launch: ' launch.log | tail -n 1 | grep -q 'ferry launch: .*the disk of rank 2 on host n2 has .*; another start would not help$' ||
    fail "the last line does not name host and cause"
