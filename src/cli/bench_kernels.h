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

status bench_kernels(const struct bench_kernels_options *o, FILE *out,
                     struct err *err) MUST_CHECK;
