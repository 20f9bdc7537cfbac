/* Adam and NovoGrad, one update, from their formulas in device/kernels.h. */
#pragma once

#include "kernel_cases/case.h"

enum { OPTIM_W = 1, OPTIM_M, OPTIM_V, OPTIM_G };

static const struct adam adam_how = {.rate = 0.1,
                                     .beta1 = 0.8,
                                     .beta2 = 0.95,
                                     .epsilon = 1e-2,
                                     .decay = 0.03,
                                     .scale = 0.5};

static const struct novograd novograd_how = {
    .rate = 0.1, .beta1 = 0.9, .scale = 0.7, .decay = 0.02, .average = 0.1};

static inline void adam_run(struct device *d, const struct args *a)
{
    d->k->adam(d, a->m[OPTIM_W], a->m[OPTIM_M], a->m[OPTIM_V], a->m[OPTIM_G], adam_how);
}

static inline void adam_naive(struct device *d, const struct args *a)
{
    const struct mat w = a->m[OPTIM_W];
    const struct adam *how = &adam_how;

    (void)d;
    for (size_t r = 0; r < w.rows; r++)
        for (size_t c = 0; c < w.cols; c++) {
            const double g = how->scale * *at(a->m[OPTIM_G], r, c);
            double *m = at(a->m[OPTIM_M], r, c), *v = at(a->m[OPTIM_V], r, c);
            *m = how->beta1 * *m + (1 - how->beta1) * g;
            *v = how->beta2 * *v + (1 - how->beta2) * g * g;
            *at(w, r, c) = *at(w, r, c) - how->decay * *at(w, r, c) -
                           how->rate * *m / (sqrt(*v) + how->epsilon);
        }
}

static inline void novograd_run(struct device *d, const struct args *a)
{
    d->k->novograd(d, a->m[OPTIM_W], a->m[OPTIM_M], a->m[OPTIM_G], novograd_how);
}

static inline void novograd_naive(struct device *d, const struct args *a)
{
    const struct mat w = a->m[OPTIM_W];
    const struct novograd *how = &novograd_how;

    (void)d;
    for (size_t r = 0; r < w.rows; r++)
        for (size_t c = 0; c < w.cols; c++) {
            const double g =
                how->scale * *at(a->m[OPTIM_G], r, c) + how->decay * *at(w, r, c);
            double *m = at(a->m[OPTIM_M], r, c);
            *m = how->beta1 * *m + how->average * g;
            *at(w, r, c) -= how->rate * *m;
        }
}

#define OPTIM_SHAPES                    \
    .shape = {{.q = {1}, .cols = 1},    \
              {.q = {1}, .cols = 1027}, \
              {.q = {3}, .cols = 7},    \
              {.q = {31}, .cols = 131}}

static const struct kernel_case adam_case = {
    .kernel = "adam",
    .op = {[OPTIM_W] = {"w", ROWS, COLS, INOUT},
           [OPTIM_M] = {"m", ROWS, COLS, INOUT},
           [OPTIM_V] = {"v", ROWS, COLS, INOUT, .scale = 0.4, .shift = 0.5},
           [OPTIM_G] = {"g", ROWS, COLS, IN}},
    .run = adam_run,
    .reference = adam_naive,
    OPTIM_SHAPES,
};

static const struct kernel_case novograd_case = {
    .kernel = "novograd",
    .op = {[OPTIM_W] = {"w", ROWS, COLS, INOUT},
           [OPTIM_M] = {"m", ROWS, COLS, INOUT},
           [OPTIM_G] = {"g", ROWS, COLS, IN}},
    .run = novograd_run,
    .reference = novograd_naive,
    OPTIM_SHAPES,
};
