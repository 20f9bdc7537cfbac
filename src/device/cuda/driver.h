/*
 * driver - what we call of libcuda and libcublasLt, opened when first needed.
 *
 * The prototypes are written here, so that every build has the CUDA device, and compared
 * with NVIDIA's headers where those are installed (tests/standin/cuda_prototypes.c).
 * Enums of theirs are unsigned here, as compilers make them.
 *
 * Owns: nothing that is ever given back. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;
struct cublasLtContext;

typedef unsigned long long driver_ptr;

/* name, arguments; each gives an unsigned, 0 for success */
/* clang-format off */
#define DRIVER_CUDA_LIST(D)                                                            \
    D(cuInit, (unsigned flags))                                                        \
    D(cuDriverGetVersion, (int *version))                                              \
    D(cuDeviceGetCount, (int *n))                                                      \
    D(cuDeviceGet, (int *device, int i))                                               \
    D(cuDeviceGetName, (char *name, int n, int device))                                \
    D(cuDeviceGetPCIBusId, (char *bus, int n, int device))                             \
    D(cuDeviceGetAttribute, (int *value, unsigned what, int device))                   \
    D(cuDevicePrimaryCtxRetain, (struct CUctx_st **context, int device))               \
    D(cuDevicePrimaryCtxRelease_v2, (int device))                                      \
    D(cuCtxSetCurrent, (struct CUctx_st *context))                                     \
    D(cuMemGetInfo_v2, (size_t *left, size_t *all))                                    \
    D(cuMemAlloc_v2, (driver_ptr *p, size_t n))                                        \
    D(cuMemFree_v2, (driver_ptr p))                                                    \
    D(cuMemHostAlloc, (void **p, size_t n, unsigned flags))                            \
    D(cuMemFreeHost, (void *p))                                                        \
    D(cuMemsetD8Async, (driver_ptr p, unsigned char x, size_t n, struct CUstream_st *s)) \
    D(cuMemcpyHtoDAsync_v2, (driver_ptr to, const void *from, size_t n, struct CUstream_st *s)) \
    D(cuMemcpyDtoHAsync_v2, (void *to, driver_ptr from, size_t n, struct CUstream_st *s)) \
    D(cuStreamCreate, (struct CUstream_st **s, unsigned flags))                        \
    D(cuStreamDestroy_v2, (struct CUstream_st *s))                                     \
    D(cuStreamSynchronize, (struct CUstream_st *s))                                    \
    D(cuStreamWaitEvent, (struct CUstream_st *s, struct CUevent_st *e, unsigned flags)) \
    D(cuEventCreate, (struct CUevent_st **e, unsigned flags))                          \
    D(cuEventDestroy_v2, (struct CUevent_st *e))                                       \
    D(cuEventQuery, (struct CUevent_st *e))                                            \
    D(cuEventElapsedTime, (float *ms, struct CUevent_st *from, struct CUevent_st *to)) \
    D(cuEventRecord, (struct CUevent_st *e, struct CUstream_st *s))                    \
    D(cuModuleLoadData, (struct CUmod_st **m, const void *image))                      \
    D(cuModuleUnload, (struct CUmod_st *m))                                            \
    D(cuModuleGetFunction, (struct CUfunc_st **f, struct CUmod_st *m, const char *name)) \
    D(cuLaunchKernel, (struct CUfunc_st *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
                       unsigned shared, struct CUstream_st *s, void **params, void **extra)) \
    D(cuGetErrorName, (unsigned code, const char **name))

#define DRIVER_BLAS_LIST(D)                                                            \
    D(cublasLtCreate, (struct cublasLtContext **h))                                    \
    D(cublasLtDestroy, (struct cublasLtContext *h))                                    \
    D(cublasLtMatmulDescCreate, (void **desc, unsigned compute, unsigned scale))       \
    D(cublasLtMatmulDescDestroy, (void *desc))                                         \
    D(cublasLtMatmulDescSetAttribute, (void *desc, unsigned what, const void *value, size_t n)) \
    D(cublasLtMatrixLayoutCreate, (void **layout, unsigned type, uint64_t rows, uint64_t cols, int64_t ld)) \
    D(cublasLtMatrixLayoutDestroy, (void *layout))                                     \
    D(cublasLtMatmulPreferenceCreate, (void **pref))                                   \
    D(cublasLtMatmulPreferenceDestroy, (void *pref))                                   \
    D(cublasLtMatmulPreferenceSetAttribute, (void *pref, unsigned what, const void *value, size_t n)) \
    D(cublasLtMatmulAlgoGetHeuristic, (struct cublasLtContext *h, void *desc, void *a, void *b, void *c, void *d, \
                                       void *pref, int n, struct driver_choice *choice, int *found)) \
    D(cublasLtMatmul, (struct cublasLtContext *h, void *desc, const void *alpha, const void *pa, void *a, const void *pb, \
                       void *b, const void *beta, const void *pc, void *c, void *pd, void *d, const void *algorithm, \
                       void *workspace, size_t n_workspace, struct CUstream_st *s))
/* clang-format on */

/* cublasLtMatmulHeuristicResult_t */
struct driver_choice {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    unsigned state;
    float waves;
    int reserved[4];
};

/* What cuBLASLt returns, and its name there behind CUBLAS_STATUS_ */
#define DRIVER_BLAS_CODES(X) \
    X(NOT_INITIALIZED, 1)    \
    X(ALLOC_FAILED, 3)       \
    X(INVALID_VALUE, 7)      \
    X(ARCH_MISMATCH, 8)      \
    X(MAPPING_ERROR, 11)     \
    X(EXECUTION_FAILED, 13)  \
    X(INTERNAL_ERROR, 14)    \
    X(NOT_SUPPORTED, 15)     \
    X(LICENSE_ERROR, 16)

#define DRIVER_BLAS_CODE(name, code) DRIVER_##name = (code),
enum { DRIVER_BLAS_CODES(DRIVER_BLAS_CODE) };

/* Constants of NVIDIA's headers, under our names: cuda_prototypes.c compares them too. */
enum {
    DRIVER_NON_BLOCKING = 1, /* streams do not wait for the default one */
    DRIVER_NO_TIMING = 2,    /* events only order */
    DRIVER_OUT_OF_MEMORY = 2,
    DRIVER_NO_BINARY = 209, /* for this card */
    DRIVER_NEWER_PTX = 222, /* than the driver */
    DRIVER_NOT_READY = 600,
    DRIVER_CC_MAJOR = 75,
    DRIVER_CC_MINOR = 76,
    DRIVER_R_32F = 0,
    DRIVER_R_16F = 2,
    DRIVER_R_16BF = 14,
    DRIVER_COMPUTE_32F = 68,
    DRIVER_TRANS_A = 3,
    DRIVER_TRANS_B = 4,
    DRIVER_EPILOGUE = 7, /* what follows a product */
    DRIVER_BIAS = 8,
    DRIVER_BIAS_TYPE = 26,
    DRIVER_RELU_BIAS = 6,
    DRIVER_PREF_WORKSPACE = 1,
    DRIVER_PREF_REDUCTIONS = 3,
    DRIVER_REDUCE_IN_32F = 2, /* or not at all, which is 0 */
    DRIVER_PREF_ALIGN_A = 5
};

#define DRIVER_MEMBER(name, args) unsigned(*name) args;
struct driver {
    DRIVER_CUDA_LIST(DRIVER_MEMBER)
    DRIVER_BLAS_LIST(DRIVER_MEMBER)
};

/* Whether libcuda is there. */
bool driver_is_here(void);

/* ERR_DEVICE, with what is missing, on a machine without NVIDIA's driver or cuBLASLt. Of
 * two versions of cuBLASLt it is 13, or 12 where a card is older than sm_75. */
status driver_open(const struct driver **d, struct err *err);
