# Text in, data directory out; every mistake is one sentence with its exit status.
for i in $(seq 1 200); do
    echo "the ferry $i crosses the river and the $((i * 7 % 13)) other boats wait" >>en
    echo "die Fähre $i überquert den Fluss und die $((i * 7 % 13)) anderen Boote warten" >>de
done
head -n 20 en >valid.en
head -n 20 de >valid.de

expect 0 "$FERRY" prepare source=en target=de valid_source=valid.en valid_target=valid.de \
    out=data vocab_size=100
out_has '200  pairs read'
out_has '20  valid pairs'
out_has '100  pieces in the vocabulary'
for f in train.bin valid.bin valid.source valid.target vocab.model vocab.vocab prepare.json; do
    [ -s "data/$f" ] || fail "data/$f is missing"
done
cmp valid.en data/valid.source || fail "the validation text was changed"

expect 0 "$FERRY" prepare --source en --target de --out again --vocab-size 100 \
    --valid-source=valid.en --valid-target=valid.de
cmp data/train.bin again/train.bin || fail "the same options gave other bytes"
cmp data/vocab.model again/vocab.model || fail "the same options gave another vocabulary"

head -n 199 de >short.de
: >empty
refuses 2 'source is missing' "$FERRY" prepare
refuses 2 'out is missing' "$FERRY" prepare source=en target=de
refuses 2 "did you mean 'vocab_size'" "$FERRY" prepare source=en target=de out=x vocab_sice=9
refuses 4 'en has 200 lines and short.de has 199' "$FERRY" prepare source=en target=short.de out=x
refuses 3 'none.de: No such file' "$FERRY" prepare source=en target=none.de out=x
refuses 4 'empty: the file is empty' "$FERRY" prepare source=empty target=de out=x
[ ! -e x ] || fail "a refused command made its directory"
expect 2 "$FERRY" prepare source=en target=de out=x vocab_size=30000
err_has 'vocab_size = 30000: the text gives only'
expect 3 "$FERRY" prepare source=en target=de out=en/x vocab_size=100
err_has 'en'
