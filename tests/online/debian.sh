# The corpus that any Debian mirror carries, from apt to a trained model and its score. Needs the
# network; `make test-online` runs it.
expect 0 "$FERRY" fetch debian-de-en corpus
cat .out
n=$(wc -l <corpus/train.en)
[ "$n" -gt 30000 ] || fail "only $n pairs; about 45,000 are usual"
[ "$n" -eq "$(wc -l <corpus/train.de)" ] || fail "the sides differ"
expect 0 "$FERRY" prepare source=corpus/train.en target=corpus/train.de \
    valid_source=corpus/valid.en valid_target=corpus/valid.de \
    test_source=corpus/test.en test_target=corpus/test.de out=data vocab_size=4000
expect 0 "$FERRY" train "$ROOT/configs/demo.yaml" data=data run=run max_steps=60
grep -q '"loss"' run/run.jsonl || fail "no loss in run.jsonl"
given 'This package contains the documentation.
'
expect 0 "$FERRY" translate run
[ -s .out ] || fail "nothing was translated"
# A second run downloads what changed and makes the same files.
sha256sum corpus/*.?? >sums
expect 0 "$FERRY" fetch debian-de-en corpus
sha256sum --check --quiet sums || fail "the second run made other files"
