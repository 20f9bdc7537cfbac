/*
 * roof - the speed that a step is measured against.
 *
 * The rate of the BLAS in single-threaded products of the sizes that training uses, times
 * the number of threads: what a step built on that library would reach if it did nothing
 * else and its threads did not disturb each other. Our own products may be faster: a
 * step can stand above this roof. OpenBLAS takes the kernels of the device's vector
 * extensions: device=cpu-avx2 is measured against AVX2 on every processor.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct device;

/* GFLOP/s of all threads of a CPU, the best of repeated products over about t_budget
 * seconds; NAN where no BLAS is installed. The first device of a process decides for all
 * which kernels OpenBLAS takes. */
status roof_gemm(double *gflops, struct device *d, double t_budget, struct err *err);
