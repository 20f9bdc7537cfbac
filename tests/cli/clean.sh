# Cleaning equals, line for line, an independent implementation of its rules: 6,000 hard
# pairs in every run, PAIRS=200000 for all of them; SEED= for others.
pairs=${PAIRS:-6000}
seed=${SEED:-1}
reference=$ROOT/tests/clean_reference.py

# compare SEED N: our train.clean.* against the reference's, and counts that add up
compare()
{
    local n_kept
    python3 "$reference" make "$1" "$2" a.en a.de
    [ -z "${3:-}" ] || { sed -i "1s/^/$3/" a.en; }
    python3 "$reference" clean a.en a.de want.en want.de
    expect 0 "$FERRY" prepare source=a.en target=a.de out=data vocab_size=100 --reference-names \
        threads=2
    # A pair whose text the tokenizer does not see is dropped later, under a reason of its own,
    # so that it is still in the cleaned text.
    n_kept=$(wc -l <want.en)
    [ "$n_kept" -gt $((2 * $2 / 5)) ] || fail "only $n_kept of $2 pairs pass: too easy a test"
    cmp data/train.clean.en want.en || fail "the source differs (SEED=$1)"
    cmp data/train.clean.de want.de || fail "the target differs (SEED=$1)"
    python3 - "$2" <<'END' || fail "the reasons do not add up"
import json, sys
stats = json.load(open("data/prepare.json"))
sys.exit(stats["pairs_in"] != int(sys.argv[1]) or
         stats["pairs_in"] != stats["pairs_kept"] + sum(stats["dropped"].values()))
END
    rm -rf data
}

compare "$seed" "$pairs"
compare $((seed + 1)) 2000 'a|b c|d ' # factored: a bar in the first line
