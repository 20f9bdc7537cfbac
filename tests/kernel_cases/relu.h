/* h = drop(relu(h + bias)), in place; values keep a distance from the kink. */
#pragma once

#include "kernel_cases/case.h"
#include "kernel_cases/mask.h"

enum { RELU_H = 1, RELU_BIAS, RELU_DH, RELU_DBIAS };

static inline void relu_forward_run(struct device *d, const struct args *a)
{
    d->k->relu_forward(d, a->m[RELU_H], a->m[RELU_BIAS], case_drop(a));
}

static inline void relu_forward_naive(struct device *d, const struct args *a)
{
    const struct mat h = a->m[RELU_H];

    (void)d;
    for (size_t r = 0; r < h.rows; r++)
        for (size_t c = 0; c < h.cols; c++)
            *at(h, r, c) = mask(case_drop(a), r, c) *
                           fmax(0, *at(h, r, c) + *at(a->m[RELU_BIAS], 0, c));
}

static inline void relu_backward_run(struct device *d, const struct args *a)
{
    d->k->relu_backward(d, a->m[RELU_DH], a->m[RELU_DBIAS], a->m[RELU_H], a->shape->rate);
}

static inline void relu_backward_naive(struct device *d, const struct args *a)
{
    const struct mat dh = a->m[RELU_DH];

    (void)d;
    for (size_t r = 0; r < dh.rows; r++)
        for (size_t c = 0; c < dh.cols; c++) {
            const bool open = *at(a->m[RELU_H], r, c) > 0;
            *at(dh, r, c) *= open ? mask(case_drop(a), r, c) : 0;
            *at(a->m[RELU_DBIAS], 0, c) += *at(dh, r, c);
        }
}

#define RELU_SHAPES                                   \
    .shape = {{.q = {1}, .cols = 1},                  \
              {.q = {1}, .cols = 23, .rate = 0.3},    \
              {.q = {5, 1, 3}, .cols = 16},           \
              {.q = {2, 3}, .cols = 31, .rate = 0.5}, \
              {.q = {3}, .cols = 300, .rate = 0.2},   \
              {.q = {300}, .cols = 70, .rate = 0.1}}

static const struct kernel_case relu_forward_case = {
    .kernel = "relu_forward",
    .op = {[RELU_H] = {"h", ROWS, COLS, INOUT, .gap = 0.5, .half = true},
           [RELU_BIAS] = {"bias", ONE, COLS, IN, .scale = 0.25, .half = true}},
    .run = relu_forward_run,
    .reference = relu_forward_naive,
    RELU_SHAPES,
};

static const struct kernel_case relu_backward_case = {
    .kernel = "relu_backward",
    .op = {[RELU_H] = {"h", ROWS, COLS, SAVED, .gap = 0.5, .half = true},
           [RELU_BIAS] = {"bias", ONE, COLS, IN, .scale = 0.25, .half = true},
           [RELU_DH] = {"dh", ROWS, COLS, INOUT, .grad_of = RELU_H, .seed_of = RELU_H,
                        .half = true},
           [RELU_DBIAS] = {"dbias", ONE, COLS, ADD, .grad_of = RELU_BIAS}},
    .run = relu_backward_run,
    .reference = relu_backward_naive,
    .forward = relu_forward_run,
    .forward_reference = relu_forward_naive,
    RELU_SHAPES,
};
