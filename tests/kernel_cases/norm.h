/*
 * x = base + drop(f + f_bias); y = norm(x) * gain + bias. The stream goes on below y as
 * well, so x has a gradient of its own, dx_later. The reference differentiates y by the
 * definition: dx_k = sum_c dy_c gain_c dh_c/dx_k, the whole Jacobian of a row.
 */
#pragma once

#include "kernel_cases/case.h"
#include "kernel_cases/mask.h"

enum {
    NORM_X = 1,
    NORM_Y,
    NORM_STATS,
    NORM_BASE,
    NORM_F,
    NORM_F_BIAS,
    NORM_GAIN,
    NORM_BIAS,
    NORM_DY,
    NORM_LATER,
    NORM_DX,
    NORM_DF,
    NORM_DGAIN,
    NORM_DBIAS,
    NORM_DF_BIAS
};

#define NORM_EPSILON 1e-3

static inline void norm_forward_run(struct device *d, const struct args *a)
{
    d->k->norm_forward(d, a->m[NORM_X], a->m[NORM_Y], a->m[NORM_STATS], a->m[NORM_BASE],
                       a->m[NORM_F], a->m[NORM_F_BIAS], a->m[NORM_GAIN], a->m[NORM_BIAS],
                       NORM_EPSILON, case_drop(a));
}

static inline void norm_residual_naive(const struct args *a)
{
    const struct mat x = a->m[NORM_X], f = a->m[NORM_F], b = a->m[NORM_F_BIAS];

    for (size_t r = 0; f.mem && r < x.rows; r++)
        for (size_t c = 0; c < x.cols; c++)
            *at(x, r, c) =
                *at(a->m[NORM_BASE], r, c) +
                mask(case_drop(a), r, c) * (*at(f, r, c) + (b.mem ? *at(b, 0, c) : 0));
}

static inline void norm_forward_naive(struct device *d, const struct args *a)
{
    const struct mat x = a->m[NORM_X];
    const double D = (double)x.cols;

    (void)d;
    norm_residual_naive(a);
    for (size_t r = 0; r < x.rows; r++) {
        double mean = 0, variance = 0;
        for (size_t c = 0; c < x.cols; c++)
            mean += *at(x, r, c) / D;
        for (size_t c = 0; c < x.cols; c++)
            variance += pow(*at(x, r, c) - mean, 2) / D;
        const double rstd = 1 / sqrt(variance + NORM_EPSILON);
        for (size_t c = 0; c < x.cols; c++)
            *at(a->m[NORM_Y], r, c) =
                (*at(x, r, c) - mean) * rstd * *at(a->m[NORM_GAIN], 0, c) +
                *at(a->m[NORM_BIAS], 0, c);
        *at(a->m[NORM_STATS], r, 0) = mean;
        *at(a->m[NORM_STATS], r, 1) = rstd;
    }
}

static inline void norm_backward_run(struct device *d, const struct args *a)
{
    d->k->norm_backward(d, a->m[NORM_DX], a->m[NORM_DF], a->m[NORM_DGAIN],
                        a->m[NORM_DBIAS], a->m[NORM_DF_BIAS], a->m[NORM_DY],
                        a->m[NORM_LATER], a->m[NORM_X], a->m[NORM_STATS], a->m[NORM_GAIN],
                        case_drop(a));
}

/* dh_c/dx_k with h = (x - mean) rstd: rstd ((c = k) - 1/D - h_c h_k / D). */
static inline double norm_row_naive(const struct args *a, size_t r, size_t k)
{
    const struct mat x = a->m[NORM_X];
    const double mean = *at(a->m[NORM_STATS], r, 0), rstd = *at(a->m[NORM_STATS], r, 1);
    const double D = (double)x.cols, h_k = (*at(x, r, k) - mean) * rstd;
    double sum = 0;

    for (size_t c = 0; c < x.cols; c++) {
        const double h_c = (*at(x, r, c) - mean) * rstd;
        sum += *at(a->m[NORM_DY], r, c) * *at(a->m[NORM_GAIN], 0, c) * rstd *
               ((c == k) - 1 / D - h_c * h_k / D);
    }
    return sum;
}

static inline void norm_backward_naive(struct device *d, const struct args *a)
{
    const struct mat x = a->m[NORM_X], later = a->m[NORM_LATER], df = a->m[NORM_DF];

    (void)d;
    for (size_t r = 0; r < x.rows; r++)
        for (size_t c = 0; c < x.cols; c++) {
            const double mean = *at(a->m[NORM_STATS], r, 0);
            const double rstd = *at(a->m[NORM_STATS], r, 1);
            const double dx =
                norm_row_naive(a, r, c) + (later.mem ? *at(later, r, c) : 0);
            *at(a->m[NORM_DX], r, c) = dx;
            *at(a->m[NORM_DGAIN], 0, c) +=
                *at(a->m[NORM_DY], r, c) * (*at(x, r, c) - mean) * rstd;
            *at(a->m[NORM_DBIAS], 0, c) += *at(a->m[NORM_DY], r, c);
            if (df.mem)
                *at(df, r, c) = mask(case_drop(a), r, c) * dx;
            if (a->m[NORM_DF_BIAS].mem)
                *at(a->m[NORM_DF_BIAS], 0, c) += *at(df, r, c);
        }
}

#define NORM_IN_PLACE   .same = {NORM_X}, .with = {NORM_BASE}
#define NORM_Y_IN_PLACE .same = {NORM_Y}, .with = {NORM_BASE}
#define NORM_NO_F                                                              \
    .none = BIT(NORM_F) | BIT(NORM_F_BIAS) | BIT(NORM_DF) | BIT(NORM_DF_BIAS), \
    NORM_IN_PLACE

/* One element, one row, odd widths, 300 rows; without f, its bias, in place. */
static const struct kernel_case norm_forward_case = {
    .kernel = "norm_forward",
    .op = {[NORM_X] = {"x", ROWS, COLS, OUT, .half = true},
           [NORM_Y] = {"y", ROWS, COLS, OUT, .half = true, .slack = 8},
           [NORM_STATS] = {"stats", ROWS, TWO, OUT, .slack = 8},
           [NORM_BASE] = {"base", ROWS, COLS, IN, .half = true, .slack = 8},
           [NORM_F] = {"f", ROWS, COLS, IN, .scale = 2, .half = true},
           [NORM_F_BIAS] = {"f_bias", ONE, COLS, IN, .half = true},
           [NORM_GAIN] = {"gain", ONE, COLS, IN, .shift = 1},
           [NORM_BIAS] = {"bias", ONE, COLS, IN}},
    .run = norm_forward_run,
    .reference = norm_forward_naive,
    .shape = {{.q = {1}, .cols = 1},
              {.q = {1}, .cols = 19, .rate = 0.3},
              {.q = {5, 1, 3}, .cols = 16},
              {.q = {2, 7}, .cols = 33, .rate = 0.1, NORM_IN_PLACE},
              {.q = {3, 4}, .cols = 12, .rate = 0.5, .none = BIT(NORM_F_BIAS)},
              {.q = {3, 4}, .cols = 150, .rate = 0.2, NORM_Y_IN_PLACE},
              {.q = {3, 4}, .cols = 21, .none = BIT(NORM_F_BIAS), NORM_IN_PLACE},
              {.q = {6}, .cols = 10, NORM_NO_F},
              {.q = {6}, .cols = 11, .rate = 0.4, NORM_NO_F},
              {.q = {300}, .cols = 130, .rate = 0.1}},
};

/* In a layer dx replaces dx_later; at the top of a stack there is no dx_later. */
static const struct kernel_case norm_backward_case = {
    .kernel = "norm_backward",
    .op = {[NORM_X] = {"x", ROWS, COLS, SAVED, .half = true},
           [NORM_Y] = {"y", ROWS, COLS, SAVED, .half = true, .slack = 8},
           [NORM_STATS] = {"stats", ROWS, TWO, SAVED},
           [NORM_BASE] = {"base", ROWS, COLS, IN, .half = true},
           [NORM_F] = {"f", ROWS, COLS, IN, .scale = 2, .half = true},
           [NORM_F_BIAS] = {"f_bias", ONE, COLS, IN, .half = true},
           [NORM_GAIN] = {"gain", ONE, COLS, IN, .shift = 1},
           [NORM_BIAS] = {"bias", ONE, COLS, IN},
           [NORM_DY] = {"dy", ROWS, COLS, IN, .seed_of = NORM_Y, .half = true},
           [NORM_LATER] = {"dx_later", ROWS, COLS, IN, .seed_of = NORM_X, .half = true},
           [NORM_DX] = {"dx", ROWS, COLS, OUT, .grad_of = NORM_BASE, .half = true},
           [NORM_DF] = {"df", ROWS, COLS, OUT, .grad_of = NORM_F, .half = true},
           [NORM_DGAIN] = {"dgain", ONE, COLS, ADD, .grad_of = NORM_GAIN},
           [NORM_DBIAS] = {"dbias", ONE, COLS, ADD, .grad_of = NORM_BIAS},
           [NORM_DF_BIAS] = {"df_bias", ONE, COLS, ADD, .grad_of = NORM_F_BIAS,
                             .slack = 16}},
    .run = norm_backward_run,
    .reference = norm_backward_naive,
    .forward = norm_forward_run,
    .forward_reference = norm_forward_naive,
    .shape =
        {{.q = {1}, .cols = 1},
         {.q = {1}, .cols = 19, .rate = 0.3},
         {.q = {5, 1, 3}, .cols = 16, .same = {NORM_DX}, .with = {NORM_LATER}},
         {.q = {2, 4}, .cols = 25, .rate = 0.1, NORM_IN_PLACE},
         {.q = {3, 4},
          .cols = 12,
          .rate = 0.5,
          .none = BIT(NORM_LATER) | BIT(NORM_F_BIAS) | BIT(NORM_DF_BIAS)},
         {.q = {3, 4}, .cols = 21, .none = BIT(NORM_F_BIAS) | BIT(NORM_DF_BIAS)},
         {.q = {6}, .cols = 10, NORM_NO_F},
         {.q = {6},
          .cols = 17,
          .rate = 0.4,
          .none = BIT(NORM_F) | BIT(NORM_F_BIAS) | BIT(NORM_DF) | BIT(NORM_DF_BIAS),
          .same = {NORM_X, NORM_DX},
          .with = {NORM_BASE, NORM_LATER}},
         {.q = {3}, .cols = 300, .rate = 0.2},
         {.q = {300}, .cols = 45, .rate = 0.1, .same = {NORM_DX}, .with = {NORM_LATER}}},
};
