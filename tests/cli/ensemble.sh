# Several models as one: the same twice is the one, others must share its vocabulary.
small_data
for seed in 1 2; do
    expect 0 "$FERRY" train data=data run=run$seed seed=$seed d_model=16 d_ff=32 heads=2 encoder_layers=1 \
        decoder_layers=$seed max_steps=4 save_every=4 eval_every=0 moving_average=0
    expect 0 "$FERRY" pack run$seed out=$seed.ferry pairs=0 shortlist=5
    expect 0 "$FERRY" pack run$seed out=$seed.fp32 pairs=0 precision=fp32
done
head -n 7 en >seven

printf 'warten\nden\n' >forbid
printf 'ferry\tFluss\nriver\tBoote\n' >require
for how in "" "greedy=true" "sample=true nbest=2" "beam=3 nbest=3" "alignments=true" "forbid=forbid" \
    "require=require" "forbid=forbid sample=true" "forbid=forbid require=require"; do
    expect 0 "$FERRY" translate 1.ferry seven scores=true shortlist=false $how
    cp .out want
    expect 0 "$FERRY" translate 1.ferry seven scores=true $how ensemble=1.ferry
    cmp .out want || fail "a model with itself translates otherwise ($how)"
    expect 0 "$FERRY" translate 1.ferry seven scores=true $how ensemble=1.ferry,1.ferry threads=2 workers=2
    cmp .out want || fail "three times the same model translates otherwise ($how)"
done

# Two models, in different precisions and of different depth; threads and batches change nothing.
expect 0 "$FERRY" translate 1.ferry seven scores=true ensemble=2.fp32
cp .out want
expect 0 "$FERRY" translate 1.ferry seven scores=true
cmp -s .out want && fail "the second model changed nothing"
for how in "threads=3 workers=3" "batch_tokens=40 window=2" "shortlist=false"; do
    expect 0 "$FERRY" translate 1.ferry seven scores=true ensemble=2.fp32 $how
    cmp .out want || fail "$how changed a translation"
done
expect 0 "$FERRY" translate run1 seven ensemble=run2,1.ferry

# What does not fit together.
expect 0 "$FERRY" prepare source=en target=de valid_source=valid.en valid_target=valid.de \
    out=other vocab_size=80
expect 0 "$FERRY" train data=other run=run3 d_model=16 d_ff=32 heads=2 encoder_layers=1 \
    decoder_layers=1 max_steps=1 save_every=1 eval_every=0 moving_average=0
refuses 2 'run3 has another vocabulary than the first model' "$FERRY" translate 1.ferry seven ensemble=run3
refuses 2 'want paths of models' "$FERRY" translate 1.ferry seven ensemble=2.ferry,
refuses 3 'missing' "$FERRY" translate 1.ferry seven ensemble=2.ferry,missing
