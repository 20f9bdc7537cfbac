/*
 * Label-smoothed cross-entropy, one group a row of logits; formulas: device/cpu/xent.c.
 *
 * The row is read from the cache three times: maximum and sum, exponentials, gradient.
 */
#pragma once

#include "device/gpu/group.h"

FN float row_max(GLOBAL const stored *z, u64 at, u32 V, LOCAL float *tmp)
{
    float top = -INFINITE;

    for (u32 v = ITEM; v < V; v += ITEMS) {
        const float x = LOAD(z, at + v);
        top = x > top ? x : top;
    }
    return group_max(top, tmp);
}

FN float row_exp_sum(GLOBAL const stored *z, u64 at, u32 V, float top, LOCAL float *tmp)
{
    float sum = 0;

    for (u32 v = ITEM; v < V; v += ITEMS)
        sum += power_of_e(LOAD(z, at + v) - top);
    return group_sum(sum, tmp);
}

/* The first id whose logit is `top`; without one the last. */
FN u32 row_first(GLOBAL const stored *z, u64 at, u32 V, float top, LOCAL u32 *tmp)
{
    u32 first = V - 1;

    for (u32 v = ITEM; v < V; v += ITEMS)
        if (LOAD(z, at + v) == top && v < first)
            first = v;
    return group_min(first, tmp);
}

FN float xlogx(float x)
{
    return x > 0 ? x * LOG(x) : 0.0f;
}

/* The wanted probability of id v in a row with label t. */
FN float target_of(GLOBAL const float *prior, struct gsmoothing s, u32 v, u32 t)
{
    const float other = prior ? s.rate * prior[s.prior + v] : s.low;

    return v == t ? 1.0f - s.rate + (prior ? other : 0.0f) : other;
}

FN float target_entropy(GLOBAL const float *prior, struct gsmoothing s, u32 t)
{
    if (!prior)
        return s.entropy;
    const float su = s.rate * prior[s.prior + t];
    return s.entropy + xlogx(su) - xlogx(1.0f - s.rate + su);
}

/* Cross-entropy less its least. -sum q log p = lse - z_t - sum q (z_v - z_t), because q
 * adds up to 1. */
FN float row_loss(GLOBAL const stored *z, u64 at, u32 V, u32 t, float top, float log_sum,
                  GLOBAL const float *prior, struct gsmoothing s, LOCAL float *tmp)
{
    const float hit = LOAD(z, at + t);
    float total = 0;

    for (u32 v = ITEM; v < V; v += ITEMS)
        total += (prior ? prior[s.prior + v] : 1.0f) * (LOAD(z, at + v) - hit);
    total = group_sum(total, tmp);
    return top - hit + log_sum - (prior ? s.rate : s.low) * total -
           target_entropy(prior, s, t);
}

KERNEL(EACH_ITEMS)
void xent(GLOBAL float *loss, GLOBAL i32 *best, GLOBAL stored *logits,
          GLOBAL const i32 *label, GLOBAL const float *prior, struct xent_args a)
{
    SHARED(float, tmp, EACH_ITEMS);
    SHARED(u32, places, EACH_ITEMS);
    const u32 r = GROUP(0), V = a.logits.cols, t = (u32)label[a.label + r];
    const u64 at = AT(a.logits, r, 0);
    const float top = row_max(logits, at, V, tmp);

    if (best) {
        const u32 first = row_first(logits, at, V, top, places);
        if (ITEM == 0)
            best[a.best + r] = (i32)first;
    }
    const float sum = row_exp_sum(logits, at, V, top, tmp);
    const float x = row_loss(logits, at, V, t, top, LOG(sum), prior, a.smooth, tmp);
    if (ITEM == 0)
        loss[AT(a.loss, r, 0)] = x;
    if (a.grad == 0)
        return;
    for (u32 v = ITEM; v < V; v += ITEMS) {
        const float p = power_of_e(LOAD(logits, at + v) - top) / sum;
        const float q = target_of(prior, a.smooth, v, t);
        STORE(logits, at + v, a.grad * (p - q));
    }
}
