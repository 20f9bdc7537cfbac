# ferry adapt: a tiny model learns from other pairs, goes on after a kill and a signal as if nothing had been,
# says what it measured, and refuses what cannot be. ctest: slow
. "$ROOT/tests/cli/tiny.bash"

tiny_data data
expect 0 "$FERRY" train data=data run=base "${tiny[@]}" max_steps=60
tiny_text more 1000 300
paste more.en more.de >more.tsv
paste train.en train.de | gzip >train.tsv.gz
adapt=("$FERRY" adapt base pairs=more.tsv mix=train.tsv.gz threads=1)

# The whole way: scores of both texts, a file that translates, the run as any other run.
expect 0 "${adapt[@]}" run=whole
out_has 'text      pairs    BLEU   after  change'
grep -q '^new  *15 ' .out || fail 'no line of the new text'
grep -q '^general  *6 ' .out || fail 'no line of the general text'
err_has 'new text: 270 pairs to train on, 15 to validate, 15 to test'
err_has '540 general pairs beside each'
grep -q '^| new | 15 |' whole/adapt.md || fail 'adapt.md lacks the table'
given $'the ship and the river see north 7\n'
expect 0 "$FERRY" translate whole/adapted.ferry
[ "$(wc -l <.out)" = 1 ] || fail 'the packed model does not translate'
expect 0 "$FERRY" eval whole data=whole/general
expect 0 "$FERRY" eval whole
expect 0 "$FERRY" report whole
expect 0 "$FERRY" inspect whole/data

# What was learned: the new text is translated better, and the numbers are those of eval.
score() { python3 -c "import json,sys; print(json.load(open('$1/adapt.json'))['$2']['$3']['bleu'])"; }
python3 -c "exit(not $(score whole after new) > $(score whole before new) + 2)" || fail 'nothing was learned'
expect 0 "$FERRY" eval whole data=whole/new --json
python3 -c "
import json
exit(abs(json.load(open('.out'))['bleu'] - $(score whole after new)) > 0.005)" || fail 'eval has another BLEU'

# The same command again changes nothing.
cp whole/adapt.json before.json
expect 0 "${adapt[@]}" run=whole
cmp -s whole/adapt.json before.json || fail 'a finished adaptation changed'
err_lacks 'step '

# Killed while it trains, and stopped by a signal: the same scores and the same weights in the end.
until_step()
{
    local i
    for i in $(seq 600); do
        grep -q "\"step\":$2\b\|\"step\": $2\b" "$1/run.jsonl" 2>/dev/null && return
        sleep 0.05
    done
    fail "$1 never came to step $2"
}
for how in KILL INT; do
    "${adapt[@]}" run=$how 2>$how.err >$how.out &
    pid=$!
    until_step $how 60
    kill -$how $pid
    got=0
    wait $pid 2>/dev/null || got=$?
    [ $how = KILL ] || [ $got = 0 ] || fail "status $got after a signal"
    [ ! -e $how/adapted.ferry ] || fail 'it was over before it was stopped'
    expect 0 "${adapt[@]}" run=$how
    for when in before after; do
        for text in new general; do
            [ "$(score $how $when $text)" = "$(score whole $when $text)" ] || fail "$when $text differs after $how"
        done
    done
    cmp -s $how/checkpoint whole/checkpoint || fail "other checkpoints after $how"
    last=$(basename whole/model.ckpt-*.index | tail -1)
    cmp -s $how/${last%.index}.data-00000-of-00001 whole/${last%.index}.data-00000-of-00001 ||
        fail "other weights after $how"
done
grep -q 'the same command continues from there' INT.err || fail 'a signal does not say how to go on'

# Without general text that is said; a packed model can be adapted, and exactly so in float.
expect 0 "$FERRY" pack base out=base.ferry precision=fp32 pairs=0
expect 0 "$FERRY" adapt base.ferry source=more.en target=more.de run=alone out=alone.ferry precision=fp32 passes=1 threads=1
out_has 'forgotten was not measured'
grep -q 'forgotten was not measured' alone/adapt.md || fail 'adapt.md does not say what was not measured'
[ -e alone.ferry ] && [ ! -e alone/adapted.ferry ] || fail 'out= is not where the model goes'

# A translation memory teaches what its pairs do in two files.
awk -F'\t' 'BEGIN { print "<tmx version=\"1.4\"><header srclang=\"en\"/><body>" }
    { printf "<tu><tuv xml:lang=\"en\"><seg>%s</seg></tuv><tuv xml:lang=\"de\"><seg>%s</seg></tuv></tu>\n", $1, $2 }
    END { print "</body></tmx>" }' more.tsv >more.tmx
expect 0 "$FERRY" adapt base.ferry pairs=more.tmx run=memory passes=1 threads=1
grep -q '^new  *15 ' .out || fail 'no line of the translation memory'
for file in alone/model.ckpt-*.data*; do
    cmp -s "$file" "memory/${file#*/}" || fail 'other weights from a translation memory'
done
expect 0 "$FERRY" translate memory/adapted.ferry test.en

# So can a model of another program, with a tokenizer for each side.
expect 0 "$FERRY" prepare source=more.en target=more.de out=other vocab_size=70 measure=false
python3 "$ROOT/tests/cli/marian_model.py" marian data/vocab other/vocab
expect 0 "$FERRY" adapt marian pairs=more.tsv source_lang=en target_lang=de run=tuned precision=fp32 passes=1 threads=1
grep -q '^norm: post$' tuned/config.yaml || fail 'the adapted model is of another architecture'
expect 0 "$FERRY" translate tuned/adapted.ferry test.en

# One that has learned its positions is given no longer sentences than it has positions for.
expect 0 "$FERRY" train data=data run=few "${tiny[@]}" max_steps=2 positions=learned max_positions=20 max_length=20
expect 0 "$FERRY" adapt few pairs=more.tsv run=longer precision=fp32 passes=1 threads=1
grep -q '^max_length: 20$' longer/config.yaml || fail 'sentences may be longer than the positions'

# What was begun stays what it was.
refuses 2 'begun with mix_ratio = 2, not 1' "${adapt[@]}" run=whole mix_ratio=1
refuses 2 'begun with model = base, not base.ferry' "$FERRY" adapt base.ferry pairs=more.tsv mix=train.tsv.gz run=whole
cp more.tsv kept.tsv
echo $'one more\teines mehr' >>more.tsv
refuses 2 'files of the new text have changed' "${adapt[@]}" run=whole
mv kept.tsv more.tsv
sed -i 's/"version": 1,/"version": 2,/' whole/adapt.json
refuses 4 'written by a newer ferry (version 2, up to 1 can be read)' "${adapt[@]}" run=whole
echo '{' >whole/adapt.json
refuses 4 'whole/adapt.json:' "${adapt[@]}" run=whole
refuses 2 'run = base is the run of another training' "$FERRY" adapt base pairs=more.tsv run=base

# Bad input is refused with one sentence, and nothing is left.
nothing() { refuses "$@"; [ ! -e none ] || fail "something was left: $(ls none)"; }
: >empty.tsv
nothing 4 'empty.tsv' "$FERRY" adapt base pairs=empty.tsv run=none
head -20 more.tsv >short.tsv
nothing 2 'the new text has 20 pairs; at least 100 are needed' "$FERRY" adapt base pairs=short.tsv run=none
head -200 more.de >cut.de
nothing 4 'cut.de' "$FERRY" adapt base pairs=more.tsv mix_source=more.en mix_target=cut.de run=none
nothing 2 'name the general text as mix=FILE' "$FERRY" adapt base pairs=more.tsv mix_source=more.en run=none
nothing 2 'name the new text as pairs=FILE' "$FERRY" adapt base run=none
nothing 3 'nowhere' "$FERRY" adapt nowhere pairs=more.tsv run=none
nothing 2 'run is not set' "$FERRY" adapt base pairs=more.tsv
nothing 2 'which model?' "$FERRY" adapt pairs=more.tsv run=none
mkfifo pipe.tsv
(cat more.tsv >pipe.tsv) &
nothing 2 'pipe.tsv is a pipe' "$FERRY" adapt base pairs=pipe.tsv run=none
wait

# Text in the other direction: languages that the model knows, and sides that are swapped.
expect 0 "$FERRY" sample grammar pairs=400
nothing 2 'the new text looks like de to en, and the model translates en to de: swap its sides' "$FERRY" adapt base \
    source=grammar/train.de target=grammar/train.en source_lang=en target_lang=de run=none
