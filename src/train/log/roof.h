/*
 * roof - the speed that a step is measured against.
 *
 * The rate of the BLAS in single-threaded products of the sizes that training uses, times
 * the number of threads: what a step built on that library would reach if it did nothing
 * else and its threads did not disturb each other. Our own products may be faster: a
 * step can stand above this roof.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* GFLOP/s of `threads` threads, the best of repeated products over about t_budget
 * seconds; NAN where no BLAS is installed. */
status roof_gemm(double *gflops, size_t threads, double t_budget,
                 struct err *err) MUST_CHECK;

/* Our product of one shape, c[M,N] = a[M,K] b[K,N], on `threads` threads: best GFLOP/s.
 * ta, tb: the operand is stored transposed. */
struct roof_shape {
    size_t M, N, K;
    int ta, tb;
};
status roof_shape(double *gflops, const char *device, size_t threads,
                  struct roof_shape shape, double t_budget, struct err *err) MUST_CHECK;

/* GB/s of a pass that reads two vectors and writes a third, all threads together. */
status roof_memory(double *gb_per_s, const char *device, size_t threads,
                   struct err *err) MUST_CHECK;
