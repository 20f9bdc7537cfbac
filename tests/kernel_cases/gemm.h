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

/* The operands as they are stored, c's part in brackets, and what runs on them. */
#define GEMM_UNBRACKET(...) __VA_ARGS__
#define GEMM_CASE(name, pair, c_part, a_rows, a_cols, b_rows, b_cols, ...) \
    static const struct kernel_case gemm_##name##_case = {                 \
        .kernel = "gemm",                                                  \
        .op = {[GEMM_C] = {"c", ROWS, COLS, GEMM_UNBRACKET c_part},        \
               [GEMM_A] = {"a", a_rows, a_cols, IN, .half = true},         \
               [GEMM_B] = {"b", b_rows, b_cols, IN, .half = true}},        \
        .run = gemm_##pair##_run,                                          \
        .reference = gemm_##pair##_naive,                                  \
        __VA_ARGS__};

GEMM_CASE(nn, nn, (OUT, .half = true), ROWS, INNER, INNER, COLS, GEMM_SHAPES)
GEMM_CASE(nt, nt, (OUT, .half = true), ROWS, INNER, COLS, INNER, GEMM_SHAPES)
GEMM_CASE(tn, tn, (OUT, .half = true), INNER, ROWS, INNER, COLS,
          .shape = {{.q = {5, 2}, .cols = 9, .inner = 3}, GEMM_TALL})
GEMM_CASE(tn_add, tn_add, (ADD), INNER, ROWS, INNER, COLS, GEMM_SHAPES)
GEMM_CASE(tt_add, tt_add, (ADD, .half = true), INNER, ROWS, COLS, INNER, GEMM_SHAPES)
GEMM_CASE(tt_tall, tt_add, (ADD, .half = true), INNER, ROWS, COLS, INNER,
          .shape = {GEMM_TALL})
/* In mixed precision only: what is stored as float of 16-bit operands, with factors. */
GEMM_CASE(wide, tt_add, (ADD), INNER, ROWS, COLS, INNER, GEMM_SHAPES)

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
