/*
 * Label-smoothed cross-entropy as its definition: -sum q_v log p_v - K, and its gradient
 * through the softmax, sum_v q_v (p_k - (v = k)).
 */
#pragma once

#include "kernel_cases/case.h"

enum { XENT_LOSS = 1, XENT_LOGITS, XENT_SEED };

static inline void xent_loss_run(struct device *d, const struct args *a)
{
    d->k->xent(d, a->m[XENT_LOSS], (struct ids){0}, a->m[XENT_LOGITS],
               a->list[LIST_LABEL], a->shape->smooth, 0);
}

static inline void xent_run(struct device *d, const struct args *a)
{
    d->k->xent(d, a->m[XENT_LOSS], a->list[LIST_BEST], a->m[XENT_LOGITS],
               a->list[LIST_LABEL], a->shape->smooth, 1);
}

#define XENT_SCALE 64.0

static inline void xent_scaled_run(struct device *d, const struct args *a)
{
    d->k->xent(d, a->m[XENT_LOSS], a->list[LIST_BEST], a->m[XENT_LOGITS],
               a->list[LIST_LABEL], a->shape->smooth, XENT_SCALE);
}

/* The wanted probability of id v, and the loss that no model can go below. */
static inline double xent_target(const struct args *a, size_t r, size_t v)
{
    const double s = a->shape->smooth, others = (double)a->shape->vocab - 1;

    return (int32_t)v == *id_at(a->list[LIST_LABEL], r) ? 1 - s : s / others;
}

static inline double xent_floor(const struct args *a)
{
    const double s = a->shape->smooth, others = (double)a->shape->vocab - 1;

    return s > 0 ? -(1 - s) * log(1 - s) - others * (s / others) * log(s / others + 1e-20)
                 : 0;
}

static inline double xent_total(const struct args *a, size_t r)
{
    double sum = 0;

    for (size_t v = 0; v < a->shape->vocab; v++)
        sum += exp(*at(a->m[XENT_LOGITS], r, v));
    return sum;
}

static inline void xent_loss_naive(struct device *d, const struct args *a)
{
    const struct mat z = a->m[XENT_LOGITS];

    (void)d;
    for (size_t r = 0; r < z.rows; r++) {
        double loss = -xent_floor(a);
        for (size_t v = 0; v < z.cols; v++)
            loss -= xent_target(a, r, v) * log(exp(*at(z, r, v)) / xent_total(a, r));
        *at(a->m[XENT_LOSS], r, 0) = loss;
    }
}

static inline void xent_naive(struct device *d, const struct args *a)
{
    const struct mat z = a->m[XENT_LOGITS];

    xent_loss_naive(d, a);
    for (size_t r = 0; r < z.rows; r++) {
        const double total = xent_total(a, r);
        size_t best = 0;
        for (size_t v = 0; v < z.cols; v++)
            best = *at(z, r, v) > *at(z, r, best) ? v : best;
        *id_at(a->list[LIST_BEST], r) = (int32_t)best;
        for (size_t v = 0; v < z.cols; v++)
            *at(z, r, v) = exp(*at(z, r, v)) / total - xent_target(a, r, v);
    }
}

/* With a factor of the loss the gradient is as much larger, the loss the same. */
static inline void xent_scaled_naive(struct device *d, const struct args *a)
{
    const struct mat z = a->m[XENT_LOGITS];

    xent_naive(d, a);
    for (size_t r = 0; r < z.rows; r++)
        for (size_t v = 0; v < z.cols; v++)
            *at(z, r, v) *= XENT_SCALE;
}

/* The smallest vocabulary, odd ones, more than a vector; labels first and last. */
#define XENT_SHAPES                                      \
    .shape = {{.q = {1}, .vocab = 2},                    \
              {.q = {1}, .vocab = 2, .smooth = 0.1},     \
              {.q = {3}, .vocab = 7, .smooth = 0.3},     \
              {.q = {4, 2}, .vocab = 19},                \
              {.q = {2, 3}, .vocab = 32, .smooth = 0.1}, \
              {.q = {7}, .vocab = 211, .smooth = 0.1},   \
              {.q = {3}, .vocab = 1301, .smooth = 0.2}}

static const struct kernel_case xent_loss_case = {
    .kernel = "xent",
    .op = {[XENT_LOSS] = {"loss", ROWS, ONE, OUT},
           [XENT_LOGITS] = {"logits", ROWS, VOCAB, IN, .scale = 5, .half = true}},
    .run = xent_loss_run,
    .reference = xent_loss_naive,
    XENT_SHAPES,
};

static const struct kernel_case xent_scaled_case = {
    .kernel = "xent",
    .op = {[XENT_LOSS] = {"loss", ROWS, ONE, OUT},
           [XENT_LOGITS] = {"logits", ROWS, VOCAB, INOUT, .scale = 5, .half = true}},
    .run = xent_scaled_run,
    .reference = xent_scaled_naive,
    .tolerance = 1e-4,
    XENT_SHAPES,
};

static const struct kernel_case xent_case = {
    .kernel = "xent",
    .op = {[XENT_LOSS] = {"loss", ROWS, ONE, OUT},
           [XENT_LOGITS] = {"logits", ROWS, VOCAB, INOUT, .scale = 5,
                            .grad_of = XENT_LOGITS, .half = true},
           [XENT_SEED] = {"ones", ROWS, ONE, IN, .seed_of = XENT_LOSS, .constant = 1}},
    .run = xent_run,
    .reference = xent_naive,
    .forward = xent_loss_run,
    XENT_SHAPES,
};
