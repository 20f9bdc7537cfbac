/*
 * sampler - one token drawn from what the model thinks of all of them.
 *
 *   p_i = exp(z_i / temperature) / sum,
 *
 * of which the top_k likeliest stay, and of these the fewest likeliest that together have
 * top_p of what is left; of equal ones those with the lower ids. Exponentials are those
 * of the kernels (infer/kernels.h) and sums are taken in a fixed order, so that equal
 * logits give equal draws on every machine.
 *
 * Owns: room for the weights of a vocabulary. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "infer/kernels.h"

struct sampler_options {
    double temperature; /* 0: always the likeliest */
    size_t top_k;       /* 0: all */
    double top_p;       /* 1: all */
};

struct sampler_weight {
    float w;
    int32_t id;
};

/* Zeroed = closed. */
struct sampler {
    struct sampler_options options;
    const struct infer_kernels *k;
    size_t n_max;
    float *z;                    /* [n_max rounded up] of a row; -INFINITY: refused */
    float *weight;               /* the same */
    struct sampler_weight *kept; /* [n_max] */
    size_t n, n_kept;            /* of z, and that may be drawn */
    double total;                /* of what is kept */
};

status sampler_open(struct sampler *s, struct sampler_options options,
                    const struct infer_kernels *k, size_t n_max, struct err *err);
void sampler_close(struct sampler *s);

/* Draw from these n logits from now on. */
void sampler_begin(struct sampler *s, const float *logit, size_t n);

/* All but this id. */
void sampler_refuse(struct sampler *s, int32_t id);

/* A token by a number that is uniform in [0, 1); -1 when none is left. *is_number becomes
 * false when a logit was not a number. */
int32_t sampler_draw(struct sampler *s, double uniform, bool *is_number);
