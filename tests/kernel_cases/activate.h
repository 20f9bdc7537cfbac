/* z += bias, h = drop(act(z)) or drop(act(u) * v) of z = u|v; `inner`: columns of z. */
#pragma once

#include "kernel_cases/case.h"
#include "kernel_cases/mask.h"

enum { ACT_H = 1, ACT_Z, ACT_BIAS, ACT_DH, ACT_DZ, ACT_DBIAS };

static inline void activate_forward_run(struct device *d, const struct args *a)
{
    d->k->activate_forward(d, a->m[ACT_H], a->m[ACT_Z], a->m[ACT_BIAS], a->shape->act,
                           case_drop(a));
}

static inline double activate_logistic(double y)
{
    return 1 / (1 + exp(-y));
}

static inline double activate_naive(double x, enum activation act)
{
    switch (act) {
    case ACTIVATION_SWISH:
        return x * activate_logistic(x);
    case ACTIVATION_GELU:
        return x * erfc(-x / sqrt(2)) / 2;
    case ACTIVATION_GELU_TANH:
        return x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * pow(x, 3))));
    case ACTIVATION_GELU_SIGMOID:
        return x * activate_logistic(1.702 * x);
    default:
        return fmax(0, x);
    }
}

static inline double activate_slope(double x, enum activation act)
{
    const double s = activate_logistic(act == ACTIVATION_GELU_SIGMOID ? 1.702 * x : x);
    const double root = sqrt(2 / acos(-1)), t = tanh(root * (x + 0.044715 * pow(x, 3)));

    switch (act) {
    case ACTIVATION_SWISH:
        return s * (1 + x * (1 - s));
    case ACTIVATION_GELU:
        return erfc(-x / sqrt(2)) / 2 + x * exp(-x * x / 2) / sqrt(2 * acos(-1));
    case ACTIVATION_GELU_TANH:
        return (1 + t) / 2 + x / 2 * (1 - t * t) * root * (1 + 3 * 0.044715 * x * x);
    case ACTIVATION_GELU_SIGMOID:
        return s * (1 + 1.702 * x * (1 - s));
    default:
        return x > 0;
    }
}

static inline void activate_forward_naive(struct device *d, const struct args *a)
{
    const struct mat h = a->m[ACT_H], z = a->m[ACT_Z];

    (void)d;
    for (size_t r = 0; r < h.rows; r++) {
        for (size_t c = 0; c < z.cols; c++)
            *at(z, r, c) += *at(a->m[ACT_BIAS], 0, c);
        for (size_t c = 0; c < h.cols; c++)
            *at(h, r, c) = mask(case_drop(a), r, c) *
                           activate_naive(*at(z, r, c), a->shape->act) *
                           (z.cols > h.cols ? *at(z, r, h.cols + c) : 1);
    }
}

static inline void activate_backward_run(struct device *d, const struct args *a)
{
    d->k->activate_backward(d, a->m[ACT_DZ], a->m[ACT_DBIAS], a->m[ACT_DH], a->m[ACT_Z],
                            a->shape->act, case_drop(a));
}

static inline void activate_backward_naive(struct device *d, const struct args *a)
{
    const struct mat dh = a->m[ACT_DH], z = a->m[ACT_Z], dz = a->m[ACT_DZ];
    const struct mat dbias = a->m[ACT_DBIAS];

    (void)d;
    for (size_t r = 0; r < dh.rows; r++)
        for (size_t c = 0; c < dh.cols; c++) {
            const double g = mask(case_drop(a), r, c) * *at(dh, r, c);
            const double x = *at(z, r, c);
            const bool has_gate = z.cols > dh.cols;
            const double gate = has_gate ? *at(z, r, dh.cols + c) : 1;
            *at(dz, r, c) = g * gate * activate_slope(x, a->shape->act);
            *at(dbias, 0, c) += *at(dz, r, c);
            if (!has_gate)
                continue;
            *at(dz, r, dh.cols + c) = g * activate_naive(x, a->shape->act);
            *at(dbias, 0, dh.cols + c) += *at(dz, r, dh.cols + c);
        }
}

#define ACT_IN_PLACE .same = {ACT_DZ}, .with = {ACT_Z}
/* clang-format off */
#define ACT_SHAPES(PLACE)                                                                  \
    .shape = {{.q = {1}, .cols = 1, .inner = 1, .act = ACTIVATION_SWISH},                  \
              {.q = {1}, .cols = 23, .inner = 23, .rate = 0.3, .act = ACTIVATION_GELU},    \
              {.q = {5, 1, 3}, .cols = 16, .inner = 32, .act = ACTIVATION_RELU PLACE},     \
              {.q = {5}, .cols = 17, .inner = 34, .rate = 0.2, .act = ACTIVATION_SWISH},   \
              {.q = {2, 3}, .cols = 31, .inner = 31, .rate = 0.5, .act = ACTIVATION_GELU_TANH}, \
              {.q = {3}, .cols = 300, .inner = 300, .act = ACTIVATION_GELU_SIGMOID PLACE}, \
              {.q = {3}, .cols = 130, .inner = 260, .rate = 0.1, .act = ACTIVATION_GELU PLACE}, \
              {.q = {300}, .cols = 70, .inner = 140, .rate = 0.1, .act = ACTIVATION_GELU_TANH}}
/* clang-format on */

static const struct kernel_case activate_forward_case = {
    .kernel = "activate_forward",
    .op = {[ACT_H] = {"h", ROWS, COLS, OUT, .half = true, .slack = 4},
           [ACT_Z] = {"z", ROWS, INNER, INOUT, .gap = 0.5, .scale = 3, .half = true},
           [ACT_BIAS] = {"bias", ONE, INNER, IN, .scale = 0.25, .half = true}},
    .run = activate_forward_run,
    .reference = activate_forward_naive,
    ACT_SHAPES(),
};

static const struct kernel_case activate_backward_case = {
    .kernel = "activate_backward",
    .op = {[ACT_H] = {"h", ROWS, COLS, SAVED, .half = true},
           [ACT_Z] = {"z", ROWS, INNER, SAVED, .gap = 0.5, .scale = 3, .half = true},
           [ACT_BIAS] = {"bias", ONE, INNER, IN, .scale = 0.25, .half = true},
           [ACT_DH] = {"dh", ROWS, COLS, IN, .seed_of = ACT_H, .half = true},
           [ACT_DZ] = {"dz", ROWS, INNER, OUT, .grad_of = ACT_Z, .half = true},
           [ACT_DBIAS] = {"dbias", ONE, INNER, ADD, .grad_of = ACT_BIAS}},
    .run = activate_backward_run,
    .reference = activate_backward_naive,
    .forward = activate_forward_run,
    .forward_reference = activate_forward_naive,
#define AND_IN_PLACE , ACT_IN_PLACE
    ACT_SHAPES(AND_IN_PLACE),
};
