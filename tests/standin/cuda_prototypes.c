/*
 * A compile-time check, built where NVIDIA's headers are: what driver.h says of their
 * functions, structs and constants is what their headers say. Pointers to their opaque
 * structs are void * there; those functions are compared by what they return and by
 * being callable with our arguments. NVML's header does not come with the toolkit's
 * compiler and is compared where it is.
 */
/* Names mean what the library exports under them, not the newest version of it. */
#define __CUDA_API_VERSION_INTERNAL
#include <cublasLt.h>
#include <cuda.h>

#include "device/cuda/driver.h"
#include "device/cuda/nvml.h"

#define SAME(name)                                                                       \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&(name)),                     \
                                                __typeof__(((struct driver *)0)->name)), \
                   #name " has another prototype");
#ifdef cuEventElapsedTime
#error "cuda.h gives names another meaning"
#endif
SAME(cuInit)
SAME(cuDriverGetVersion)
SAME(cuDeviceGetCount)
SAME(cuDeviceGet)
SAME(cuDeviceGetName)
SAME(cuDeviceGetPCIBusId)
SAME(cuDeviceGetAttribute)
SAME(cuDevicePrimaryCtxRetain)
SAME(cuDevicePrimaryCtxRelease_v2)
SAME(cuCtxSetCurrent)
SAME(cuMemGetInfo_v2)
SAME(cuMemAlloc_v2)
SAME(cuMemFree_v2)
SAME(cuMemHostAlloc)
SAME(cuMemFreeHost)
SAME(cuMemsetD8Async)
SAME(cuMemcpyHtoDAsync_v2)
SAME(cuMemcpyDtoHAsync_v2)
SAME(cuStreamCreate)
SAME(cuStreamDestroy_v2)
SAME(cuStreamSynchronize)
SAME(cuStreamWaitEvent)
SAME(cuEventCreate)
SAME(cuEventDestroy_v2)
SAME(cuEventQuery)
SAME(cuEventElapsedTime)
SAME(cuEventRecord)
SAME(cuModuleLoadData)
SAME(cuModuleUnload)
SAME(cuModuleGetFunction)
SAME(cuLaunchKernel)
SAME(cuGetErrorName)
SAME(cublasLtCreate)
SAME(cublasLtDestroy)

/* Never called: each line compiles only if NVIDIA's function takes what we pass. */
void cuda_prototypes(cublasLtHandle_t h, cublasLtMatmulDesc_t desc,
                     cublasLtMatrixLayout_t layout, cublasLtMatmulPreference_t pref,
                     cublasLtMatmulHeuristicResult_t *choice, void *p, size_t n,
                     int *found, CUstream s);
void cuda_prototypes(cublasLtHandle_t h, cublasLtMatmulDesc_t desc,
                     cublasLtMatrixLayout_t layout, cublasLtMatmulPreference_t pref,
                     cublasLtMatmulHeuristicResult_t *choice, void *p, size_t n,
                     int *found, CUstream s)
{
    cublasStatus_t r = cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    r |= cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, p, n);
    r |= cublasLtMatmulDescDestroy(desc);
    r |= cublasLtMatrixLayoutCreate(&layout, CUDA_R_16F, (uint64_t)n, (uint64_t)n,
                                    (int64_t)n);
    r |= cublasLtMatrixLayoutDestroy(layout);
    r |= cublasLtMatmulPreferenceCreate(&pref);
    r |= cublasLtMatmulPreferenceSetAttribute(
        pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, p, n);
    r |= cublasLtMatmulPreferenceDestroy(pref);
    r |= cublasLtMatmulAlgoGetHeuristic(h, desc, layout, layout, layout, layout, pref, 1,
                                        choice, found);
    r |= cublasLtMatmul(h, desc, p, p, layout, p, layout, p, p, layout, p, layout,
                        &choice->algo, p, n, s);
    (void)r;
}

#define EQUAL(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
EQUAL(DRIVER_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
EQUAL(DRIVER_NO_TIMING, CU_EVENT_DISABLE_TIMING);
EQUAL(DRIVER_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
EQUAL(DRIVER_NO_BINARY, CUDA_ERROR_NO_BINARY_FOR_GPU);
EQUAL(DRIVER_NEWER_PTX, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
EQUAL(DRIVER_NOT_READY, CUDA_ERROR_NOT_READY);
EQUAL(DRIVER_CC_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
EQUAL(DRIVER_CC_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
#define X(name, code) EQUAL(code, CUBLAS_STATUS_##name);
DRIVER_BLAS_CODES(X)
#undef X
EQUAL(DRIVER_R_32F, CUDA_R_32F);
EQUAL(DRIVER_R_16F, CUDA_R_16F);
EQUAL(DRIVER_R_16BF, CUDA_R_16BF);
EQUAL(DRIVER_COMPUTE_32F, CUBLAS_COMPUTE_32F);
EQUAL(DRIVER_TRANS_A, CUBLASLT_MATMUL_DESC_TRANSA);
EQUAL(DRIVER_TRANS_B, CUBLASLT_MATMUL_DESC_TRANSB);
EQUAL(DRIVER_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE);
EQUAL(DRIVER_BIAS, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
EQUAL(DRIVER_BIAS_TYPE, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
EQUAL(DRIVER_RELU_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS);
EQUAL(DRIVER_PREF_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
EQUAL(DRIVER_PREF_REDUCTIONS, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
EQUAL(DRIVER_REDUCE_IN_32F,
      CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_NONE);
EQUAL(DRIVER_PREF_ALIGN_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
EQUAL(sizeof(struct driver_choice), sizeof(cublasLtMatmulHeuristicResult_t));
EQUAL(offsetof(struct driver_choice, workspace_bytes),
      offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
EQUAL(offsetof(struct driver_choice, state),
      offsetof(cublasLtMatmulHeuristicResult_t, state));

#if __has_include(<nvml.h>)
#include <nvml.h>

void cuda_prototypes_nvml(nvmlDevice_t card, nvmlUtilization_t *rates,
                          nvmlMemory_t *memory, unsigned *x);
void cuda_prototypes_nvml(nvmlDevice_t card, nvmlUtilization_t *rates,
                          nvmlMemory_t *memory, unsigned *x)
{
    struct nvmlDevice_st *same = card;
    nvmlReturn_t r = nvmlInit_v2();

    r |= nvmlDeviceGetHandleByPciBusId_v2("", &same);
    r |= nvmlDeviceGetUtilizationRates(same, rates);
    r |= nvmlDeviceGetPowerUsage(same, x);
    r |= nvmlDeviceGetEnforcedPowerLimit(same, x);
    r |= nvmlDeviceGetMemoryInfo(same, memory);
    r |= nvmlDeviceGetClockInfo(same, NVML_CLOCK_SM, x);
    r |= nvmlDeviceGetMaxClockInfo(same, NVML_CLOCK_SM, x);
    (void)r;
}
EQUAL(NVML_OF_PROCESSORS, NVML_CLOCK_SM);
EQUAL(sizeof(struct nvml_rates), sizeof(nvmlUtilization_t));
EQUAL(sizeof(struct nvml_memory), sizeof(nvmlMemory_t));
EQUAL(offsetof(struct nvml_memory, used), offsetof(nvmlMemory_t, used));
#endif
