/*
 * Attention by its definition: all scores of a head, softmax, mask, weighted sum; and
 * backward through the whole Jacobian of the softmax, dp_a/ds_b = p_a ((a = b) - p_b).
 */
#pragma once

#include "kernel_cases/case.h"
#include "kernel_cases/mask.h"

enum { ATT_OUT = 1, ATT_LSE, ATT_Q, ATT_K, ATT_V, ATT_DOUT, ATT_DQ, ATT_DK, ATT_DV };

static inline struct attend attention_how(const struct args *a)
{
    const struct shape *s = a->shape;

    return (struct attend){.q_at = a->list[LIST_Q_AT],
                           .k_at = a->list[LIST_K_AT],
                           .n_sents = case_sents(s),
                           .heads = s->heads,
                           .max_q = case_longest(s->q),
                           .max_k = case_longest(case_keys(s)),
                           .causal = s->causal,
                           .drop = case_drop(a)};
}

static inline void attention_forward_run(struct device *d, const struct args *a)
{
    d->k->attention_forward(d, a->m[ATT_OUT], a->m[ATT_LSE], a->m[ATT_Q], a->m[ATT_K],
                            a->m[ATT_V], attention_how(a));
}

static inline void attention_backward_run(struct device *d, const struct args *a)
{
    d->k->attention_backward(d, a->m[ATT_DQ], a->m[ATT_DK], a->m[ATT_DV], a->m[ATT_DOUT],
                             a->m[ATT_OUT], a->m[ATT_LSE], a->m[ATT_Q], a->m[ATT_K],
                             a->m[ATT_V], attention_how(a));
}

/* One query of one head, and the keys that it sees. */
struct attention_view {
    const struct args *a;
    size_t row, head, width; /* columns of the head */
    size_t key, n;           /* first key and how many */
    double p[512], mask[512], dp[512];
};

static inline double attention_dot(struct mat x, size_t r, struct mat y, size_t s,
                                   const struct attention_view *v)
{
    double sum = 0;

    for (size_t c = v->head * v->width; c < (v->head + 1) * v->width; c++)
        sum += *at(x, r, c) * *at(y, s, c);
    return sum;
}

/* Fills p and mask; the log-sum-exp of the scores. */
static inline double attention_weights(struct attention_view *v)
{
    const struct args *a = v->a;
    double sum = 0;

    for (size_t j = 0; j < v->n; j++) {
        v->p[j] = exp(attention_dot(a->m[ATT_Q], v->row, a->m[ATT_K], v->key + j, v) /
                      sqrt((double)v->width));
        v->mask[j] = mask(case_drop(a), v->row, j * a->shape->heads + v->head);
        sum += v->p[j];
    }
    for (size_t j = 0; j < v->n; j++)
        v->p[j] /= sum;
    return log(sum);
}

typedef void attention_fn(struct attention_view *v);

static inline void attention_each(const struct args *a, attention_fn *fn)
{
    const struct shape *s = a->shape;

    for (size_t b = 0; b < case_sents(s); b++)
        for (size_t i = 0; i < s->q[b]; i++)
            for (size_t h = 0; h < s->heads; h++) {
                struct attention_view v = {.a = a,
                                           .row =
                                               (size_t)*id_at(a->list[LIST_Q_AT], b) + i,
                                           .head = h,
                                           .width = s->cols / s->heads,
                                           .key = (size_t)*id_at(a->list[LIST_K_AT], b),
                                           .n = s->causal ? i + 1 : case_keys(s)[b]};
                fn(&v);
            }
}

static inline void attention_out(struct attention_view *v)
{
    const struct args *a = v->a;

    *at(a->m[ATT_LSE], v->row, v->head) = attention_weights(v);
    for (size_t c = v->head * v->width; c < (v->head + 1) * v->width; c++) {
        double sum = 0;
        for (size_t j = 0; j < v->n; j++)
            sum += v->p[j] * v->mask[j] * *at(a->m[ATT_V], v->key + j, c);
        *at(a->m[ATT_OUT], v->row, c) = sum;
    }
}

static inline void attention_forward_naive(struct device *d, const struct args *a)
{
    (void)d;
    attention_each(a, attention_out);
}

static inline double attention_dscore(const struct attention_view *v, size_t b)
{
    double sum = 0;

    for (size_t j = 0; j < v->n; j++)
        sum += v->dp[j] * v->p[j] * ((j == b) - v->p[b]);
    return sum / sqrt((double)v->width);
}

static inline void attention_in(struct attention_view *v)
{
    const struct args *a = v->a;
    const struct mat dq = a->m[ATT_DQ], dk = a->m[ATT_DK], dv = a->m[ATT_DV];

    attention_weights(v);
    for (size_t j = 0; j < v->n; j++)
        v->dp[j] = v->mask[j] *
                   attention_dot(a->m[ATT_DOUT], v->row, a->m[ATT_V], v->key + j, v);
    for (size_t j = 0; j < v->n; j++) {
        const double ds = attention_dscore(v, j);
        for (size_t c = v->head * v->width; c < (v->head + 1) * v->width; c++) {
            *at(dq, v->row, c) += ds * *at(a->m[ATT_K], v->key + j, c);
            *at(dk, v->key + j, c) += ds * *at(a->m[ATT_Q], v->row, c);
            *at(dv, v->key + j, c) +=
                v->p[j] * v->mask[j] * *at(a->m[ATT_DOUT], v->row, c);
        }
    }
}

static inline void attention_backward_naive(struct device *d, const struct args *a)
{
    (void)d;
    for (int o = ATT_DQ; o <= ATT_DV; o++)
        for (size_t r = 0; r < a->m[o].rows; r++)
            for (size_t c = 0; c < a->m[o].cols; c++)
                *at(a->m[o], r, c) = 0;
    attention_each(a, attention_in);
}

#define MANY_LENGTHS 3, 1, 8, 2, 5, 1, 1, 13, 4, 2, 6, 1, 9, 3, 2, 7, 1, 5, 2, 4

/* One token, one key, one head of one column, causal, cross, many sentences, 300; heads
 * of every width that a GPU has a kernel for, over more than one block. */
#define ATTENTION_SHAPES                                                                 \
    .shape = {{.q = {1}, .cols = 1, .heads = 1, .causal = true},                         \
              {.q = {5, 3}, .k = {1, 1}, .cols = 6, .heads = 2, .rate = 0.5},            \
              {.q = {1, 1}, .k = {7, 2}, .cols = 9, .heads = 3},                         \
              {.q = {4, 1, 6}, .cols = 8, .heads = 2, .causal = true},                   \
              {.q = {4, 1, 6}, .cols = 10, .heads = 2, .causal = true, .rate = 0.3},     \
              {.q = {3, 6}, .cols = 12, .heads = 4, .rate = 0.1},                        \
              {.q = {2, 5, 1}, .k = {6, 3, 4}, .cols = 10, .heads = 1, .rate = 0.2},     \
              {.q = {MANY_LENGTHS}, .cols = 26, .heads = 2, .causal = true},             \
              {.q = {300, 2}, .cols = 6, .heads = 2, .causal = true, .rate = 0.1},       \
              {.q = {2, 3}, .k = {300, 4}, .cols = 34, .heads = 2},                      \
              {.q = {64, 31, 2}, .k = {17, 5, 40}, .cols = 10, .heads = 2, .rate = 0.2}, \
              {.q = {33, 5}, .cols = 64, .heads = 1, .causal = true, .rate = 0.1},       \
              {.q = {3, 40}, .k = {65, 2}, .cols = 100, .heads = 2, .rate = 0.1},        \
              {.q = {18, 33}, .cols = 200, .heads = 2, .causal = true, .rate = 0.2},     \
              {.q = {2, 17}, .k = {33, 1}, .cols = 128, .heads = 1}}

static const struct kernel_case attention_forward_case = {
    .kernel = "attention_forward",
    .op = {[ATT_OUT] = {"out", ROWS, COLS, OUT, .half = true},
           [ATT_LSE] = {"lse", ROWS, HEADS, OUT},
           [ATT_Q] = {"q", ROWS, COLS, IN, .scale = 2, .half = true},
           [ATT_K] = {"k", KEYS, COLS, IN, .scale = 2, .half = true},
           [ATT_V] = {"v", KEYS, COLS, IN, .half = true}},
    .run = attention_forward_run,
    .has_heads = true,
    .reference = attention_forward_naive,
    ATTENTION_SHAPES,
};

static const struct kernel_case attention_backward_case = {
    .kernel = "attention_backward",
    .op = {[ATT_OUT] = {"out", ROWS, COLS, SAVED, .half = true},
           [ATT_LSE] = {"lse", ROWS, HEADS, SAVED},
           [ATT_Q] = {"q", ROWS, COLS, IN, .scale = 2, .half = true},
           [ATT_K] = {"k", KEYS, COLS, IN, .scale = 2, .half = true},
           [ATT_V] = {"v", KEYS, COLS, IN, .half = true},
           [ATT_DOUT] = {"dout", ROWS, COLS, IN, .seed_of = ATT_OUT, .half = true},
           [ATT_DQ] = {"dq", ROWS, COLS, OUT, .grad_of = ATT_Q, .half = true,
                       .slack = 16},
           [ATT_DK] = {"dk", KEYS, COLS, OUT, .grad_of = ATT_K, .half = true,
                       .slack = 16},
           [ATT_DV] = {"dv", KEYS, COLS, OUT, .grad_of = ATT_V, .half = true}},
    .run = attention_backward_run,
    .has_heads = true,
    .reference = attention_backward_naive,
    .forward = attention_forward_run,
    .forward_reference = attention_forward_naive,
    ATTENTION_SHAPES,
};
