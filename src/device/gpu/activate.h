/*
 * Bias, activation, gate and dropout of feed-forward layers, one group a row; backward
 * with its sums over rows as columns.h adds them, sum 1 being that of gates. Formulas:
 * device/cpu/activate.c and base/activation.h, whose numbers ACTIVATE_ follow.
 */
#pragma once

#include "device/gpu/columns.h"

#define ACTIVATE_RELU         0
#define ACTIVATE_SWISH        1
#define ACTIVATE_GELU         2
#define ACTIVATE_GELU_TANH    3
#define ACTIVATE_GELU_SIGMOID 4

/* a(x) and a'(x) */
struct activated {
    float a, slope;
};

FN struct activated activate_normal(float x)
{
    const float e = power_of_e(-x * x / 2.0f);
    const float t = 1.0f / (1.0f + 0.3275911f * 0.70710678f * MAGNITUDE(x));
    float p = 1.061405429f * t - 1.453152027f;
    struct activated v;

    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    p = 1.0f - p * t * e;
    p = (1.0f + (x < 0 ? -p : p)) / 2.0f;
    v.a = x * p;
    v.slope = p + x * e * 0.39894228f;
    return v;
}

/* x s(y), y' given */
FN struct activated activate_logistic(float x, float y, float slope)
{
    const float s = 1.0f / (1.0f + power_of_e(-y));
    struct activated v;

    v.a = x * s;
    v.slope = s + x * s * (1.0f - s) * slope;
    return v;
}

FN struct activated activate_value(float x, u32 act)
{
    const float k = 1.59576912f, c = 0.044715f;
    struct activated v;

    if (act == ACTIVATE_SWISH)
        return activate_logistic(x, x, 1.0f);
    if (act == ACTIVATE_GELU)
        return activate_normal(x);
    if (act == ACTIVATE_GELU_TANH)
        return activate_logistic(x, k * (x + c * x * x * x),
                                 k * (1.0f + 3.0f * c * x * x));
    if (act == ACTIVATE_GELU_SIGMOID)
        return activate_logistic(x, 1.702f * x, 1.702f);
    v.a = x < 0 ? 0.0f : x;
    v.slope = x > 0 ? 1.0f : 0.0f;
    return v;
}

/* z[r,c] + bias[c], which it becomes */
FN float activate_add(GLOBAL stored *z, GLOBAL const stored *bias, struct activate_args a,
                      u32 r, u32 c)
{
    const float x = LOAD(z, AT(a.z, r, c)) + LOAD(bias, a.bias + c);

    STORE(z, AT(a.z, r, c), x);
    return x;
}

KERNEL(ROW_ITEMS)
void activate_forward(GLOBAL stored *h, GLOBAL stored *z, GLOBAL const stored *bias,
                      GLOBAL const i32 *pair, GLOBAL const i32 *pos,
                      struct activate_args a)
{
    const u32 r = GROUP(0), F = a.h.cols;
    const u32 row = hash_of_row(a.drop, pair, pos, r);

    for (u32 c = ITEM; c < F; c += ITEMS) {
        const float x = activate_add(z, bias, a, r, c);
        const float gate = a.has_gate ? activate_add(z, bias, a, r, F + c) : 1.0f;
        STORE(h, AT(a.h, r, c),
              dropped(a.drop, row, c, activate_value(x, a.act).a * gate));
    }
}

/* dz may be z: an item reads both of its elements before it writes them. */
KERNEL(COLUMN_ITEMS)
void activate_backward(GLOBAL float *part, GLOBAL stored *dz, GLOBAL const stored *dh,
                       GLOBAL const stored *z, GLOBAL const i32 *pair,
                       GLOBAL const i32 *pos, struct activate_args a)
{
    SHARED(float, tmp, COLUMN_ITEMS);
    const u32 c = GROUP(0) * COLUMN_WIDTH + ITEM % COLUMN_WIDTH, F = a.h.cols;
    float sum = 0, gates = 0;

    if (c < F)
        FOR_SHARE(r, a.sum, a.h.rows)
        {
            const u32 row = hash_of_row(a.drop, pair, pos, r);
            const float d = dropped(a.drop, row, c, LOAD(dh, AT(a.h, r, c)));
            const struct activated v = activate_value(LOAD(z, AT(a.z, r, c)), a.act);
            const float gate = a.has_gate ? LOAD(z, AT(a.z, r, F + c)) : 1.0f;
            STORE(dz, AT(a.dz, r, c), d * v.slope * gate);
            sum += d * v.slope * gate;
            if (a.has_gate) {
                STORE(dz, AT(a.dz, r, F + c), d * v.a);
                gates += d * v.a;
            }
        }
    column_store(part, a.sum, 0, F, sum, tmp);
    if (a.has_gate)
        column_store(part, a.sum, 1, F, gates, tmp);
}
