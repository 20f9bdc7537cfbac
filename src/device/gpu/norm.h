/*
 * Residual, dropout and layer normalisation, one group a row; formulas:
 * device/cpu/norm.c.
 *
 * Gradients of gain and bias are sums over rows: columns.h.
 */
#pragma once

#include "device/gpu/group.h"

KERNEL(ROW_ITEMS)
void norm_forward(GLOBAL stored *x, GLOBAL stored *y, GLOBAL float *stats,
                  GLOBAL const stored *base, GLOBAL const stored *f,
                  GLOBAL const stored *f_bias, GLOBAL const float *gain,
                  GLOBAL const float *bias, GLOBAL const i32 *pair, GLOBAL const i32 *pos,
                  struct norm_args a)
{
    SHARED(float, tmp, ROW_ITEMS);
    const u32 r = GROUP(0), D = a.x.cols;
    const u32 row = f ? hash_of_row(a.drop, pair, pos, r) : 0;
    float sum = 0, square = 0;

    for (u32 c = ITEM; c < D; c += ITEMS) {
        if (f) {
            const float add =
                LOAD(f, AT(a.f, r, c)) + (f_bias ? LOAD(f_bias, a.f_bias + c) : 0.0f);
            STORE(x, AT(a.x, r, c),
                  LOAD(base, AT(a.base, r, c)) + dropped(a.drop, row, c, add));
        }
        sum += LOAD(x, AT(a.x, r, c));
    }
    const float mean = group_sum(sum, tmp) / (float)D;
    for (u32 c = ITEM; c < D; c += ITEMS) {
        const float v = LOAD(x, AT(a.x, r, c)) - mean;
        square += v * v;
    }
    const float rstd = 1.0f / ROOT(group_sum(square, tmp) / (float)D + a.epsilon);
    for (u32 c = ITEM; c < D; c += ITEMS)
        STORE(y, AT(a.y, r, c),
              gain[a.gain + c] * ((LOAD(x, AT(a.x, r, c)) - mean) * rstd) +
                  bias[a.bias + c]);
    if (ITEM == 0) {
        stats[AT(a.stats, r, 0)] = mean;
        stats[AT(a.stats, r, 1)] = rstd;
    }
}

/* a.y is dx, a.base dx_later, a.f df. */
KERNEL(ROW_ITEMS)
void norm_backward(GLOBAL stored *dx, GLOBAL stored *df, GLOBAL const stored *dy,
                   GLOBAL const stored *later, GLOBAL const stored *x,
                   GLOBAL const float *stats, GLOBAL const float *gain,
                   GLOBAL const i32 *pair, GLOBAL const i32 *pos, struct norm_args a)
{
    SHARED(float, tmp, ROW_ITEMS);
    const u32 r = GROUP(0), D = a.x.cols;
    const u32 row = df ? hash_of_row(a.drop, pair, pos, r) : 0;
    const float mean = stats[AT(a.stats, r, 0)], rstd = stats[AT(a.stats, r, 1)];
    float g_sum = 0, gh_sum = 0;

    for (u32 c = ITEM; c < D; c += ITEMS) {
        const float g = gain[a.gain + c] * LOAD(dy, AT(a.dy, r, c));
        g_sum += g;
        gh_sum += g * ((LOAD(x, AT(a.x, r, c)) - mean) * rstd);
    }
    const float g_mean = group_sum(g_sum, tmp) / (float)D;
    const float gh_mean = group_sum(gh_sum, tmp) / (float)D;
    for (u32 c = ITEM; c < D; c += ITEMS) {
        const float g = gain[a.gain + c] * LOAD(dy, AT(a.dy, r, c));
        const float h = (LOAD(x, AT(a.x, r, c)) - mean) * rstd;
        const float d = (later ? LOAD(later, AT(a.base, r, c)) : 0.0f) +
                        rstd * (g - g_mean - h * gh_mean);
        STORE(dx, AT(a.y, r, c), d);
        if (df)
            STORE(df, AT(a.f, r, c), dropped(a.drop, row, c, d));
    }
}
