# Weights of pairs: from a file of numbers through cleaning, duplicates, drawing and shuffling into
# the packed corpus, and from there into a training, its log and its report.
. "$ROOT/tests/cli/tiny.bash"
tiny_text train 0 240
tiny_text valid 500 12
tiny_text other 300 60

# The weight of line N (its sentence ends with that number) is N modulo 4 and a quarter; every tenth is 0.
for ((i = 0; i < 240; i++)); do ((i % 10)) && echo "$((i % 4)).25" || echo 0; done >weights
valid=(valid_source=valid.en valid_target=valid.de)
prepare=(source=train.en target=train.de vocab_size=80 measure=false)

# shown DIR: "NUMBER WEIGHT" of every pair, where NUMBER is that at the end of its source
shown()
{
    "$FERRY" inspect "$1" pairs=1000 json=true | python3 -c '
import json, re, sys
for row in json.load(sys.stdin)["train"]:
    number = re.search(r"(\d+)$", row["source"].replace(" ", "").replace("▁", " ")).group(1)
    print(number, "%g" % row.get("weight", 1))' | sort -n
}
wanted() { awk '$2 > 0' <(paste -d' ' <(seq 0 239) weights); }

expect 0 "$FERRY" prepare "${prepare[@]}" "${valid[@]}" weights=weights out=data
out_has 'dropped (10.00 %): its weight is 0'
out_has '216  of them do not count 1: weights from 0.25 to 3.25'
shown data >got
wanted | cmp - got || fail "other weights: $(diff <(wanted) got | head -n 3)"
expect 0 "$FERRY" inspect data/train.bin
expect 0 "$FERRY" inspect data verify=true
python3 - <<'END'
import json
stats = json.load(open("data/prepare.json"))
assert stats["dropped"]["weight 0"] == 24 and stats["version"] == 3
train = stats["sets"]["train"]
assert train["weights"]["least"] == 0.25 and train["weights"]["most"] == 3.25, train
assert train["inputs"][0]["weights"]["lines"] == 240
assert "weights" not in stats["sets"]["valid"]
END

# Any number of threads, packed files and pipes: the same bytes.
gzip -k weights
expect 0 "$FERRY" prepare "${prepare[@]}" "${valid[@]}" weights=weights.gz out=data-gz threads=1
expect 0 "$FERRY" prepare "${prepare[@]}" "${valid[@]}" weights=<(cat weights) out=data-pipe threads=3
cmp data/train.bin data-gz/train.bin
cmp data/train.bin data-pipe/train.bin

# Duplicates keep the weight of the first, drawn pairs leave with theirs; several files, of both kinds.
cat train.en train.en >twice.en
cat train.de train.de >twice.de
{ cat weights; seq 1000 1239; } >twice
expect 0 "$FERRY" prepare source=twice.en target=twice.de weights=twice out=data-2 vocab_size=80 \
    measure=false duplicates=exact "${valid[@]}"
shown data-2 >got
awk '{ print $1, ($2 > 0 ? $2 : 1000 + $1) }' <(paste -d' ' <(seq 0 239) weights) | cmp - got ||
    fail "duplicates: $(head -n 3 got)"
expect 0 "$FERRY" prepare "${prepare[@]}" weights=weights out=data-3 valid=20 test=10
shown data-3 >got
[ "$(comm -13 <(wanted | sort) <(sort got))" = '' ] || fail "drawn: weights that are none of those given"
[ "$(wc -l <got)" -le 186 ] || fail "$(wc -l <got) pairs beside those drawn"
paste other.en other.de >other.tsv
seq 1 60 >other.weights
expect 0 "$FERRY" prepare "${prepare[@]}" pairs=other.tsv weights=weights,other.weights out=data-4 "${valid[@]}"
shown data-4 >got
{ wanted; paste -d' ' <(seq 300 359) <(seq 1 60); } | cmp - got || fail "two files: $(tail -n 3 got)"

# Weights of 1 are no weights: the same file, which an older Ferry reads.
expect 0 "$FERRY" prepare "${prepare[@]}" "${valid[@]}" out=plain
yes 1.0 | head -n 240 >ones || true
expect 0 "$FERRY" prepare "${prepare[@]}" "${valid[@]}" weights=ones out=data-ones
cmp plain/train.bin data-ones/train.bin
[ "$(od -An -tu4 -j8 -N4 plain/train.bin)" -eq 2 ] || fail "the version of a corpus without weights"
[ "$(od -An -tu4 -j8 -N4 data/train.bin)" -eq 3 ] || fail "the version of a corpus with weights"

# What cannot be is refused, before anything is made.
bad() # LINE TEXT SENTENCE
{
    sed "$1s/.*/$2/" weights >bad
    refuses 4 "$3" "$FERRY" prepare "${prepare[@]}" weights=bad out=new
    [ ! -e new ] || fail "$2: something was made"
}
want='is no weight; want 0, which leaves the pair out, or a number from 0.000001 to 1000000'
bad 7 -1 "bad:7: '-1' $want"
bad 240 nan "bad:240: 'nan' $want"
bad 1 inf "bad:1: 'inf' $want"
bad 2 1e400 "bad:2: '1e400' $want"
bad 3 1e-9 "bad:3: '1e-9' $want"
bad 4 '' "bad:4: '' $want"
bad 5 '1 2' "bad:5: '1 2' $want"
bad 6 0x10 "bad:6: '0x10' $want"
head -n 239 weights >bad
refuses 4 'bad has 239 lines, train.en has 240 pairs; want a weight for each pair, one a line' \
    "$FERRY" prepare "${prepare[@]}" weights=bad out=new
refuses 2 '2 files of weights (weights,ones) for 1 of text; want one for each' \
    "$FERRY" prepare "${prepare[@]}" weights=weights,ones out=new
yes 0 | head -n 240 >bad || true
expect 4 "$FERRY" prepare "${prepare[@]}" weights=bad out=new
err_has 'no pairs are left of 240 after cleaning: 240 because its weight is 0'

# Every device takes them alike.
numbers() { sed -n "s/.*\"event\":\"step\".*\"$2\":\([0-9.e+-]*\).*/\1/p" "$1/run.jsonl"; }
if "$FERRY" doctor --device opencl >doctor.txt 2>&1; then
    for views in simcut=0 simcut=3; do
        for device in cpu opencl; do
            expect 0 "$FERRY" train run=$device-$views data=data "${tiny[@]}" max_steps=6 log_every=1 \
                device=$device $views
        done
        paste <(numbers cpu-$views grad_norm) <(numbers opencl-$views grad_norm) |
            awk '{ d = $1 - $2; if (d < 0) d = -d; if (!(d <= 1e-3 * $1)) exit 1; n++ } END { exit n != 6 }' ||
            fail "$views: other gradients on OpenCL"
    done
fi

# Training: named in log and report; beside a corpus that has none; validation is as without.
expect 0 "$FERRY" train run=run data=data "${tiny[@]}" max_steps=10
grep -q '"target_weight":' run/run.jsonl || fail "the log does not say what the pairs count"
expect 0 "$FERRY" report run
grep -q 'a target token counts 1\.[0-9]* on average' run/report.md || fail "$(grep -i weight run/report.md)"
expect 0 "$FERRY" prepare source=other.en target=other.de tokenizer=data/vocab.model out=also measure=false
expect 0 "$FERRY" train run=mixed data=data also_data=also mix=data:0.5,also:0.5 "${tiny[@]}" max_steps=10
grep -q '"target_weight":' mixed/run.jsonl || fail "mixed, the log does not say what the pairs count"
expect 0 "$FERRY" train run=none data=plain "${tiny[@]}" max_steps=10
grep -q target_weight none/run.jsonl && fail "a log of pairs that all count 1 says otherwise"
grep -q 'on average' none/report.md 2>/dev/null && fail "so does its report"
expect 0 "$FERRY" prepare "${prepare[@]}" "${valid[@]}" out=same tokenizer=data/vocab.model vocab_size=0
expect 0 "$FERRY" eval run data=same set=valid bleu=false
cp .out eval.txt
expect 0 "$FERRY" eval run data=data set=valid bleu=false
diff <(awk '/^loss/' eval.txt) <(awk '/^loss/' .out) || fail "validation has weights"
