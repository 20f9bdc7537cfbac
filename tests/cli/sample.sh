# A corpus in a new directory, the same for the same seed; every mistake is one sentence.
expect 0 "$FERRY" sample one/corpus --pairs 300 --valid 20 --test 10
out_has '300  pairs in one/corpus/train.{en,de}'
out_has '20  pairs in one/corpus/valid.{en,de}'
out_has '10  pairs in one/corpus/test.{en,de}'
for side in en de; do
    [ "$(wc -l <one/corpus/train.$side)" -eq 300 ] || fail "train.$side has not 300 lines"
    [ "$(wc -l <one/corpus/valid.$side)" -eq 20 ] || fail "valid.$side has not 20 lines"
    [ "$(wc -l <one/corpus/test.$side)" -eq 10 ] || fail "test.$side has not 10 lines"
done

expect 0 "$FERRY" sample two pairs=300 valid=20 test=10 seed=1
expect 0 "$FERRY" sample three pairs=300 valid=20 test=10 seed=2
cmp one/corpus/train.de two/train.de || fail "the same seed gave another corpus"
! cmp -s two/train.de three/train.de || fail "another seed gave the same corpus"

refuses 2 'which directory?' "$FERRY" sample
refuses 2 'pairs' "$FERRY" sample x --pairs 0
refuses 2 "did you mean 'pairs'" "$FERRY" sample x --pears 10
[ ! -e x ] || fail "a refused command made its directory"
: >file
refuses 3 'file' "$FERRY" sample file/x --pairs 10
