/*
 * bench_wire - the loops of every wire, and the exchange of a model's gradient.
 *
 * Alone it times the loops. Under mpirun the ranks also exchange a whole gradient in
 * every wire, nothing computing beside it; the first rank reports.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "recipe/model_config.h"

struct bench_wire_options {
    const struct model_config *model;
    const char *wire; /* one of them, or "all" */
    size_t steps, bucket_mib;
    int poll_us;
    bool json;
};

status bench_wire(const struct bench_wire_options *o, FILE *out,
                  struct err *err) MUST_CHECK;
