/* Element-wise passes, the sum of squares and the largest magnitude. */
#pragma once

#include "kernel_cases/case.h"
#include "test.h"

enum { VEC_Y = 1, VEC_X };

typedef double vector_fn(double y, double x);

static inline void vector_each(const struct args *a, vector_fn *fn)
{
    const struct mat y = a->m[VEC_Y], x = a->m[VEC_X];

    for (size_t r = 0; r < y.rows; r++)
        for (size_t c = 0; c < y.cols; c++)
            *at(y, r, c) = fn(*at(y, r, c), x.mem ? *at(x, r, c) : 0);
}

#define VECTOR_PAIR(name, call, value)                                      \
    static inline void name##_run(struct device *d, const struct args *a)   \
    {                                                                       \
        const struct mat y = a->m[VEC_Y], x = a->m[VEC_X];                  \
        (void)x;                                                            \
        d->k->call;                                                         \
    }                                                                       \
    static inline double name##_value(double y, double x)                   \
    {                                                                       \
        (void)y;                                                            \
        (void)x;                                                            \
        return value;                                                       \
    }                                                                       \
    static inline void name##_naive(struct device *d, const struct args *a) \
    {                                                                       \
        (void)d;                                                            \
        vector_each(a, name##_value);                                       \
    }

VECTOR_PAIR(fill, fill(d, y, -1.5), -1.5)
VECTOR_PAIR(scale, scale(d, y, 0.75), 0.75 * y)
VECTOR_PAIR(cast, cast(d, y, x), x)
VECTOR_PAIR(average, average(d, y, x, 0.9), 0.9 * y + 0.1 * x)

/* The sum is a double that the kernel gives back, stored as the only result. */
static inline void sumsq_run(struct device *d, const struct args *a)
{
    double sum = (double)NAN;
    struct err err;

    d->k->sumsq(d, &sum, a->m[VEC_X]);
    CHECK_OK(device_sync(d, &err), &err);
    d->k->fill(d, a->m[VEC_Y], sum);
}

static inline void maxabs_run(struct device *d, const struct args *a)
{
    double max = (double)NAN;
    struct err err;

    d->k->maxabs(d, &max, a->m[VEC_X]);
    CHECK_OK(device_sync(d, &err), &err);
    d->k->fill(d, a->m[VEC_Y], max);
}

static inline void maxabs_naive(struct device *d, const struct args *a)
{
    const struct mat x = a->m[VEC_X];
    double max = 0;

    (void)d;
    for (size_t r = 0; r < x.rows; r++)
        for (size_t c = 0; c < x.cols; c++)
            max = fmax(max, fabs(*at(x, r, c)));
    *at(a->m[VEC_Y], 0, 0) = max;
}

static inline void sumsq_naive(struct device *d, const struct args *a)
{
    const struct mat x = a->m[VEC_X];
    double sum = 0;

    (void)d;
    for (size_t r = 0; r < x.rows; r++)
        for (size_t c = 0; c < x.cols; c++)
            sum += *at(x, r, c) * *at(x, r, c);
    *at(a->m[VEC_Y], 0, 0) = sum;
}

#define VECTOR_SHAPES                                            \
    .shape = {{.q = {1}, .cols = 1},   {.q = {1}, .cols = 1027}, \
              {.q = {3}, .cols = 7},   {.q = {2}, .cols = 9001}, \
              {.q = {300}, .cols = 3}, {.q = {97}, .cols = 131}}

static const struct kernel_case fill_case = {
    .kernel = "fill",
    .op = {[VEC_Y] = {"x", ROWS, COLS, OUT, .half = true}},
    .run = fill_run,
    .reference = fill_naive,
    VECTOR_SHAPES,
};

static const struct kernel_case scale_case = {
    .kernel = "scale",
    .op = {[VEC_Y] = {"x", ROWS, COLS, INOUT, .half = true}},
    .run = scale_run,
    .reference = scale_naive,
    VECTOR_SHAPES,
};

static const struct kernel_case average_case = {
    .kernel = "average",
    .op = {[VEC_Y] = {"y", ROWS, COLS, INOUT}, [VEC_X] = {"x", ROWS, COLS, IN}},
    .run = average_run,
    .reference = average_naive,
    VECTOR_SHAPES,
};

static const struct kernel_case cast_case = {
    .kernel = "cast",
    .op =
        {[VEC_Y] = {"y", ROWS, COLS, OUT, .half = true}, [VEC_X] = {"x", ROWS, COLS, IN}},
    .run = cast_run,
    .reference = cast_naive,
    VECTOR_SHAPES,
};

static const struct kernel_case maxabs_case = {
    .kernel = "maxabs",
    .op = {[VEC_Y] = {"max", ONE, ONE, OUT}, [VEC_X] = {"x", ROWS, COLS, IN}},
    .run = maxabs_run,
    .reference = maxabs_naive,
    VECTOR_SHAPES,
};

static const struct kernel_case sumsq_case = {
    .kernel = "sumsq",
    .op = {[VEC_Y] = {"sum", ONE, ONE, OUT}, [VEC_X] = {"x", ROWS, COLS, IN}},
    .run = sumsq_run,
    .reference = sumsq_naive,
    VECTOR_SHAPES,
};
