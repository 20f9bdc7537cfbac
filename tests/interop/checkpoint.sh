# TensorFlow reads our checkpoints, and we read TensorFlow's.
"$PYTHON" -c 'import tensorflow' 2>/dev/null || skip "tensorflow is not installed"
peers=$ROOT/tests/interop
. "$peers/small_run.bash"

expect 0 "$PYTHON" "$peers/tensorflow_bundle.py" run/model.ckpt-6 --meta

# The same weights, written by TensorFlow without our sidecar, are the same model.
expect 0 "$FERRY" eval run checkpoint=run/model.ckpt-6 bleu=false
grep '^loss' .out >ours
mkdir foreign
expect 0 "$PYTHON" "$peers/tensorflow_save.py" foreign/model.ckpt-6 --like run/model.ckpt-6
expect 0 "$FERRY" eval run checkpoint=foreign/model.ckpt-6 bleu=false
grep '^loss' .out | cmp - ours || fail "TensorFlow's checkpoint gave another loss"
head -n 3 corpus/test.en >three
expect 0 "$FERRY" translate run three checkpoint=foreign/model.ckpt-6
[ "$(wc -l <.out)" -eq 3 ] || fail "three lines in, three lines out"

# Transformer-base with fresh weights has the reference's names, shapes and file sizes.
expect 0 "$FERRY" train "$ROOT/configs/base.yaml" data=data run=base max_steps=0
expect 0 "$PYTHON" "$peers/tensorflow_bundle.py" base/model.ckpt-0 --base --meta

# The same in mixed precision; a small model of it that TensorFlow wrote again is the same.
mixed=(precision=fp16 loss_scaling=backoff)
expect 0 "$FERRY" train "$ROOT/configs/base.yaml" data=data run=mixed "${mixed[@]}" max_steps=0
expect 0 "$PYTHON" "$peers/tensorflow_bundle.py" mixed/model.ckpt-0 --mixed-base --meta
out_has '121 weights are their masters, rounded'
rm -r mixed base
expect 0 "$FERRY" train data=data run=half d_model=32 d_ff=64 heads=2 encoder_layers=1 \
    decoder_layers=1 max_steps=5 eval_every=0 eval_bleu=false "${mixed[@]}"
expect 0 "$PYTHON" "$peers/tensorflow_bundle.py" half/model.ckpt-5 --meta
mkdir foreign-half
expect 0 "$PYTHON" "$peers/tensorflow_save.py" foreign-half/model.ckpt-5 --like half/model.ckpt-5
for prefix in half foreign-half; do
    expect 0 "$FERRY" eval half checkpoint=$prefix/model.ckpt-5 bleu=false
    grep '^loss' .out >$prefix.loss
done
cmp half.loss foreign-half.loss || fail "TensorFlow's mixed checkpoint gave another loss"
