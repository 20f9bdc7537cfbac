"""Environments that hold a peer to the instruction set of one of Ferry's devices.

PyTorch (its own kernels and those that TorchInductor compiles), oneDNN, MKL and OpenBLAS each read a
variable of their own; Marian multiplies by MKL or oneDNN. cpu-avx512 keeps out the matrix unit alone.
"""
import os

DEVICES = ["cpu", "cpu-avx512", "cpu-avx2"]
LIMITS = {
    "cpu": {},
    "cpu-avx512": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16", "DNNL_MAX_CPU_ISA": "AVX512_CORE_BF16",
                   "MKL_ENABLE_INSTRUCTIONS": "AVX512", "OPENBLAS_CORETYPE": "SkylakeX"},
    "cpu-avx2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2",
                 "MKL_ENABLE_INSTRUCTIONS": "AVX2", "OPENBLAS_CORETYPE": "Haswell"},
}


def environment(device):
    """Ours without what other limits may have set, and with those of the device."""
    names = {name for limits in LIMITS.values() for name in limits}
    return {k: v for k, v in os.environ.items() if k not in names} | LIMITS[device]
