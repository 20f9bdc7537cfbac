/*
 * Cross-entropy of two views and their divergences, one group a token; formulas:
 * device/cpu/xent_views.c.
 */
#pragma once

#include "device/gpu/xent.h"

KERNEL(EACH_ITEMS)
void xent_views(GLOBAL float *loss, GLOBAL float *gap, GLOBAL stored *x, GLOBAL stored *y,
                GLOBAL const i32 *label, GLOBAL const float *prior,
                struct xent_views_args a)
{
    SHARED(float, tmp, EACH_ITEMS);
    const u32 r = GROUP(0), V = a.logits.cols, t = (u32)label[a.label + r];
    const u64 x_at = AT(a.logits, r, 0), y_at = AT(a.other, r, 0);
    const float x_top = row_max(x, x_at, V, tmp), y_top = row_max(y, y_at, V, tmp);
    const float x_sum = row_exp_sum(x, x_at, V, x_top, tmp);
    const float y_sum = row_exp_sum(y, y_at, V, y_top, tmp);
    const float shift = LOG(y_sum) - LOG(x_sum);
    float x_apart = 0, y_apart = 0; /* sum_v exp(x_v - top) (x_v - y_v), and of y */

    for (u32 v = ITEM; v < V; v += ITEMS) {
        const float zx = LOAD(x, x_at + v) - x_top, zy = LOAD(y, y_at + v) - y_top;
        x_apart += power_of_e(zx) * (zx - zy);
        y_apart += power_of_e(zy) * (zy - zx);
    }
    const float A = group_sum(x_apart, tmp) / x_sum + shift;
    const float B = group_sum(y_apart, tmp) / y_sum - shift;
    const float x_loss = row_loss(x, x_at, V, t, x_top, LOG(x_sum), prior, a.smooth, tmp);
    const float y_loss = row_loss(y, y_at, V, t, y_top, LOG(y_sum), prior, a.smooth, tmp);

    if (ITEM == 0) {
        loss[AT(a.loss, r, 0)] = a.xent[0] * x_loss + a.xent[1] * y_loss;
        gap[AT(a.gap, r, 0)] = a.kl[0] * A + a.kl[1] * B;
    }
    if (a.grad == 0)
        return;
    for (u32 v = ITEM; v < V; v += ITEMS) {
        const float zx = LOAD(x, x_at + v) - x_top, zy = LOAD(y, y_at + v) - y_top;
        const float p = power_of_e(zx) / x_sum, q = power_of_e(zy) / y_sum;
        const float d = zx - zy + shift, want = target_of(prior, a.smooth, v, t);
        const float dx =
            a.xent[0] * (p - want) + a.kl[0] * p * (d - A) + a.kl[1] * (p - q);
        const float dy =
            a.xent[1] * (q - want) + a.kl[0] * (q - p) - a.kl[1] * q * (d + B);
        STORE(x, x_at + v, a.grad * dx);
        STORE(y, y_at + v, a.grad * dy);
    }
}
