# A card that fails in the middle of a training, whatever call tells it first, ends the run
# with one sentence that names the card and what it was doing; nothing hangs.
standin=$(dirname "$FERRY")/standin
if [ ! -e "$standin/libcuda.so.1" ]; then
    skip "no stand-ins for NVIDIA's libraries in $standin"
fi
. "$ROOT/tests/cli/tiny.bash"
tiny_data data
export LD_LIBRARY_PATH=$standin FERRY_CUDA_IMAGE=$standin

# fails CALL:K TEXT: the K-th call of CALL fails
fails()
{
    FERRY_STANDIN_FAIL=$1 expect 6 timeout 60 "$FERRY" train run="$1" data=data device=cuda \
        "${tiny[@]}" max_steps=3
    [ "$(grep -c '^ferry' .err)" -eq 1 ] || fail "$1: not one sentence"
    tail -n 1 .err | grep -qE "^ferry train: .*stand-in.*" || fail "$1: the card is not named"
    err_has "$2"
}
fails cuModuleLoadData:1 'does not take'
fails cuStreamCreate:2 'cannot open stand-in'
fails cuMemsetD8Async:3 'stand-in'
fails cuMemcpyHtoDAsync_v2:3 'failed in an upload'
fails cuMemcpyDtoHAsync_v2:1 'failed in a download'
fails cuModuleGetFunction:4 'CUDA_ERROR_ILLEGAL_ADDRESS'
fails cuLaunchKernel:40 'CUDA_ERROR_ILLEGAL_ADDRESS'
fails cuStreamSynchronize:3 'CUDA_ERROR_ILLEGAL_ADDRESS'
fails cuEventRecord:5 'failed in an event'
fails cuStreamWaitEvent:5 'failed in a wait'
fails cublasLtMatmulAlgoGetHeuristic:7 'failed in a product'
fails cublasLtMatmul:20 'failed in a product'

# the same while the doctor examines: the sentence names the kernel
FERRY_STANDIN_FAIL=cublasLtMatmul:3 expect 6 timeout 60 "$FERRY" doctor --device cuda
err_has 'gemm_nn in bf16: '
