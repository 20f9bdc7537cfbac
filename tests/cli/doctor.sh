# ctest: slow
# `ferry doctor` goes over every kernel in every precision, names the libraries that it has
# opened, and notices numbers that are wrong: on a stand-in of NVIDIA's libraries. Without
# a driver the program starts, and says so.
standin=$(dirname "$FERRY")/standin

if ! ldconfig -p 2>/dev/null | grep -q libcuda.so.1; then
    expect 0 "$FERRY" doctor
    out_has 'no NVIDIA driver here (libcuda.so.1)'
    out_has 'examining cpu'
    out_has 'all checks passed'
    refuses 6 'no NVIDIA driver here (libcuda.so.1); use device = cpu or opencl' \
        "$FERRY" doctor --device cuda
    . "$ROOT/tests/cli/tiny.bash"
    tiny_data data
    refuses 6 'no NVIDIA driver here (libcuda.so.1); use device = cpu or opencl' \
        "$FERRY" train run=run data=data device=cuda "${tiny[@]}" max_steps=1
fi

if [ ! -e "$standin/libcuda.so.1" ]; then
    skip "no stand-ins for NVIDIA's libraries in $standin"
fi
export LD_LIBRARY_PATH=$standin FERRY_CUDA_IMAGE=$standin

# `columns NAME`: the row of a kernel has three numbers
columns()
{
    grep -qE "^  ok    $1 +([0-9.e+-]+ +){2}[0-9.e+-]+$" .out || fail "no row for $1"
}
expect 0 "$FERRY" doctor --device cuda
out_has "$("$FERRY" --version | head -n 1)"
for library in libcuda.so.1 libcublasLt.so.13 libnccl.so.2 libnvidia-ml.so.1; do
    out_has "$standin/$library"
done
out_has 'cuBLASLt says 130000'
for kernel in $(sed -n 's/^    K(\([a-z_]*\),.*/\1/p' "$ROOT/src/device/kernels.h"); do
    case $kernel in
    gemm) for way in nn nt tn tt; do columns gemm_$way && columns gemm_${way}_odd; done ;;
    atten*) for width in 16 32 64 128; do columns "$kernel, $width wide"; done ;;
    *) columns "$kernel" ;;
    esac
done
columns attention_forward_causal
columns attention_backward_causal
for precision in fp32 fp16 bf16; do
    out_has "a small model in $precision"
done
[ "$(grep -c 'ok    loss of update' .out)" -eq 6 ] || fail "no two updates in each precision"

for kernel in adam product squares; do
    FERRY_STANDIN_SPOIL=$kernel expect 1 "$FERRY" doctor --device cuda
    err_has 'of these checks failed on device = cuda'
    case $kernel in
    product) out_has 'BAD   gemm_nt_odd' ;;
    squares) out_has 'BAD   sumsq' ;;
    *) out_has "BAD   $kernel" && out_has 'in x' ;;
    esac
    out_has 'ok    topk'
done
