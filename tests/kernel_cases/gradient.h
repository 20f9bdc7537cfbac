/*
 * gradient - a backward kernel against finite differences of its forward kernel.
 *
 * With L = sum of seed * output over the operands that have a seed, every result that is
 * the gradient of an operand must equal (L(x + h) - L(x - h)) / 2h, element by element,
 * in double. Operands of more than GRADIENT_ALL elements are sampled.
 */
#pragma once

#include "kernel_cases/agree.h"

enum { GRADIENT_ALL = 160, GRADIENT_SAMPLE = 24 };
#define GRADIENT_STEP      1e-5
#define GRADIENT_TOLERANCE 1e-7

static inline size_t gradient_element(struct mat m, size_t i)
{
    return m.at + i / m.cols * m.stride + i % m.cols;
}

static inline double gradient_objective(const struct rig *rig, const struct sheet *s)
{
    double sum = 0;

    for (int o = 1; o < CASE_OPS; o++) {
        const struct mat seed = s->args.m[o], out = s->args.m[s->k->op[o].seed_of];
        if (!s->k->op[o].seed_of || !seed.rows || !out.rows)
            continue;
        for (size_t i = 0; i < seed.rows * seed.cols; i++)
            sum += s->real[gradient_element(seed, i)] *
                   reals_get(rig->device, rig->after, gradient_element(out, i));
    }
    return sum;
}

/* L with element e of the given block moved to x. */
static inline double gradient_value(struct rig *rig, const struct sheet *s, size_t e,
                                    double x)
{
    const double keep = reals_get(rig->device, rig->before, e);

    reals_put(rig->device, rig->before, e, x);
    rig_load(rig, s);
    s->k->forward(rig->device, &rig->args);
    rig_store(rig);
    reals_put(rig->device, rig->before, e, keep);
    return gradient_objective(rig, s);
}

static inline void gradient_of(struct rig *rig, const struct sheet *s, int grad,
                               const double *result, size_t shape)
{
    const struct operand *op = &s->k->op[grad];
    const struct mat g = s->args.m[grad], m = s->args.m[op->grad_of];
    const size_t n = m.rows * m.cols;
    struct rng r = rng_open(rng_key(test_seed(), "sample"));

    for (size_t k = 0; k < (n <= GRADIENT_ALL ? n : GRADIENT_SAMPLE); k++) {
        const size_t i = n <= GRADIENT_ALL ? k : rng_below(&r, n);
        const size_t e = gradient_element(m, i), ge = gradient_element(g, i);
        const double x = reals_get(rig->device, rig->before, e);
        const double up = gradient_value(rig, s, e, x + GRADIENT_STEP);
        const double down = gradient_value(rig, s, e, x - GRADIENT_STEP);
        const double want = (up - down) / (2 * GRADIENT_STEP);
        const double got = result[ge] - (op->role == ADD ? s->real[ge] : 0);
        if (!agree_near(got, want, GRADIENT_TOLERANCE))
            test_fail(__FILE__, __LINE__, "%s, shape %zu: %s[%zu] is %.12g, want %.12g",
                      s->k->kernel, shape, op->name, i, got, want);
    }
}

static inline void case_gradient(const struct kernel_case *k)
{
    struct device d;

    reals_device(&d, "double", 1);
    for (size_t i = 0; i < CASE_SHAPES && k->shape[i].q[0]; i++) {
        struct sheet s;
        struct rig rig;

        sheet_open(&s, k, &k->shape[i], DENSE);
        rig_open(&rig, &d, &s);
        k->forward(&d, &rig.args);
        k->run(&d, &rig.args);
        rig_store(&rig);
        double *result =
            memcpy(malloc(s.n * sizeof *result), rig.after, s.n * sizeof *result);
        for (int o = 1; o < CASE_OPS; o++)
            if (k->op[o].grad_of && s.args.m[o].rows && s.args.m[k->op[o].grad_of].rows)
                gradient_of(&rig, &s, o, result, i);
        free(result);
        rig_close(&rig);
        sheet_close(&s);
    }
    device_close(&d);
}
