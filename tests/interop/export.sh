# ctest: slow
# The programs that `ferry export` writes for load what it wrote, and translate as Ferry does.
for package in ctranslate2 transformers torch pymarian safetensors sentencepiece; do
    "$PYTHON" -c "import $package" 2>/dev/null || skip "$package is not installed"
done
export OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore

# a model of the reference's architecture, trained until it translates
expect 0 "$FERRY" sample text
expect 0 "$FERRY" prepare source=text/train.en target=text/train.de valid_source=text/valid.en \
    valid_target=text/valid.de out=data vocab_size=2000 measure=false
expect 0 "$FERRY" train "$ROOT/configs/demo.yaml" data=data run=run max_steps=700 eval_every=0
head -500 text/test.en >sources
head -500 text/test.de >targets

# models of random weights, as the others' own libraries make them
expect 0 "$PYTHON" "$ROOT/tests/interop/export_models.py" run/vocab.model text/train.en models

# out MODEL PROGRAM [KEY=VALUE...]: in the directory `out`
out() { rm -rf out; expect 0 "$FERRY" export "$1" to="$2" out=out "${@:3}"; }
# same MODEL PROGRAM [OPTION...]
same()
{
    out "$1" "$2"
    expect 0 "$PYTHON" "$ROOT/tests/interop/export_check.py" "$FERRY" "$2" "$1" out sources targets "${@:3}"
    tail -n 1 "$WORK/.out"
}

same run ctranslate2 bos
same run huggingface bos
for model in huggingface huggingface2 marian marian2 ctranslate2; do
    same "models/$model" ctranslate2
    same "models/$model" huggingface
done
same models/marian marian
same models/marian2 marian

# the output has a table of its own
out models/marian safetensors
mv out untied
cat >untie.py <<'END'
import json
import numpy
from safetensors.numpy import load_file, save_file

with open("untied/config.json") as f:
    config = json.load(f)
weights = load_file("untied/model.safetensors")
shape = config["vocab_size"], config["d_model"]
weights["ForwardPass/transformer_decoder/output/weights"] = (
    numpy.random.default_rng(3).normal(size=shape) / 10).astype(numpy.float32)
save_file(weights, "untied/model.safetensors", {"format": "pt"})
with open("untied/config.json", "w") as f:
    json.dump(config | {"tables": "inputs"}, f)
END
expect 0 "$PYTHON" untie.py
for program in ctranslate2 huggingface marian; do
    same untied $program
done

# the snippet of each README.md runs as it stands, and what it prints is a translation
snippet() { awk '/^```python/ { on = 1; next } /^```/ { if (on) exit } on' "$1/README.md" >"$1/snippet.py"; }
# translates N: sentences
translates()
{
    head -"$1" sources >"$WORK/.in"
    snippet out
    expect 0 bash -c "cd out && '$PYTHON' snippet.py"
    cp "$WORK/.out" said
}
for program in ctranslate2 huggingface; do
    out run $program
    translates 50
    score=$("$FERRY" score --score-only <(head -50 targets) said)
    echo "README.md of $program: BLEU $score of 50 sentences"
    awk "BEGIN { exit !($score >= 50) }" || fail "the snippet's translations have BLEU $score"
done
out models/huggingface huggingface
translates 2
out models/marian marian
translates 50
out run safetensors
translates 1
grep -q 'ForwardPass/transformer_decoder/layer_normalization/layer_norm_scale float32 (128,)' said ||
    fail "safetensors has no norm at its end"
if "$PYTHON" -c 'import tensorflow' 2>/dev/null; then
    out run tensorflow
    translates 1
    grep -q 'transformer_decoder/layer_normalization/layer_norm_scale' said || fail "TensorFlow sees no norm"
fi

# numbers in eight and sixteen bits are those of CTranslate2's own converter, and cost little
out run ctranslate2
mv out whole
for type in int8 int16 float16 bfloat16 int8_float32 int8_float16 int8_bfloat16; do
    out run ctranslate2 quantization=$type
    expect 0 "$PYTHON" "$ROOT/tests/interop/export_types.py" whole/model.bin out/model.bin $type
done
"$FERRY" translate run split=false <sources >said 2>/dev/null
full=$("$FERRY" score --score-only targets said)
out run ctranslate2 quantization=int8
"$FERRY" translate out split=false <sources >said 2>/dev/null
ours=$("$FERRY" score --score-only targets said)
bleu()
{
    snippet "$1"
    (cd "$1" && "$PYTHON" snippet.py <../sources) >said && "$FERRY" score --score-only targets said
}
theirs=$(bleu out) theirs_full=$(bleu whole)
echo "BLEU in float and int8: Ferry $full, $ours; CTranslate2 $theirs_full, $theirs"
awk "BEGIN { exit !($ours >= $full - 0.3 && $theirs >= $theirs_full - 0.3) }" ||
    fail "int8 costs more than 0.3 BLEU"
