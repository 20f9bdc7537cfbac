/*
 * bench_rates - what a device reaches: in products of one shape, and in reading and
 * writing memory.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* c[M,N] = a[M,K] b[K,N]; ta, tb: the operand is stored transposed. */
struct bench_rates_shape {
    size_t M, N, K;
    int ta, tb;
};

/* GFLOP/s of our product on `threads` threads, the best of repeated ones. */
status bench_rates_product(double *gflops, const char *device, size_t threads,
                           struct bench_rates_shape shape, double t_budget,
                           struct err *err) MUST_CHECK;

/* GB/s of a pass that reads two vectors and writes a third, all threads together. */
status bench_rates_memory(double *gb_per_s, const char *device, size_t threads,
                          struct err *err) MUST_CHECK;
