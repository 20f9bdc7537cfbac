/*
 * c = alpha op(a) op(b) + beta c. The result does not depend on the number of threads.
 * In mixed precision c is stored as a and b are, but for the gradients of parameters
 * (tn).
 */
#pragma once

#include "kernel_cases/case.h"

enum { GEMM_C = 1, GEMM_A, GEMM_B };

static inline void gemm_naive(const struct args *a, bool ta, bool tb, double alpha,
                              double beta)
{
    const struct mat c = a->m[GEMM_C], x = a->m[GEMM_A], y = a->m[GEMM_B];
    const size_t n = ta ? x.rows : x.cols;

    for (size_t i = 0; i < c.rows; i++)
        for (size_t j = 0; j < c.cols; j++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += (ta ? *at(x, k, i) : *at(x, i, k)) *
                       (tb ? *at(y, j, k) : *at(y, k, j));
            *at(c, i, j) = alpha * sum + (beta != 0 ? beta * *at(c, i, j) : 0);
        }
}

#define GEMM_PAIR(name, ta, tb, alpha, beta)                                          \
    static inline void gemm_##name##_run(struct device *d, const struct args *a)      \
    {                                                                                 \
        d->k->gemm(d, a->m[GEMM_C], a->m[GEMM_A], a->m[GEMM_B], ta, tb, alpha, beta); \
    }                                                                                 \
    static inline void gemm_##name##_naive(struct device *d, const struct args *a)    \
    {                                                                                 \
        (void)d;                                                                      \
        gemm_naive(a, ta, tb, alpha, beta);                                           \
    }

GEMM_PAIR(nn, false, false, 1, 0)
GEMM_PAIR(nt, false, true, 1, 0)
GEMM_PAIR(tn, true, false, 1, 0)
GEMM_PAIR(tn_add, true, false, 1, 1)
GEMM_PAIR(tt_add, true, true, -0.75, 0.5)

/* One element; odd; tall, wide and square enough for several threads; one row; an inner
 * dimension and heights beyond one block. */
#define GEMM_SHAPES                                                                     \
    .shape = {                                                                          \
        {.q = {1}, .cols = 1, .inner = 1},      {.q = {5, 2}, .cols = 9, .inner = 3},   \
        {.q = {131}, .cols = 37, .inner = 61},  {.q = {33}, .cols = 149, .inner = 59},  \
        {.q = {64}, .cols = 64, .inner = 64},   {.q = {1}, .cols = 1031, .inner = 259}, \
        {.q = {70}, .cols = 330, .inner = 530}, {.q = {2100}, .cols = 70, .inner = 33}}

/* Taller than threads would share by columns. */
#define GEMM_TALL                            \
    {                                        \
        .q = {4140}, .cols = 1, .inner = 520 \
    }

static const struct kernel_case gemm_nn_case = {
    .kernel = "gemm",
    .op = {[GEMM_C] = {"c", ROWS, COLS, OUT, .half = true},
           [GEMM_A] = {"a", ROWS, INNER, IN, .half = true},
           [GEMM_B] = {"b", INNER, COLS, IN, .half = true}},
    .run = gemm_nn_run,
    .reference = gemm_nn_naive,
    GEMM_SHAPES,
};

static const struct kernel_case gemm_nt_case = {
    .kernel = "gemm",
    .op = {[GEMM_C] = {"c", ROWS, COLS, OUT, .half = true},
           [GEMM_A] = {"a", ROWS, INNER, IN, .half = true},
           [GEMM_B] = {"b", COLS, INNER, IN, .half = true}},
    .run = gemm_nt_run,
    .reference = gemm_nt_naive,
    GEMM_SHAPES,
};

static const struct kernel_case gemm_tn_case = {
    .kernel = "gemm",
    .op = {[GEMM_C] = {"c", ROWS, COLS, OUT, .half = true},
           [GEMM_A] = {"a", INNER, ROWS, IN, .half = true},
           [GEMM_B] = {"b", INNER, COLS, IN, .half = true}},
    .run = gemm_tn_run,
    .reference = gemm_tn_naive,
    .shape = {{.q = {5, 2}, .cols = 9, .inner = 3}, GEMM_TALL},
};

static const struct kernel_case gemm_tn_add_case = {
    .kernel = "gemm",
    .op = {[GEMM_C] = {"c", ROWS, COLS, ADD},
           [GEMM_A] = {"a", INNER, ROWS, IN, .half = true},
           [GEMM_B] = {"b", INNER, COLS, IN, .half = true}},
    .run = gemm_tn_add_run,
    .reference = gemm_tn_add_naive,
    GEMM_SHAPES,
};

static const struct kernel_case gemm_tt_add_case = {
    .kernel = "gemm",
    .op = {[GEMM_C] = {"c", ROWS, COLS, ADD, .half = true},
           [GEMM_A] = {"a", INNER, ROWS, IN, .half = true},
           [GEMM_B] = {"b", COLS, INNER, IN, .half = true}},
    .run = gemm_tt_add_run,
    .reference = gemm_tt_add_naive,
    GEMM_SHAPES,
};

static const struct kernel_case gemm_tt_tall_case = {
    .kernel = "gemm",
    .op = {[GEMM_C] = {"c", ROWS, COLS, ADD, .half = true},
           [GEMM_A] = {"a", INNER, ROWS, IN, .half = true},
           [GEMM_B] = {"b", COLS, INNER, IN, .half = true}},
    .run = gemm_tt_add_run,
    .reference = gemm_tt_add_naive,
    .shape = {GEMM_TALL},
};

/* In mixed precision only: what is stored as float of 16-bit operands, with factors. */
static const struct kernel_case gemm_wide_case = {
    .kernel = "gemm",
    .op = {[GEMM_C] = {"c", ROWS, COLS, ADD},
           [GEMM_A] = {"a", INNER, ROWS, IN, .half = true},
           [GEMM_B] = {"b", COLS, INNER, IN, .half = true}},
    .run = gemm_tt_add_run,
    .reference = gemm_tt_add_naive,
    GEMM_SHAPES,
};

enum { GEMM_BIAS = GEMM_B + 1 };

static inline void gemm_relu_run(struct device *d, const struct args *a)
{
    d->k->gemm_relu(d, a->m[GEMM_C], a->m[GEMM_A], a->m[GEMM_B], a->m[GEMM_BIAS]);
}

static inline void gemm_relu_naive(struct device *d, const struct args *a)
{
    const struct mat c = a->m[GEMM_C];

    (void)d;
    gemm_naive(a, false, false, 1, 0);
    for (size_t i = 0; i < c.rows; i++)
        for (size_t j = 0; j < c.cols; j++)
            *at(c, i, j) = fmax(0, *at(c, i, j) + *at(a->m[GEMM_BIAS], 0, j));
}

static const struct kernel_case gemm_relu_case = {
    .kernel = "gemm_relu",
    .op = {[GEMM_C] = {"h", ROWS, COLS, OUT},
           [GEMM_A] = {"a", ROWS, INNER, IN},
           [GEMM_B] = {"b", INNER, COLS, IN},
           [GEMM_BIAS] = {"bias", ONE, COLS, IN}},
    .run = gemm_relu_run,
    .reference = gemm_relu_naive,
    GEMM_SHAPES,
};
