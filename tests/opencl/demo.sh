# The demo on an OpenCL device beside the CPU: the first 30 losses, a resume to the bit, and
# the translations of the model that the demo trains (on the CPU: PoCL would take an hour).
losses() { sed -n 's/.*"event":"step".*"loss":\([0-9.e+-]*\).*/\1/p' "$1/run.jsonl"; }
expect 0 "$FERRY" doctor --device opencl

expect 0 "$FERRY" sample text
expect 0 "$FERRY" prepare source=text/train.en target=text/train.de valid_source=text/valid.en \
    valid_target=text/valid.de test_source=text/test.en test_target=text/test.de out=data \
    vocab_size=2000
demo=("$ROOT/configs/demo.yaml" data=data eval_every=0 eval_bleu=false save_every=0)

for device in cpu opencl; do
    expect 0 "$FERRY" train "${demo[@]}" run=$device device=$device log_every=1 max_steps=30
done
[ "$(losses opencl | wc -l)" -eq 30 ] || fail "no 30 losses in run.jsonl"
paste <(losses cpu) <(losses opencl) | awk '
    { d = $1 / $2 - 1; if (d < 0) d = -d; if (d > most) most = d }
    END { printf "30 steps: losses differ by %.1e at most, relative\n", most; exit !(most <= 1e-4) }' ||
    fail "losses differ from the CPU's by more than 1e-4"

expect 0 "$FERRY" train "${demo[@]}" run=parts device=opencl log_every=1 max_steps=13
expect 0 "$FERRY" train "${demo[@]}" run=parts device=opencl log_every=1 max_steps=30
cmp {opencl,parts}/model.ckpt-30.data-00000-of-00001 || fail "resume is not exact"
echo "13 steps, a resume, 17 steps: the bytes of 30"

expect 0 "$FERRY" train "${demo[@]}" run=whole device=cpu
head -n "${SENTENCES:-200}" text/test.en >some.en
for device in cpu opencl; do
    expect 0 "$FERRY" translate whole some.en device=$device
    cp .out $device.translated
done
cmp {cpu,opencl}.translated || fail "other translations than on the CPU"
echo "$(wc -l <cpu.translated) sentences translated alike, such as: $(head -n 1 cpu.translated)"
