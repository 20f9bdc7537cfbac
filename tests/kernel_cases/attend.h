/* Attention of one query a row over cached keys, or over a range of memory rows. */
#pragma once

#include "kernel_cases/case.h"

enum { ATTEND_OUT = 1, ATTEND_Q, ATTEND_K, ATTEND_V };

/* Row r attends to the rows key[0..n) of k and v. */
static inline void attend_row_naive(const struct args *a, size_t r, const size_t *key,
                                    size_t n)
{
    const struct mat q = a->m[ATTEND_Q];
    const size_t d = q.cols / a->shape->heads;

    for (size_t h = 0; h < a->shape->heads; h++) {
        double w[512], sum = 0;
        for (size_t t = 0; t < n; t++) {
            double s = 0;
            for (size_t c = h * d; c < (h + 1) * d; c++)
                s += *at(q, r, c) * *at(a->m[ATTEND_K], key[t], c);
            w[t] = exp(s / sqrt((double)d));
            sum += w[t];
        }
        for (size_t c = h * d; c < (h + 1) * d; c++) {
            double out = 0;
            for (size_t t = 0; t < n; t++)
                out += w[t] / sum * *at(a->m[ATTEND_V], key[t], c);
            *at(a->m[ATTEND_OUT], r, c) = out;
        }
    }
}

static inline void attend_cache_run(struct device *d, const struct args *a)
{
    d->k->attend_cache(d, a->m[ATTEND_OUT], a->m[ATTEND_Q],
                       (struct cache){.k = a->m[ATTEND_K],
                                      .v = a->m[ATTEND_V],
                                      .physical = a->list[LIST_PHYSICAL],
                                      .rows = a->shape->beams,
                                      .len = a->shape->steps,
                                      .heads = a->shape->heads});
}

static inline void attend_cache_naive(struct device *d, const struct args *a)
{
    const size_t steps = a->shape->steps;

    (void)d;
    for (size_t r = 0; r < a->m[ATTEND_Q].rows; r++) {
        size_t key[512];
        for (size_t t = 0; t < steps; t++)
            key[t] = t * a->shape->beams +
                     (size_t)*id_at(a->list[LIST_PHYSICAL], r * steps + t);
        attend_row_naive(a, r, key, steps);
    }
}

static inline void attend_memory_run(struct device *d, const struct args *a)
{
    d->k->attend_memory(d, a->m[ATTEND_OUT], a->m[ATTEND_Q], a->m[ATTEND_K],
                        a->m[ATTEND_V], a->list[LIST_FIRST], a->list[LIST_LAST],
                        a->shape->heads);
}

static inline void attend_memory_naive(struct device *d, const struct args *a)
{
    (void)d;
    for (size_t r = 0; r < a->m[ATTEND_Q].rows; r++) {
        const int first = *id_at(a->list[LIST_FIRST], r);
        const int last = *id_at(a->list[LIST_LAST], r);
        size_t key[512];
        for (int t = first; t < last; t++)
            key[t - first] = (size_t)t;
        attend_row_naive(a, r, key, (size_t)(last - first));
    }
}

static const struct kernel_case attend_cache_case = {
    .kernel = "attend_cache",
    .op = {[ATTEND_OUT] = {"out", ROWS, COLS, OUT, .half = true},
           [ATTEND_Q] = {"q", ROWS, COLS, IN, .scale = 2, .half = true},
           [ATTEND_K] = {"k", CACHED, COLS, IN, .scale = 2, .half = true},
           [ATTEND_V] = {"v", CACHED, COLS, IN, .half = true}},
    .run = attend_cache_run,
    .reference = attend_cache_naive,
    .shape = {{.q = {1}, .cols = 1, .heads = 1, .steps = 1, .beams = 1},
              {.q = {4}, .cols = 6, .heads = 2, .steps = 1, .beams = 4},
              {.q = {5}, .cols = 15, .heads = 3, .steps = 7, .beams = 6},
              {.q = {8}, .cols = 34, .heads = 2, .steps = 60, .beams = 8},
              {.q = {3}, .cols = 200, .heads = 2, .steps = 33, .beams = 2},
              {.q = {2}, .cols = 128, .heads = 1, .steps = 5, .beams = 3}},
};

static const struct kernel_case attend_memory_case = {
    .kernel = "attend_memory",
    .op = {[ATTEND_OUT] = {"out", ROWS, COLS, OUT, .half = true},
           [ATTEND_Q] = {"q", ROWS, COLS, IN, .scale = 2, .half = true},
           [ATTEND_K] = {"k", KEYS, COLS, IN, .scale = 2, .half = true},
           [ATTEND_V] = {"v", KEYS, COLS, IN, .half = true}},
    .run = attend_memory_run,
    .reference = attend_memory_naive,
    .shape = {{.q = {1}, .k = {1}, .cols = 1, .heads = 1},
              {.q = {4, 4}, .k = {1, 9}, .cols = 6, .heads = 2},
              {.q = {3, 1, 2}, .k = {5, 8, 2}, .cols = 15, .heads = 3},
              {.q = {4}, .k = {300}, .cols = 34, .heads = 2},
              {.q = {2, 1}, .k = {33, 64}, .cols = 200, .heads = 2},
              {.q = {1, 2}, .k = {1, 70}, .cols = 128, .heads = 1}},
};
