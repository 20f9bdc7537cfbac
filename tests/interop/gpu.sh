# NVIDIA's compilers take the GPU kernels without a warning and without spilling: nvcc for
# every architecture that it knows, NVRTC 12 for P100 and V100; docs/gpu.md says what the
# kernels take, and the program carries what was compiled.
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || skip "nvcc is not installed"
tools=$ROOT/tools

# half is the storage with the most code of its own; the build compiles all three
expect 0 "$nvcc" -fatbin -arch=all -Werror all-warnings -DSTORAGE=1 -I "$ROOT/src" \
    -x cu "$ROOT/src/device/gpu/program.h" -o all.fatbin
expect 0 "$PYTHON" "$ROOT/tests/interop/fatbin.py" all.fatbin
out_has 'sm_75 cubin'
out_has 'sm_120 cubin'
expect 0 "$PYTHON" "$tools/gpu_resources.py" --docs "$ROOT/docs/gpu.md" 75 80 90
expect 0 "$PYTHON" "$tools/gpu_roofline.py" --docs "$ROOT/docs/gpu.md"

carried=$(dirname "$FERRY")
for storage in fp32 fp16 bf16; do
    expect 0 "$PYTHON" "$ROOT/tests/interop/fatbin.py" "$carried/$storage.fatbin"
    for image in 'sm_75 cubin' 'sm_80 cubin' 'sm_90 cubin' 'sm_90 ptx'; do
        out_has "$image"
    done
done

got=0
"$PYTHON" "$tools/gpu_nvrtc.py" --out old 60 70 >.out 2>.err || got=$?
last='gpu_nvrtc.py 60 70'
if [ "$got" -eq 77 ]; then
    skip "kernels for sm_60 and sm_70: NVRTC 12 is not installed"
fi
[ "$got" -eq 0 ] || fail "status $got"
expect 0 "$PYTHON" "$tools/gpu_resources.py" --docs "$ROOT/docs/gpu.md" 60 70
expect 0 "$PYTHON" "$tools/gpu_nvrtc.py" --out image --images 70
[ "$(od -An -c -N 4 image/fp16.fatbin | tr -d ' ')" = '177ELF' ] || fail "no cubin"
# a source that warns is refused
mkdir -p copy/tools copy/src/device
cp "$tools/gpu_nvrtc.py" copy/tools/
cp -r "$ROOT/src/device/gpu" copy/src/device/
echo 'FN void warned(void) { int unused_here; }' >>copy/src/device/gpu/program.h
library=$(cd "$ROOT" && "$PYTHON" -c 'import sys; sys.path.insert(0, "tools")
import gpu_nvrtc; print(gpu_nvrtc.find_library())')
expect 1 "$PYTHON" copy/tools/gpu_nvrtc.py --library "$library" --storage fp32 70
err_has 'a warning'
