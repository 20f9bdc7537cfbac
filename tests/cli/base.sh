# ctest: slow
# Transformer-base at 32,768 pieces: the size of the reference's files to the byte.
# Needs about 1.5 GB of memory and 1 GB of disk.
. "$ROOT/tests/cli/tiny.bash"
tiny_data data
expect 0 "$FERRY" train "$ROOT/configs/base.yaml" data=data run=run vocab_size=32768 max_steps=0 \
    memory_mib=300

size() { stat -c %s "run/model.ckpt-0.$1"; }
[ "$(size data-00000-of-00001)" -eq 730570768 ] || fail "the data has $(size data-00000-of-00001) bytes"
[ "$(size index)" -eq 27441 ] || fail "the index has $(size index) bytes"

expect 0 "$FERRY" inspect run/model.ckpt-0 --no-tensors --verify
tr -s ' ' <.out >facts
for fact in 'step 0' 'tensors 558' 'parameters 60,880,896' 'checksums all right' \
    'weights 185 60,880,896 243,523,584' "first moments (Adam's m) 185 60,880,896 243,523,584" \
    "second moments (Adam's v) 185 60,880,896 243,523,584" \
    'counters: step, powers of the betas 3 3 16' 'all 558 182,642,691 730,570,768'; do
    grep -qxF "$fact" facts || fail "inspect does not say '$fact'"
done
rm -rf run

# The same in mixed precision: X in 16 bits, fp32 masters, the scaler's three variables.
expect 0 "$FERRY" train "$ROOT/configs/base.yaml" data=data run=run vocab_size=32768 max_steps=0 \
    memory_mib=300 precision=fp16 loss_scaling=backoff
[ "$(size data-00000-of-00001)" -eq 852267044 ] || fail "the mixed data has $(size data-00000-of-00001) bytes"
[ "$(size index)" -eq 36131 ] || fail "the mixed index has $(size index) bytes"
rm -rf run
