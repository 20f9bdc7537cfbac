/*
 * bench_kernels - every kernel at the sizes of a training step: time, GB/s, GFLOP/s.
 *
 * Bytes and operations are declared by each case: what the kernel must read and write at
 * least once, and the multiply-adds of its formula.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "recipe/model_config.h"

struct bench_kernels_options {
    const struct model_config *model;
    const char *device;
    size_t threads, tokens, length;
    double dropout;
    bool json;
};

typedef void bench_kernels_fn(void *ctx, const char *kernel, double gap);

/* Every kernel on the device and on the CPU, from the same numbers: tells the largest
 * |device - cpu| / (1 + |cpu|) of anything it wrote. */
status bench_kernels_compare(const struct bench_kernels_options *o,
                             bench_kernels_fn *tell, void *ctx,
                             struct err *err) MUST_CHECK;

status bench_kernels(const struct bench_kernels_options *o, FILE *out,
                     struct err *err) MUST_CHECK;
