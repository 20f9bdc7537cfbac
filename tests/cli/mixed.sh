# Mixed precision, emulated: options, an overflow that costs an update, what is logged.
. "$ROOT/tests/cli/tiny.bash"
tiny_data data
options=(data=data "${tiny[@]}" log_every=1 max_steps=12)

expect 2 "$FERRY" train run=r "${options[@]}" loss_scaling=backoff
err_has 'loss_scaling = backoff needs precision = fp16 or bf16'

# a factor so large that a half overflows: skipped, not counted, then halved
expect 8 "$FERRY" train run=huge "${options[@]}" precision=fp16 loss_scaling=static \
    loss_scale=1e9 skip_limit=3
err_has 'updates in a row were not finite'
grep -q '"event":"skip"' huge/run.jsonl || fail "no skipped update in run.jsonl"
! grep -q '"event":"step"' huge/run.jsonl || fail "a skipped update was counted"

for rule in backoff logmax; do
    expect 0 "$FERRY" train run=$rule "${options[@]}" precision=fp16 loss_scaling=$rule
    [ "$(grep -c '"event":"step".*"loss_scale":' $rule/run.jsonl)" -eq 12 ] || fail "$rule: not logged"
done
grep '"event":"step"' backoff/run.jsonl | grep -vq '"loss_scale":16384' &&
    fail "backoff moved without an overflow"
expect 0 "$FERRY" inspect backoff/model.ckpt-12
out_has 'Loss_Optimization/FP32-master-copy/ForwardPass'
out_has 'float16'
out_has 'Loss_Optimization/Variable_2'
expect 0 "$FERRY" translate backoff test.en

# the scale survives a resume: same bytes as without one
expect 0 "$FERRY" train run=parts "${options[@]}" precision=fp16 loss_scaling=logmax max_steps=5
expect 0 "$FERRY" train run=parts "${options[@]}" precision=fp16 loss_scaling=logmax
cmp {logmax,parts}/model.ckpt-12.data-00000-of-00001 || fail "resume is not exact"
