/*
 * device - where tensors live and kernels run.
 *
 * The border between the model and the hardware: memory by handle, transfers, one table
 * of kernels. The model calls device->k->gemm(device, ...) and never dereferences what
 * it passes. On the CPU a real is a float; the verification device of the tests runs
 * the same kernel files in double, which is why sizes ask real_bytes.
 *
 * Owns: its threads and its memory. Outlives: every mat and ids made on it.
 * Threads: one caller at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "device/kernels.h"
#include "device/mat.h"

/* Scratch memory that every thread of a CPU device has from the start. */
enum { DEVICE_SCRATCH_BYTES = 5 << 20 };

struct gpu;
struct pool;

/* Mixed precision: what a MAT_HALF holds. On a CPU it is emulated: floats, rounded. */
enum precision { PRECISION_FP32, PRECISION_FP16, PRECISION_BF16 };

/* What a card says of itself; NAN where it does not. */
struct device_usage {
    double busy; /* share of the last moment in which anything ran, 0 to 1 */
    double power_w, power_limit_w;
    double memory_mib, memory_all_mib; /* in use by all processes, and there is */
    double clock_mhz, clock_max_mhz;   /* of its processors */
};

struct device {
    char name[64];     /* "cpu, AVX2, 2 threads" */
    const char *kind;  /* "cpu", "opencl" or "cuda" */
    char skipped[256]; /* with "auto": why a card that is here was not taken */
    const struct kernels *k;
    size_t real_bytes, half_bytes; /* of an element of each type */
    enum precision precision;
    uint64_t card; /* which one of the host; 0: none, it computes in the host's memory */
    const struct kernels *exact; /* of an emulated precision: those that round nothing */
    struct kernels rounding;
    struct gpu *gpu; /* NULL: a CPU */
    struct pool *pool;
    size_t vector_bytes;  /* of the registers of a CPU's kernels; 0: not known */
    void *scratch;        /* the device's own, per thread */
    size_t scratch_bytes; /* of one thread */
};

struct device_options {
    size_t threads; /* 0: one a core */
    bool pin;
    enum precision precision;
    size_t local_rank; /* which of several GPUs: one process each */
};

/* What may be asked for: the first that opens of a card by CUDA, a GPU by OpenCL and the
 * processor; the processor with all that it has; with AVX2 at most; without vector
 * extensions; a GPU, or what OpenCL has instead. */
#define DEVICE_KINDS "auto|cpu|cpu-avx512|cpu-avx2|cpu-plain|opencl|cuda"

status device_open(struct device *d, const char *kind, struct device_options options,
                   struct err *err);
void device_close(struct device *d);

/* Append a line for each device that device_open could open, or why it could not. */
struct str;
void device_describe(struct str *out);

/* A CPU device over any table built from device/cpu (the tests bring one in double). */
status device_open_cpu(struct device *d, const struct kernels *k, const char *name,
                       size_t real_bytes, struct device_options options, struct err *err);

status device_alloc(struct device *d, void **mem, size_t n_bytes,
                    struct err *err); /* 64-byte aligned, zeroed */
void device_free(struct device *d, void *mem);
/* n reals of its own as a matrix [1, n]; release them by device_free(d, row->mem). */
status device_alloc_row(struct device *d, struct mat *row, size_t n, struct err *err);

/* Scratch memory for attention with heads of this width over sentences up to this long,
 * which may be more than every thread has from the start. Called when shapes become
 * known, never inside a step. */
status device_reserve_attention(struct device *d, size_t head_width, size_t max_len,
                                struct err *err);

/* Bytes of an element. */
static inline size_t device_width(const struct device *d, enum mat_type type)
{
    return type == MAT_HALF ? d->half_bytes : d->real_bytes;
}

/* Bytes that the device could still give; 0 when it does not say. */
size_t device_free_bytes(struct device *d);

/* False when it says nothing of itself: a CPU, or a card without such a library. */
bool device_read_usage(struct device *d, struct device_usage *u);

/* Contiguous copies; a strided mat goes row by row. host has rows*cols elements of the
 * device's width. */
void device_upload(struct device *d, struct mat to, const void *host);
void device_download(struct device *d, void *host, struct mat from);
void device_upload_ids(struct device *d, struct ids to, const int *host);
void device_download_ids(struct device *d, int *host, struct ids from);

/* Waits for everything queued; the one place where a device reports failure. */
status device_sync(struct device *d, struct err *err);

/*
 * Device memory handed out from one block. With mem NULL it only measures: the same
 * layout code runs once to learn the size and once to place.
 */
struct device_arena {
    struct device *device;
    void *mem;
    size_t at, bytes; /* in bytes */
    size_t peak;
};

/* rows*cols reals, or numbers that mixed precision stores in 16 bits, or n ids; 64-byte
 * aligned. */
struct mat device_arena_mat(struct device_arena *a, size_t rows, size_t cols);
struct mat device_arena_half(struct device_arena *a, size_t rows, size_t cols);
struct ids device_arena_ids(struct device_arena *a, size_t n);
