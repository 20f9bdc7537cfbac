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
status roof_gemm(double *gflops, size_t threads, double t_budget, struct err *err);
