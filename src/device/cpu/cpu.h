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
#define K(name, args) void CPU(name) args;
KERNEL_LIST(K)
#undef K

/* c = alpha op(a) op(b) + beta c */
struct cpu_gemm {
    struct mat c, a, b;
    bool ta, tb;
    double alpha, beta;
};

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

static inline int32_t *cpu_ids(struct ids x)
{
    return (int32_t *)x.mem + x.at;
}

/* The scratch memory of one part of a pool_run. */
static inline void *cpu_scratch(const struct device *d, size_t part)
{
    return (char *)d->scratch + part * d->scratch_bytes;
}
