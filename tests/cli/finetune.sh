# Training that begins with a model of another program: its tokenizers cut the data, its options are
# named, and with no updates the run translates as it does.
. "$ROOT/tests/cli/tiny.bash"

tiny_data source
tiny_data target vocab_size=70 fresh=true
python3 "$ROOT/tests/cli/marian_model.py" marian source/vocab target/vocab
expect 0 "$FERRY" import marian out=marian.ferry precision=fp32
expect 0 "$FERRY" translate marian test.en
cp .out want

# Data that both of its tokenizers cut.
tiny_data data tokenizer=marian.ferry
[ -s data/vocab.target.model ] || fail "the data has no tokenizer of targets"
grep -q '"target_pieces": 70' data/prepare.json || fail "prepare.json does not count both vocabularies"

expect 0 "$FERRY" eval marian data=data set=test bleu=false
out_has "cross entropy"

# What fits it is named, and taken from there; other data is refused.
refuses 2 'marian is another model; train it with encoder_layers=2 decoder_layers=2' \
    "$FERRY" train run=run data=data "${tiny[@]}" max_steps=0 init_from=marian
read -ra fits < <(sed -n 's/.*train it with //p' .err)
expect 0 "$FERRY" train run=run data=data "${tiny[@]}" "${fits[@]}" max_steps=0 init_from=marian
expect 0 "$FERRY" translate run test.en
cmp .out want || fail "the run translates otherwise than the model that it began with"
# The same numbers of pieces are not enough.
head -n 60 train.en >less.en
head -n 60 train.de >less.de
expect 0 "$FERRY" prepare source=less.en target=less.de out=less vocab_size=80 measure=false
rm less/proposal.yaml
expect 0 "$FERRY" train run=one data=source "${tiny[@]}" max_steps=2
expect 0 "$FERRY" pack one out=one.ferry precision=int8 pairs=5
refuses 2 'init_from: the data was not cut by the tokenizer of one.ferry; prepare it with tokenizer=one.ferry' \
    "$FERRY" train run=other data=less "${tiny[@]}" max_steps=2 init_from=one.ferry
expect 0 "$FERRY" train run=again data=source "${tiny[@]}" max_steps=0 init_from=one.ferry
grep -q 'init_from holds weights in int8' .err || fail "nobody says that int8 is rounded"

# The packed file is as good a beginning, and training goes on from it, in parts as in one.
expect 0 "$FERRY" train run=tuned data=data "${tiny[@]}" "${fits[@]}" max_steps=0 init_from=marian.ferry
expect 0 "$FERRY" translate tuned test.en
cmp .out want || fail "the run translates otherwise than the packed model that it began with"
tune=(data=data "${tiny[@]}" "${fits[@]}" init_from=marian.ferry learning_rate=0.05)
expect 0 "$FERRY" train run=whole "${tune[@]}" max_steps=30
expect 0 "$FERRY" train run=parts "${tune[@]}" max_steps=12
expect 0 "$FERRY" train run=parts "${tune[@]}" max_steps=30
cmp {whole,parts}/model.ckpt-30.data-00000-of-00001 || fail "resume is not exact"
first=$(sed -n 's/.*"event":"step".*"loss":\([0-9.e+-]*\).*/\1/p' whole/run.jsonl | head -n 1)
last=$(sed -n 's/.*"event":"step".*"loss":\([0-9.e+-]*\).*/\1/p' whole/run.jsonl | tail -n 1)
awk -v a="$first" -v b="$last" 'BEGIN { exit !(b < a) }' || fail "the loss went from $first to $last"

# The run carries both tokenizers wherever it goes.
expect 0 "$FERRY" translate whole test.en
cp .out tuned.out
expect 0 "$FERRY" pack whole out=whole.ferry precision=fp32 pairs=5
expect 0 "$FERRY" translate whole.ferry test.en
cmp .out tuned.out || fail "packed, the tuned run translates otherwise"
expect 0 "$FERRY" eval whole set=test
expect 0 "$FERRY" eval whole.ferry data=data set=test
expect 0 "$FERRY" average whole out=mean
expect 0 "$FERRY" translate mean test.en
