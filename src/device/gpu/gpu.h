/*
 * gpu - the half of a GPU device that does not depend on whose GPU it is.
 *
 * gpu_kernels fills KERNEL_LIST by launching the kernels of program.h; what a vendor's
 * interface must do for that is struct gpu_backend, which device/opencl and device/cuda
 * implement. Everything is queued in order. Numbers for the host (sumsq, maxabs) wait on
 * the device until gpu_deliver, which device_sync calls, brings them all at once; a
 * failure is kept (the first one) and surfaces there too.
 *
 * Owns: scratch memory on the device. Borrows: nothing. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "device/device.h"
#include "device/gpu/args.h"

#define GPU_KERNEL_ID(name, n, args) GPU_##name,
enum gpu_kernel { GPU_KERNEL_LIST(GPU_KERNEL_ID) N_GPU_KERNELS };

extern const char *const gpu_kernel_names[N_GPU_KERNELS];

enum { GPU_BUFFERS = 12, GPU_SHARES = 64, GPU_PARTS = 1 << 19, GPU_NUMBERS = 64 };

enum { GPU_PINNED = 4 << 20 }; /* bytes of host memory through which uploads go */

enum { GPU_GRID_MAX = 65535 }; /* groups of the second and third dimension, of CUDA */

struct gpu_call {
    enum gpu_kernel kernel;
    enum mat_type type; /* of what the kernel stores: which of the programs */
    size_t group[3], items;
    void *const *buffer;
    size_t n_buffers;
    const void *args;
    size_t args_bytes;
};

struct gpu;

struct gpu_backend {
    void (*close)(struct gpu *g); /* everything, the struct too */
    status (*alloc)(struct gpu *g, void **mem, size_t n_bytes, struct err *err);
    void (*free)(struct gpu *g, void *mem);
    /* Queued: the host's memory, which is of gpu.pinned, is read until wait_uploads. */
    void (*upload)(struct gpu *g, void *mem, size_t at, const void *host, size_t n_bytes);
    void (*wait_uploads)(struct gpu *g);
    /* Waits for everything before it. */
    void (*download)(struct gpu *g, void *host, void *mem, size_t at, size_t n_bytes);
    void (*launch)(struct gpu *g, const struct gpu_call *call);
    /* By a library; false when there is none for these types. */
    bool (*gemm)(struct gpu *g, struct mat c, struct mat a, struct mat b, bool ta,
                 bool tb, float alpha, float beta);
    /* The same for gemm_relu. NULL: never. */
    bool (*gemm_relu)(struct gpu *g, struct mat h, struct mat a, struct mat b,
                      struct mat bias);
    void (*wait)(struct gpu *g);
    size_t (*free_bytes)(struct gpu *g);                  /* 0: unknown */
    bool (*usage)(struct gpu *g, struct device_usage *u); /* NULL: never known */
};

/* The first member of a backend's own struct. */
struct gpu {
    const struct gpu_backend *api;
    struct err failure; /* the first; OK: none */
    size_t wide_bytes;  /* of a partial sum: a double, or a float without fp64 */
    size_t grid_max;    /* most sentences of a launch; 0: GPU_GRID_MAX */
    size_t head_max;    /* widest head of attention; 0: HEAD_MAX */
    void *parts;        /* [GPU_PARTS + GPU_NUMBERS] partial sums, and what they give */
    double *number[GPU_NUMBERS]; /* where on the host they go */
    size_t n_numbers;
    void *columns; /* partial sums over rows */
    size_t columns_bytes;
    char *pinned; /* GPU_PINNED bytes of the backend's; NULL: upload returns when done */
    size_t pinned_used;
};

extern const struct kernels gpu_kernels;

/* Make d a device over an opened backend; on failure the backend is closed. */
status gpu_open(struct device *d, struct gpu *g, const char *name,
                struct device_options options, struct err *err);

void gpu_close(struct gpu *g);

/* ERR_USAGE when attention has no kernel for heads this wide; `name` is the device's. */
status gpu_check_head(const struct gpu *g, size_t head_width, const char *name,
                      struct err *err);

/* The host's memory may be reused when it returns. */
void gpu_copy_in(struct gpu *g, void *mem, size_t at, const void *host, size_t n_bytes);
/* Waits for everything before it; after a failure, which gpu_sync tells, zeros. */
void gpu_copy_out(struct gpu *g, void *host, void *mem, size_t at, size_t n_bytes);

/* Waits for everything; the first failure since the device was opened. */
status gpu_sync(struct gpu *g, struct err *err);

/* Bring the numbers that were asked for so far; waits for them. */
void gpu_deliver(struct gpu *g);

/* y = x, of which one is in 16 bits and one in floats; too large becomes infinite. */
void gpu_convert(struct gpu *g, struct mat y, struct mat x);

/* Keep the first failure: a sentence that ends with what `what` could not do. */
void gpu_fail(struct gpu *g, status code, const char *format, ...) PRINTF(3, 4);
