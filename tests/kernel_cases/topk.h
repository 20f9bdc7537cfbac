/* The likeliest ids of a row: each one the best of those not yet taken. */
#pragma once

#include "kernel_cases/case.h"

enum { TOPK_TOP = 1, TOPK_LOGITS };

static inline void topk_run(struct device *d, const struct args *a)
{
    d->k->topk(d, a->m[TOPK_TOP], a->list[LIST_TOP], a->m[TOPK_LOGITS]);
}

/* The first of the largest logits that come after (z, id) in the order, or -1. */
static inline int topk_next(struct mat logits, size_t r, double z, int id)
{
    int best = -1;

    for (size_t v = 0; v < logits.cols; v++) {
        const double x = *at(logits, r, v);
        const bool after = x < z || (x == z && (int)v > id);
        if (after && (best < 0 || x > *at(logits, r, (size_t)best)))
            best = (int)v;
    }
    return best;
}

static inline void topk_naive(struct device *d, const struct args *a)
{
    const struct mat z = a->m[TOPK_LOGITS], top = a->m[TOPK_TOP];

    (void)d;
    for (size_t r = 0; r < z.rows; r++) {
        double sum = 0, last = (double)INFINITY;
        int id = -1;
        for (size_t v = 0; v < z.cols; v++)
            sum += exp(*at(z, r, v));
        for (size_t i = 0; i < top.cols; i++) {
            id = i < z.cols ? topk_next(z, r, last, id) : -1;
            last = id < 0 ? -(double)INFINITY : *at(z, r, (size_t)id);
            *at(top, r, i) = last - log(sum);
            *id_at(a->list[LIST_TOP], r * top.cols + i) = id;
        }
    }
}

static const struct kernel_case topk_case = {
    .kernel = "topk",
    .op = {[TOPK_TOP] = {"top", ROWS, TOP, OUT},
           [TOPK_LOGITS] = {"logits", ROWS, VOCAB, SPENT, .scale = 5, .half = true}},
    .run = topk_run,
    .reference = topk_naive,
    .shape = {{.q = {1}, .vocab = 1, .top = 1},
              {.q = {2}, .vocab = 5, .top = 9},
              {.q = {3}, .vocab = 23, .top = 1},
              {.q = {5}, .vocab = 1301, .top = 8}},
};

/* Equal logits: the lowest ids, in order. */
static const struct kernel_case topk_ties_case = {
    .kernel = "topk",
    .op = {[TOPK_TOP] = {"top", ROWS, TOP, OUT},
           [TOPK_LOGITS] = {"logits", ROWS, VOCAB, SPENT, .constant = 2, .half = true}},
    .run = topk_run,
    .reference = topk_naive,
    .shape = {{.q = {3}, .vocab = 700, .top = 5}, {.q = {1}, .vocab = 600, .top = 300}},
};
