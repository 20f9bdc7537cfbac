# Mixed precision, emulated: options, an overflow that costs an update, what is logged.
. "$ROOT/tests/cli/tiny.bash"
tiny_data data
options=(data=data "${tiny[@]}" log_every=1 summary_every=1 max_steps=12)

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
    expect 0 "$FERRY" inspect $rule/events.out.tfevents.*
    grep 'Loss_Optimization/loss_scale' .out | grep -qw 12 || fail "$rule: not 12 points in TensorBoard"
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

# two ranks train as one does; an overflow on both costs both their update
. "$ROOT/tests/cli/two_ranks.bash"
losses() { sed -n 's/.*"event":"step".*"loss":\([0-9.]*\),.*/\1/p' "$1/run.jsonl"; }
expect 0 "${launch[@]}" "$FERRY" train run=two "${options[@]}" precision=fp16 \
    loss_scaling=backoff wire=fp32
[ "$(losses two | wc -l)" -eq 12 ] || fail "no 12 losses in run.jsonl"
paste <(losses backoff) <(losses two) |
    awk '{ d = $1 - $2; if (d < 0) d = -d; if (!(d <= 1e-2 * $1)) exit 1 }' ||
    fail "two ranks train differently from one"
expect 8 "${launch[@]}" "$FERRY" train run=huge-two "${options[@]}" precision=fp16 \
    loss_scaling=static loss_scale=1e9 skip_limit=3
err_has 'updates in a row were not finite'
[ "$(grep -c '"event":"skip"' huge-two/run.jsonl)" -eq 3 ] || fail "not three skipped updates"
! grep -q '"event":"step"' huge-two/run.jsonl || fail "a skipped update was counted"
