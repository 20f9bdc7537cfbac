# Runs side by side: short names, test BLEU and samples, and a warning where numbers of different
# things would be compared.
. "$ROOT/tests/cli/tiny.bash"
tiny_data data
options=("${tiny[@]}" max_steps=20 eval_every=10 eval_bleu=true eval_samples=3)
train() { expect 0 "$FERRY" train run="$1" data="$2" "${options[@]}" "${@:3}"; }
compare() { expect 0 "$FERRY" report "$@" out=all.html; }
has() { grep -qF -e "$1" all.md || fail "all.md lacks '$1': $(head -n 40 all.md)"; }
lacks() { ! grep -qF -e "$1" all.md || fail "all.md holds '$1'"; }

# the same data: nothing to warn of
train a/lr1/run data
train a/lr2/run data learning_rate=0.25
expect 0 "$FERRY" eval a/lr1/run
bleu=$(sed -n 's/^BLEU  *\([0-9.]*\) .*/\1/p' .out)
expect 0 "$FERRY" eval a/lr1/run bleu=false # no score: the one before stays
compare a/lr1/run ./a//lr2/run
has '| state | finished | finished |'
has '|  | lr1 | lr2 |'
has '| test BLEU | '
has ' at 20 | not scored |'
lacks 'missing at 20'
lacks 'Warning'
has 'At step 20'
has '| source | reference | lr1 | lr2 |'
[ "$(grep -c '| the [a-z]* and the' all.md)" -eq 3 ] || fail "want three samples side by side"
grep -q '"warnings": \[\]' all.json || fail "warnings of programs"
expect 0 python3 -c 'import json, sys
score = json.load(open("all.json"))["runs"][0]["tests"][0]
assert score["set"] == "test" and abs(score["bleu"] - float(sys.argv[1])) < 0.01' "$bleu"
expect 0 "$FERRY" report a/lr1/run
grep -q '^## Test scores' a/lr1/run/report.md || fail "the run's own report lacks its test score"
grep -q 'Test scores' a/lr1/run/report.html || fail "so does its page"

# another vocabulary of the same text
tiny_data other vocab_size=100
train b other
expect 0 "$FERRY" eval b
compare a/lr1/run b
has '**Warning:** b has another vocabulary than run (100 and 80 pieces)'
lacks 'trained on other data'
lacks 'validated on other'
lacks 'At step 20'
lacks 'is of other sentences'
grep -q 'has another vocabulary' all.html || fail "the page does not warn"

# fewer pairs of the same vocabulary: validation still compares
head -n 60 train.en >half.en
head -n 60 train.de >half.de
expect 0 "$FERRY" prepare source=half.en target=half.de valid_source=valid.en valid_target=valid.de \
    test_source=valid.en test_target=valid.de out=half tokenizer=data/vocab.model
train half1 half
expect 0 "$FERRY" eval half1
compare a/lr1/run half1
has '**Warning:** half1 was trained on other data than run (60 and 120 pairs)'
has 'Validation losses do'
has 'At step 20'
has 'The test BLEU of half1 is of other sentences'

# the other direction
expect 0 "$FERRY" prepare source=train.de target=train.en valid_source=valid.de valid_target=valid.en \
    out=back tokenizer=data/vocab.model
train back1 back
compare a/lr1/run back1
has 'back1 was validated on other sentences'
lacks 'At step 20'
lacks '## Sample translations'

train there data source_lang=en target_lang=de
train again back source_lang=de target_lang=en
compare there again
has 'again translates de to en, there en to de: neither their losses nor their BLEU compare'

train smooth data label_smoothing=0.3
compare a/lr1/run smooth
has 'smooth has label\_smoothing 0.3, run has 0.1'

# what makes training harder raises its loss, and not that of validation
train varied data bpe_dropout=0.1 word_dropout=0.1 relu_dropout=0
compare a/lr1/run varied
has 'run and varied differ in relu\_dropout, word\_dropout, bpe\_dropout: their training losses do not compare.'
train sided data bpe_dropout=0.1 word_dropout=0.1 relu_dropout=0 bpe_dropout_side=source
compare varied sided
has 'varied and sided differ in bpe\_dropout\_side: their training losses do not compare.'
cp -r data again.data
train apart data also_data=again.data mix=data:0.5,again.data:0.5
train whole data also_data=again.data
compare whole apart
has 'whole and apart differ in mix: their training losses do not compare.'
train prior data smoothing=unigram
compare a/lr1/run prior
has 'prior smooths labels by smoothing = unigram, run by uniform: their training losses do not compare.'
has 'Their validation losses do, which always smooth alike.'

# words of other tokenizers are other words
train none data score_tokenize=none score_lowercase=true
expect 0 "$FERRY" eval none score_tokenize=none
compare a/lr1/run none
has 'The validation BLEU of none is nrefs:1\|case:lc\|eff:no\|tok:none\|smooth:exp\|version:2.6.0, that of run nrefs:1\|'
lacks 'compares words with'
has 'The test BLEU of none is nrefs:1\|case:mixed\|eff:no\|tok:none\|smooth:exp\|version:2.6.0, that of run nrefs:1\|'

cp -r a/lr1/run/. older # as before there was the option
sed -i -E 's/, ?"score_[a-z]*": ?[^,}]*//g' older/run.jsonl
compare older none
has 'The validation BLEU of none is nrefs:1'
train silent1 data eval_bleu=false
train silent2 data eval_bleu=false score_tokenize=none
compare silent1 silent2
has 'silent2 compares words with score\_tokenize = none and score\_lowercase = false, silent1 with 13a and false: '

# as many pieces, but others
expect 0 "$FERRY" prepare source=half.en target=half.de valid_source=valid.en valid_target=valid.de \
    out=pieces vocab_size=80
train pieces1 pieces
compare a/lr1/run pieces1
has 'pieces1 has another vocabulary than run (80 and 80 pieces)'
