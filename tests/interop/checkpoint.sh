# TensorFlow reads our checkpoints, and we read TensorFlow's.
"$PYTHON" -c 'import tensorflow' 2>/dev/null || exit 77
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
