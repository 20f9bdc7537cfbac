# ferry export: a model as directories of other programs, which ferry reads as well.
. "$ROOT/tests/cli/tiny.bash"
tiny_data data source_lang=en target_lang=de
expect 0 "$FERRY" train run=run data=data "${tiny[@]}" max_steps=60
cp test.en sources

# what each translates is what the run does
expect 0 "$FERRY" translate run <sources
"$FERRY" translate run <sources >want 2>/dev/null
for to in ctranslate2 huggingface safetensors tensorflow; do
    expect 0 "$FERRY" export run to=$to out=$to
    out_has "README.md there says how to load it"
    "$FERRY" translate $to <sources >got 2>/dev/null
    cmp -s want got || fail "$to translates otherwise"
    grep -q '^From en to de\.' $to/README.md || fail "README.md of $to names no languages"
    grep -q '^```python' $to/README.md || fail "README.md of $to has no snippet"
done
refuses 2 'leaves keys and values without them' "$FERRY" export run to=marian out=marian
[ ! -e marian ] || fail "a refused export left something"
! ls -d -- *.tmp-ferry-* 2>/dev/null || fail "an export left an unfinished directory"

# the weights are the run's, whatever they come from
expect 0 "$FERRY" pack run out=float.ferry precision=fp32
for model in float.ferry ctranslate2 tensorflow safetensors; do
    expect 0 "$FERRY" export $model to=safetensors out=again
    cmp -s safetensors/model.safetensors again/model.safetensors || fail "$model has other weights"
    rm -r again
done
echo "Free as the river" >licence.txt
expect 0 "$FERRY" pack run out=small.ferry precision=int8 licence=licence.txt
expect 0 "$FERRY" export small.ferry to=ctranslate2 out=small
out_has 'come from a packed model in int8'
grep -q 'come from a packed model in int8' small/README.md || fail "README.md does not say what int8 took"

cmp -s licence.txt small/LICENCE || fail "the licence is not there"
[ ! -e ctranslate2/LICENCE ] || fail "a run has no licence"

# a tokenizer for each side stays one, in a run directory too
expect 0 "$FERRY" prepare source=train.en target=train.de out=other vocab_size=70 measure=false
python3 "$ROOT/tests/cli/marian_model.py" two data/vocab other/vocab
expect 0 "$FERRY" translate two sources
cp .out said
for to in safetensors tensorflow; do
    expect 0 "$FERRY" export two to=$to out=two-$to
    expect 0 "$FERRY" translate two-$to sources
    cmp -s .out said || fail "with two tokenizers $to translates otherwise"
done
[ -e two-tensorflow/vocab.target.model ] || fail "the tokenizer of targets is not there"
expect 0 "$FERRY" pack two-tensorflow out=two.ferry precision=fp32 pairs=0
expect 0 "$FERRY" translate two.ferry sources
cmp -s .out said || fail "packed, a model with two tokenizers translates otherwise"

# the moving average, a checkpoint by name, and a file for import
expect 0 "$FERRY" export run to=tensorflow out=named checkpoint=last
cmp -s tensorflow/checkpoint named/checkpoint || fail "another checkpoint"
expect 0 "$FERRY" import ctranslate2 out=back.ferry precision=fp32
"$FERRY" translate back.ferry <sources >got 2>/dev/null
cmp -s want got || fail "the imported export translates otherwise"

# types of numbers
for type in int8 int16 float16 bfloat16 int8_float32 int8_float16 int8_bfloat16; do
    expect 0 "$FERRY" export run to=ctranslate2 out=typed quantization=$type
    expect 0 "$FERRY" translate typed <sources
    [ "$(stat -c %s typed/model.bin)" -lt "$(stat -c %s ctranslate2/model.bin)" ] || fail "$type takes as much"
    rm -r typed
done
for to in huggingface safetensors; do
    expect 0 "$FERRY" export run to=$to out=typed quantization=bfloat16
    expect 0 "$FERRY" translate typed <sources
    rm -r typed
    refuses 2 'is written in float32|float16|bfloat16' "$FERRY" export run to=$to out=typed quantization=int8
done

# mistakes
refuses 2 'which model?' "$FERRY" export to=ctranslate2 out=x
refuses 2 'out is not set' "$FERRY" export run
refuses 2 'something is there already' "$FERRY" export run out=ctranslate2
refuses 2 'want one of' "$FERRY" export run to=onnx out=x
refuses 3 'nowhere' "$FERRY" export nowhere out=x
[ ! -e x ] || fail "a mistake left something"
