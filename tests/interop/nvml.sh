# Our prototypes of NVML are those of NVIDIA's header, which comes with neither nvcc nor the
# driver; so is all that tests/standin/cuda_prototypes.c compares where that header is.
headers=$("$PYTHON" - <<'PYTHON'
import pathlib, sys
found = [p for place in sys.path for p in pathlib.Path(place).glob("nvidia/nvml_dev/include")]
sys.exit(print(found[0]) if found else 77)
PYTHON
) || skip "NVML's header is not installed"
compile=("${CC:-cc}" -std=gnu11 -fsyntax-only -Wall -Wextra -Wconversion -Werror
    -I "$ROOT/src" -isystem "$headers")

expect 0 "${compile[@]}" "$ROOT/tests/interop/nvml_prototypes.c"
# another prototype is noticed
sed 's/struct nvmlDevice_st \*card, unsigned \*mw/struct nvmlDevice_st *card, long *mw/' \
    "$ROOT/src/device/cuda/nvml.h" >nvml_other.h
sed 's,device/cuda/nvml.h,nvml_other.h,' "$ROOT/tests/interop/nvml_prototypes.c" >other.c
expect 1 "${compile[@]}" -I . other.c
err_has 'nvmlDeviceGetPowerUsage has another prototype'

toolkit=${CUDA_HOME:-/usr/local/cuda}/include
[ ! -e "$toolkit/cublasLt.h" ] ||
    expect 0 "${compile[@]}" -isystem "$toolkit" "$ROOT/tests/standin/cuda_prototypes.c"
