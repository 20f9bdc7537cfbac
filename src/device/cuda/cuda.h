/*
 * cuda - NVIDIA cards through the driver API.
 *
 * Kernels are those of device/gpu, compiled by nvcc when Ferry is built and carried in
 * the binary (FERRY_CUDA_IMAGE=DIR takes fp32.fatbin, fp16.fatbin and bf16.fatbin from
 * there instead); products are cuBLASLt's. Libraries are opened at run time, so that the
 * program starts without a card. Kernels and products use one stream, transfers another;
 * the two are ordered by events alone. A process uses one card, that of its local rank.
 */
#pragma once

#include "device/cuda/driver.h"
#include "device/gpu/gpu.h"

struct str;

/* ERR_DEVICE when there is no driver, no card, or no kernels for it in this build. */
status cuda_open(struct device *d, struct device_options options, struct err *err);

/* Append a line for each card, or one that says what is missing. */
void cuda_describe(struct str *out);

/* ---- for the files of this folder ---- */

enum { CUDA_WORKSPACE = 32 << 20 }; /* bytes for cuBLASLt */

/* A product as cuBLASLt was told of it, and how it will do it. Layers and micro-batches
 * repeat the same few; what was used longest ago makes place for another. */
enum { CUDA_PRODUCTS = 64, PRODUCT_KEY = 11 };

struct product {
    uint64_t key[PRODUCT_KEY];     /* shapes, types, alignments, transpositions */
    void *desc, *pref, *layout[3]; /* of a, b, c as cuBLASLt sees them; NULL: empty */
    struct driver_choice choice;
    bool is_refused; /* it does not do that here */
    uint64_t used;   /* when, as a number of products */
};

struct cuda {
    struct gpu gpu; /* first: a struct gpu * is a struct cuda * */
    const struct driver *api;
    int device;
    enum precision precision;
    struct CUctx_st *context;
    struct CUmod_st *module[2];                   /* by enum mat_type */
    struct CUfunc_st *function[2][N_GPU_KERNELS]; /* found when first launched */
    struct CUstream_st *compute, *copy;
    struct CUevent_st *computed, *copied;
    bool has_computed, has_copied; /* since the other stream last waited */
    struct cublasLtContext *blas;
    driver_ptr workspace;
    struct product product[CUDA_PRODUCTS];
    uint64_t n_products;           /* so far */
    struct nvmlDevice_st *sensors; /* NULL: no NVML */
    char name[128];
};

/* NULL: a device of another kind. */
struct cuda *cuda_state(const struct device *d);

/* What is queued for computing from now on comes after all transfers so far. */
void cuda_compute_after_copy(struct cuda *c);

/* The kernels for one type of storage. */
status cuda_load(struct cuda *c, struct CUmod_st **module, enum precision p,
                 struct err *err);

/* By cuBLASLt; false when it does not take these. */
bool cuda_gemm(struct gpu *g, struct mat c, struct mat a, struct mat b, bool ta, bool tb,
               float alpha, float beta);
bool cuda_gemm_relu(struct gpu *g, struct mat h, struct mat a, struct mat b,
                    struct mat bias);

/* Of all products; before cuBLASLt is closed. */
void cuda_forget_products(struct cuda *c);

/* The driver's name of a code of its own. */
const char *cuda_error_name(const struct driver *api, unsigned code);

/* Keep the first failure of a call. */
void cuda_fail(struct cuda *c, unsigned code, const char *what);

#define ALWAYS(c, what, call)                  \
    do {                                       \
        const unsigned code_ = (c)->api->call; \
        if (code_)                             \
            cuda_fail(c, code_, what);         \
    } while (0)

/* Fails softly: the first failure is kept, and everything after it is skipped. */
#define CALL(c, what, call)              \
    do {                                 \
        if ((c)->gpu.failure.code == OK) \
            ALWAYS(c, what, call);       \
    } while (0)
