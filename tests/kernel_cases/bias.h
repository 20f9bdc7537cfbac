/* y += bias in every row, and the sum of the gradient over rows. */
#pragma once

#include "kernel_cases/case.h"

enum { BIAS_Y = 1, BIAS_BIAS, BIAS_DY, BIAS_DBIAS };

static inline void bias_forward_run(struct device *d, const struct args *a)
{
    d->k->bias_forward(d, a->m[BIAS_Y], a->m[BIAS_BIAS]);
}

static inline void bias_forward_naive(struct device *d, const struct args *a)
{
    const struct mat y = a->m[BIAS_Y];

    (void)d;
    for (size_t r = 0; r < y.rows; r++)
        for (size_t c = 0; c < y.cols; c++)
            *at(y, r, c) += *at(a->m[BIAS_BIAS], 0, c);
}

static inline void bias_backward_run(struct device *d, const struct args *a)
{
    d->k->bias_backward(d, a->m[BIAS_DBIAS], a->m[BIAS_DY]);
}

static inline void bias_backward_naive(struct device *d, const struct args *a)
{
    const struct mat dy = a->m[BIAS_DY];

    (void)d;
    for (size_t r = 0; r < dy.rows; r++)
        for (size_t c = 0; c < dy.cols; c++)
            *at(a->m[BIAS_DBIAS], 0, c) += *at(dy, r, c);
}

#define BIAS_SHAPES                         \
    .shape = {{.q = {1}, .cols = 1},        \
              {.q = {5, 1, 3}, .cols = 16}, \
              {.q = {2, 3}, .cols = 31},    \
              {.q = {3}, .cols = 300},      \
              {.q = {300}, .cols = 70}}

static const struct kernel_case bias_forward_case = {
    .kernel = "bias_forward",
    .op = {[BIAS_Y] = {"y", ROWS, COLS, INOUT, .half = true},
           [BIAS_BIAS] = {"bias", ONE, COLS, IN, .half = true}},
    .run = bias_forward_run,
    .reference = bias_forward_naive,
    BIAS_SHAPES,
};

static const struct kernel_case bias_backward_case = {
    .kernel = "bias_backward",
    .op = {[BIAS_Y] = {"y", ROWS, COLS, SAVED, .half = true},
           [BIAS_BIAS] = {"bias", ONE, COLS, IN, .half = true},
           [BIAS_DY] = {"dy", ROWS, COLS, IN, .seed_of = BIAS_Y, .half = true},
           [BIAS_DBIAS] = {"dbias", ONE, COLS, ADD, .grad_of = BIAS_BIAS}},
    .run = bias_backward_run,
    .reference = bias_backward_naive,
    .forward = bias_forward_run,
    .forward_reference = bias_forward_naive,
    BIAS_SHAPES,
};
