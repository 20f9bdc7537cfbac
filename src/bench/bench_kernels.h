/*
 * bench_kernels - the time of every kernel at the sizes of a training step: GB/s, GFLOP/s
 * and how near that is to what limits it, memory or products.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "bench/bench_cases.h"

status bench_kernels(const struct bench_cases_options *o, bool as_json, FILE *out,
                     struct err *err) MUST_CHECK;
