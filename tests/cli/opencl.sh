# ctest: slow
# Training on an OpenCL device: the CPU's losses, its translations, a resume to the bit.
. "$ROOT/tests/cli/tiny.bash"
losses() { sed -n 's/.*"event":"step".*"loss":\([0-9.e+-]*\).*/\1/p' "$1/run.jsonl"; }

if ! "$FERRY" doctor --device opencl >doctor.txt 2>&1; then
    grep -q 'no OpenCL loader\|knows no device\|built without it' doctor.txt ||
        fail "doctor: $(tail -n 3 doctor.txt)"
    skip "$(grep -m 1 'no OpenCL loader\|knows no device\|built without it' doctor.txt)"
fi
grep -q '^all checks passed' doctor.txt || fail "doctor did not finish"

tiny_data data
options=(data=data "${tiny[@]}" log_every=1 learning_rate=0.05)
for device in cpu opencl; do
    expect 0 "$FERRY" train run=$device device=$device "${options[@]}" max_steps=30
    expect 0 "$FERRY" translate $device test.en device=$device
    cp .out $device.translated
done
[ "$(losses cpu | wc -l)" -eq 30 ] || fail "no 30 losses in run.jsonl"
paste <(losses cpu) <(losses opencl) |
    awk '{ d = $1 - $2; if (d < 0) d = -d; if (!(d <= 1e-4 * $1)) exit 1 }' ||
    fail "losses differ from the CPU's by more than 1e-4"
cmp cpu.translated opencl.translated || fail "other translations than on the CPU"

expect 0 "$FERRY" train run=parts device=opencl "${options[@]}" max_steps=12
expect 0 "$FERRY" train run=parts device=opencl "${options[@]}" max_steps=30
cmp {opencl,parts}/model.ckpt-30.data-00000-of-00001 || fail "resume is not exact"

# mixed precision, stored in 16 bits here and emulated on the CPU
for precision in fp16 bf16; do
    mixed=(precision=$precision loss_scaling=backoff)
    for device in cpu opencl; do
        expect 0 "$FERRY" train run=$device-$precision device=$device "${options[@]}" \
            "${mixed[@]}" max_steps=10
    done
    paste <(losses cpu-$precision) <(losses opencl-$precision) |
        awk '{ d = $1 - $2; if (d < 0) d = -d; if (!(d <= 2e-2 * $1)) exit 1 }' ||
        fail "$precision: losses differ from the emulation's by more than 2 %"
done

# two ranks, each with a device of its own (here it is the same one)
. "$ROOT/tests/cli/two_ranks.bash"
expect 0 "${launch[@]}" "$FERRY" train run=two device=opencl "${options[@]}" max_steps=30 wire=fp32
paste <(losses opencl) <(losses two) | awk '
    { d = $1 / $2 - 1; if (d < 0) d = -d }
    d > (NR <= 10 ? 1e-5 : 1e-3) { exit 1 }
    END { if (NR != 30) exit 1 }' || fail "two ranks train differently from one"
grep -q '"event":"ranks".*"rank":1' two/run.jsonl || fail "rank 1 is not in the log"
