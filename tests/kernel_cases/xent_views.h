/*
 * Cross-entropy of two views and their divergences, as their definitions, and the
 * gradient of both through the softmax: of KL(p||q) with respect to x,
 * sum_v (d_v + 1) dp_v, and to y, -sum_v p_v dq_v / q_v.
 */
#pragma once

#include "kernel_cases/xent.h"

enum { VIEWS_LOSS = 1, VIEWS_GAP, VIEWS_LOGITS, VIEWS_OTHER, VIEWS_SEED, VIEWS_SEED_GAP };

/* Every weight another; and those of a view that is only compared, with a prior. */
static const struct views views_all = {{0.75, 0.25}, {1.5, 0.5}};
static const struct views views_cut = {{1, 0}, {3, 0}};

static inline void views_any_run(struct device *d, const struct args *a, bool is_cut,
                                 double grad)
{
    const struct smoothing s = xent_smoothing(d, a, is_cut);

    d->k->xent_views(d, a->m[VIEWS_LOSS], a->m[VIEWS_GAP], a->m[VIEWS_LOGITS],
                     a->m[VIEWS_OTHER], a->list[LIST_LABEL], s,
                     is_cut ? views_cut : views_all, grad);
    xent_done(d, s);
}

static inline void xent_views_loss_run(struct device *d, const struct args *a)
{
    views_any_run(d, a, false, 0);
}

static inline void xent_views_run(struct device *d, const struct args *a)
{
    views_any_run(d, a, false, 1);
}

static inline void xent_cut_loss_run(struct device *d, const struct args *a)
{
    views_any_run(d, a, true, 0);
}

static inline void xent_cut_run(struct device *d, const struct args *a)
{
    views_any_run(d, a, true, 1);
}

/* sum_v g_v dp_v/dz_k of p = softmax(z). */
static inline double views_through(const double *g, const double *p, size_t V, size_t k)
{
    double sum = 0;

    for (size_t v = 0; v < V; v++)
        sum += g[v] * p[v] * ((v == k) - p[k]);
    return sum;
}

static inline void views_row(const struct args *a, size_t r, bool is_cut)
{
    const struct views w = is_cut ? views_cut : views_all;
    const struct mat z[2] = {a->m[VIEWS_LOGITS], a->m[VIEWS_OTHER]};
    const size_t V = a->shape->vocab;
    static double p[2][XENT_MOST], g[2][XENT_MOST];
    double loss = 0, gap = 0;

    for (int i = 0; i < 2; i++) {
        loss += w.xent[i] * xent_of_row(a, z[i], r, is_cut);
        for (size_t v = 0; v < V; v++)
            p[i][v] = xent_probability(z[i], r, v);
    }
    for (size_t v = 0; v < V; v++) {
        const double d = log(p[0][v] / p[1][v]);
        gap += w.kl[0] * p[0][v] * d - w.kl[1] * p[1][v] * d;
        for (int i = 0; i < 2; i++) {
            const double to = i ? -d : d, ratio = p[1 - i][v] / p[i][v];
            g[i][v] = -w.xent[i] * xent_target(a, r, v, is_cut) / p[i][v] +
                      w.kl[i] * (to + 1) - w.kl[1 - i] * ratio;
        }
    }
    *at(a->m[VIEWS_LOSS], r, 0) = loss;
    *at(a->m[VIEWS_GAP], r, 0) = gap;
    for (int i = 0; i < 2; i++)
        for (size_t v = 0; v < V; v++)
            *at(z[i], r, v) = views_through(g[i], p[i], V, v);
}

static inline void xent_views_naive(struct device *d, const struct args *a)
{
    (void)d;
    for (size_t r = 0; r < a->m[VIEWS_LOSS].rows; r++)
        views_row(a, r, false);
}

static inline void xent_cut_naive(struct device *d, const struct args *a)
{
    (void)d;
    for (size_t r = 0; r < a->m[VIEWS_LOSS].rows; r++)
        views_row(a, r, true);
}

/* Divergences of rows as far apart as these are large: so are their last places. */
#define VIEWS_CASE                                                                       \
    .kernel = "xent_views",                                                              \
    .op = {[VIEWS_LOSS] = {"loss", ROWS, ONE, OUT},                                      \
           [VIEWS_GAP] = {"gap", ROWS, ONE, OUT},                                        \
           [VIEWS_LOGITS] = {"logits", ROWS, VOCAB, INOUT, .scale = 4,                   \
                             .grad_of = VIEWS_LOGITS, .half = true},                     \
           [VIEWS_OTHER] = {"other", ROWS, VOCAB, INOUT, .scale = 4,                     \
                            .grad_of = VIEWS_OTHER, .half = true},                       \
           [VIEWS_SEED] = {"ones", ROWS, ONE, IN, .seed_of = VIEWS_LOSS, .constant = 1}, \
           [VIEWS_SEED_GAP] = {"ones", ROWS, ONE, IN, .seed_of = VIEWS_GAP,              \
                               .constant = 1}},                                          \
    XENT_SHAPES

static const struct kernel_case xent_views_case = {
    .run = xent_views_run,
    .reference = xent_views_naive,
    .forward = xent_views_loss_run,
    VIEWS_CASE,
};

static const struct kernel_case xent_cut_case = {
    .run = xent_cut_run,
    .reference = xent_cut_naive,
    .forward = xent_cut_loss_run,
    VIEWS_CASE,
};
