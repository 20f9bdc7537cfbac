/*
 * cpu - what every CPU kernel file shares.
 *
 * The files of this folder are compiled once for each variant: plain (any machine), v3
 * (AVX2 and FMA), v4 (AVX-512) and amx (v4 with a unit for matrix products), the best
 * that runs chosen at start, and, in the tests, f64, where a real
 * is a double and finite differences are trustworthy to seven digits. CPU(name) gives
 * each variant its own symbols.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/pool.h"
#include "device/device.h"
#include "device/kernels.h"

#ifndef REAL
#define REAL float
#endif
#ifndef CPU_VARIANT
#define CPU_VARIANT plain
#endif

typedef REAL real;

#define CPU_PASTE(a, b, c)  a##b##_##c
#define CPU_EXPAND(a, b, c) CPU_PASTE(a, b, c)
#define CPU(name)           CPU_EXPAND(cpu_, CPU_VARIANT, name)

/* The prototypes of this variant's kernels, from the one list. */
#define CPU_PROTOTYPE(name, args) void CPU(name) args;
KERNEL_LIST(CPU_PROTOTYPE)

/* c = alpha op(a) op(b) + beta c */
struct cpu_gemm {
    struct mat c, a, b;
    bool ta, tb;
    double alpha, beta;
};

/* n neighbours in memory: at[i] are those of the i-th matrix. */
typedef void cpu_each_fn(real *const at[], size_t n, void *how);

/*
 * fn on all elements of n_mats <= CPU_EACH_MATS matrices of one shape, a row or a part of
 * one at a time. Threads divide elements, not rows, because the flat array of all
 * parameters is a matrix of one row. each_of: elements [begin, end) of them, counted row
 * after row, by this thread.
 */
enum { CPU_EACH_MATS = 4 };
void CPU(each)(struct device *d, const struct mat *m, size_t n_mats, cpu_each_fn *fn,
               void *how);
void CPU(each_of)(const struct mat *m, size_t n_mats, size_t begin, size_t end,
                  cpu_each_fn *fn, void *how);

/* False, and nothing done: no such unit in this variant, or not worth its copies. */
bool CPU(gemm_amx)(struct device *d, const struct cpu_gemm *g);

static inline size_t cpu_smaller(size_t x, size_t y)
{
    return x < y ? x : y;
}

static inline size_t cpu_ceil_div(size_t n, size_t by)
{
    return (n + by - 1) / by;
}

static inline real *cpu_mat(struct mat m)
{
    return (real *)m.mem + m.at;
}

static inline real *cpu_row(struct mat m, size_t row)
{
    return (real *)m.mem + m.at + row * m.stride;
}

/* by 0: whatever was there, a NaN too, becomes 0. */
static inline void cpu_scale(struct mat m, real by)
{
    for (size_t r = 0; r < m.rows; r++)
        for (size_t c = 0; c < m.cols; c++)
            cpu_row(m, r)[c] = by != 0 ? by * cpu_row(m, r)[c] : 0;
}

static inline int32_t *cpu_ids(struct ids x)
{
    return (int32_t *)x.mem + x.at;
}

/* A part's columns, in whole cache lines: threads that share rows do not share lines. */
static inline struct pool_range cpu_columns(size_t n_cols, size_t part, size_t n_parts)
{
    enum { LINE = 16 };
    const struct pool_range lines = pool_split(cpu_ceil_div(n_cols, LINE), part, n_parts);

    return (struct pool_range){lines.begin * LINE, cpu_smaller(lines.end * LINE, n_cols)};
}

/* The scratch memory of one part of a pool_run. */
static inline void *cpu_scratch(const struct device *d, size_t part)
{
    return (char *)d->scratch + part * d->scratch_bytes;
}
