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
