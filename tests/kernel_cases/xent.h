/*
 * Label-smoothed cross-entropy as its definition: -sum q_v log p_v - K, and its gradient
 * through the softmax, sum_v q_v (p_k - (v = k)).
 */
#pragma once

#include "kernel_cases/case.h"
#include "reals.h"

enum { XENT_LOSS = 1, XENT_LOGITS, XENT_SEED, XENT_MOST = 1301 };

/* A prior of unequal weights, one of them 0. */
static inline double xent_prior(size_t v, size_t V)
{
    const double n = (double)V;

    return v == 1 ? 0 : (double)(v + 1) / (n * (n + 1) / 2 - 2);
}

/* Alike, or with that prior in memory of the device, until xent_done(). */
static inline struct smoothing xent_smoothing(struct device *d, const struct args *a,
                                              bool has_prior)
{
    struct smoothing s = {.rate = a->shape->smooth};
    double u[XENT_MOST];

    if (!has_prior)
        return s;
    for (size_t v = 0; v < a->shape->vocab; v++) {
        u[v] = xent_prior(v, a->shape->vocab);
        s.entropy -= u[v] > 0 ? u[v] * log(u[v]) : 0;
    }
    s.prior = reals_mat(d, 1, a->shape->vocab, u);
    return s;
}

static inline void xent_done(struct device *d, struct smoothing s)
{
    struct err err;

    CHECK_OK(device_sync(d, &err), &err);
    device_free(d, s.prior.mem);
}

static inline void xent_any_run(struct device *d, const struct args *a, bool has_prior,
                                double grad)
{
    const struct smoothing s = xent_smoothing(d, a, has_prior);
    const struct ids none = {0};

    d->k->xent(d, a->m[XENT_LOSS], grad > 0 ? a->list[LIST_BEST] : none,
               a->m[XENT_LOGITS], a->list[LIST_LABEL], s, grad);
    xent_done(d, s);
}

static inline void xent_loss_run(struct device *d, const struct args *a)
{
    xent_any_run(d, a, false, 0);
}

static inline void xent_run(struct device *d, const struct args *a)
{
    xent_any_run(d, a, false, 1);
}

static inline void xent_prior_loss_run(struct device *d, const struct args *a)
{
    xent_any_run(d, a, true, 0);
}

static inline void xent_prior_run(struct device *d, const struct args *a)
{
    xent_any_run(d, a, true, 1);
}

#define XENT_SCALE 64.0

static inline void xent_scaled_run(struct device *d, const struct args *a)
{
    xent_any_run(d, a, false, XENT_SCALE);
}

/* The wanted probability of id v. */
static inline double xent_target(const struct args *a, size_t r, size_t v, bool has_prior)
{
    const double s = a->shape->smooth, others = (double)a->shape->vocab - 1;
    const bool is_label = (int32_t)v == *id_at(a->list[LIST_LABEL], r);

    if (has_prior)
        return (is_label ? 1 - s : 0) + s * xent_prior(v, a->shape->vocab);
    return is_label ? 1 - s : s / others;
}

static inline double xent_probability(struct mat z, size_t r, size_t k)
{
    double sum = 0;

    for (size_t v = 0; v < z.cols; v++)
        sum += exp(*at(z, r, v));
    return exp(*at(z, r, k)) / sum;
}

/* The cross-entropy of a row of z, less what no model can go below. */
static inline double xent_of_row(const struct args *a, struct mat z, size_t r,
                                 bool has_prior)
{
    double loss = 0, sum = 0;

    for (size_t v = 0; v < z.cols; v++)
        sum += exp(*at(z, r, v));
    for (size_t v = 0; v < z.cols; v++) {
        const double q = xent_target(a, r, v, has_prior);
        loss -= q * log(exp(*at(z, r, v)) / sum);
        loss += q > 0 ? q * log(q) : 0;
    }
    return loss;
}

static inline void xent_any_naive(const struct args *a, bool has_prior)
{
    const struct mat z = a->m[XENT_LOGITS];

    for (size_t r = 0; r < z.rows; r++)
        *at(a->m[XENT_LOSS], r, 0) = xent_of_row(a, z, r, has_prior);
}

static inline void xent_loss_naive(struct device *d, const struct args *a)
{
    (void)d;
    xent_any_naive(a, false);
}

static inline void xent_any_gradient(const struct args *a, bool has_prior)
{
    const struct mat z = a->m[XENT_LOGITS];

    xent_any_naive(a, has_prior);
    for (size_t r = 0; r < z.rows; r++) {
        double p[XENT_MOST];
        size_t best = 0;
        for (size_t v = 0; v < z.cols; v++) {
            best = *at(z, r, v) > *at(z, r, best) ? v : best;
            p[v] = xent_probability(z, r, v);
        }
        *id_at(a->list[LIST_BEST], r) = (int32_t)best;
        for (size_t v = 0; v < z.cols; v++)
            *at(z, r, v) = p[v] - xent_target(a, r, v, has_prior);
    }
}

static inline void xent_naive(struct device *d, const struct args *a)
{
    (void)d;
    xent_any_gradient(a, false);
}

static inline void xent_prior_naive(struct device *d, const struct args *a)
{
    (void)d;
    xent_any_gradient(a, true);
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
              {.q = {3}, .vocab = XENT_MOST, .smooth = 0.2}}

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

#define XENT_OPERANDS                                                 \
    .op = {[XENT_LOSS] = {"loss", ROWS, ONE, OUT},                    \
           [XENT_LOGITS] = {"logits", ROWS, VOCAB, INOUT, .scale = 5, \
                            .grad_of = XENT_LOGITS, .half = true},    \
           [XENT_SEED] = {"ones", ROWS, ONE, IN, .seed_of = XENT_LOSS, .constant = 1}}

static const struct kernel_case xent_case = {
    .kernel = "xent",
    XENT_OPERANDS,
    .run = xent_run,
    .reference = xent_naive,
    .forward = xent_loss_run,
    XENT_SHAPES,
};

static const struct kernel_case xent_prior_case = {
    .kernel = "xent",
    XENT_OPERANDS,
    .run = xent_prior_run,
    .reference = xent_prior_naive,
    .forward = xent_prior_loss_run,
    XENT_SHAPES,
};
