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

# a bit that flips later is found by inspect, and by training beside its first steps
. "$ROOT/tests/cli/tiny.bash"
expect 0 "$FERRY" inspect data --verify
out_has 'all right'
byte=$(od -An -tu1 -j 40 -N 1 data/train.bin)
printf "\\x$(printf %x $((byte ^ 1)))" | dd of=data/train.bin bs=1 seek=40 conv=notrunc status=none
refuses 4 'its checksum does not match' "$FERRY" inspect data/train.bin
refuses 4 'its checksum does not match' "$FERRY" inspect data --verify
expect 4 "$FERRY" train run=run data=data "${tiny[@]}" max_steps=3
err_has 'train.bin: the packed corpus is damaged'
expect 0 "$FERRY" train run=run2 data=data "${tiny[@]}" max_steps=3 verify_data=false

# text of every kind, by name
paste en de >both.tsv
gzip -c both.tsv >both.tsv.gz
! command -v xz >/dev/null || xz -k both.tsv
! command -v zstd >/dev/null || zstd -q both.tsv
for f in both.tsv*; do
    expect 0 "$FERRY" prepare pairs=$f out=from-$f vocab_size=100
    cmp from-$f/train.bin again/train.bin || fail "$f gives another corpus"
done
head -c 300 both.tsv.gz >cut.tsv.gz
refuses 4 'cut.tsv.gz: the gzip data ends too early: the file was cut' \
    "$FERRY" prepare pairs=cut.tsv.gz out=y
sed 5d de >part.de
refuses 4 'they seem to diverge at line' "$FERRY" prepare source=en target=part.de out=y
[ ! -e y ] || fail "a refused command made its directory"
expect 0 "$FERRY" prepare source=<(cat en) target=de out=piped vocab_size=100
cmp piped/train.bin again/train.bin || fail "a pipe gives another corpus"

# a list of files from a pipe
expect 0 bash -c '"$FERRY" prepare pairs=@<(echo both.tsv) out=from-list vocab_size=100'
cmp from-list/train.bin again/train.bin || fail "a list from a pipe gives another corpus"
command -v xz >/dev/null && command -v zstd >/dev/null ||
    skip ".xz and .zst were not read: xz or zstd is missing"
