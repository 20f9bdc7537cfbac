/*
 * Attention of one query a row, for decoding; one group for a row and head. Formulas:
 * device/cpu/attend.c. Keys go through local memory ATTEND_KEYS at a time, with a running
 * maximum and sum, so that any number of them fits.
 */
#pragma once

#include "device/gpu/group.h"

struct attend_row {
    u32 r, h, n;
    u64 first; /* of the row's list of keys */
};

FN u64 attend_key(struct attend_args a, struct attend_row w, GLOBAL const i32 *list,
                  u32 is_cache, u32 t)
{
    return is_cache ? (u64)t * a.rows + (u32)list[w.first + t] : w.first + t;
}

FN void attend_tile(LOCAL float *to, GLOBAL const stored *x, struct gmat m,
                    struct attend_args a, struct attend_row w, GLOBAL const i32 *list,
                    u32 is_cache, u32 at, u32 n)
{
    for (u32 i = ITEM; i < n * a.d; i += ITEMS) {
        const u32 t = i / a.d, c = i % a.d;
        to[t * (HEAD_MAX + 1) + c] =
            LOAD(x, AT(m, attend_key(a, w, list, is_cache, at + t), w.h * a.d + c));
    }
}

/* Channels ITEM and ITEM + ATTEND_ITEMS of the result are this item's. */
FN void attend(GLOBAL stored *out, GLOBAL const stored *q, GLOBAL const stored *k,
               GLOBAL const stored *v, struct attend_args a, struct attend_row w,
               GLOBAL const i32 *list, u32 is_cache, LOCAL float *tile, LOCAL float *p,
               LOCAL float *qs)
{
    float top = -INFINITE, sum = 0, acc[2] = {0, 0};

    for (u32 c = ITEM; c < a.d; c += ITEMS)
        qs[c] = LOAD(q, AT(a.q, w.r, w.h * a.d + c)) * a.scale;
    for (u32 at = 0; at < w.n; at += ATTEND_KEYS) {
        const u32 n = w.n - at < ATTEND_KEYS ? w.n - at : ATTEND_KEYS;
        float most = top;
        BARRIER;
        attend_tile(tile, k, a.k, a, w, list, is_cache, at, n);
        BARRIER;
        if (ITEM < n) {
            float dot = 0;
            for (u32 c = 0; c < a.d; c++)
                dot += qs[c] * tile[ITEM * (HEAD_MAX + 1) + c];
            p[ITEM] = dot;
        }
        BARRIER;
        for (u32 t = 0; t < n; t++)
            most = p[t] > most ? p[t] : most;
        attend_tile(tile, v, a.v, a, w, list, is_cache, at, n);
        BARRIER;
        const float old = top == -INFINITE ? 0.0f : power_of_e(top - most);
        top = most;
        sum *= old;
        acc[0] *= old;
        acc[1] *= old;
        for (u32 t = 0; t < n; t++) {
            const float e = power_of_e(p[t] - top);
            sum += e;
            for (u32 i = 0; i < 2; i++)
                if (ITEM + i * ATTEND_ITEMS < a.d)
                    acc[i] += e * tile[t * (HEAD_MAX + 1) + ITEM + i * ATTEND_ITEMS];
        }
    }
    for (u32 i = 0; i < 2; i++)
        if (ITEM + i * ATTEND_ITEMS < a.d)
            STORE(out, AT(a.out, w.r, w.h * a.d + ITEM + i * ATTEND_ITEMS), acc[i] / sum);
}

KERNEL(ATTEND_ITEMS)
void attend_cache(GLOBAL stored *out, GLOBAL const stored *q, GLOBAL const stored *k,
                  GLOBAL const stored *v, GLOBAL const i32 *physical,
                  struct attend_args a)
{
    SHARED(float, tile, ATTEND_KEYS *(HEAD_MAX + 1));
    SHARED(float, p, ATTEND_KEYS);
    SHARED(float, qs, HEAD_MAX);
    struct attend_row w;

    w.r = GROUP(0);
    w.h = GROUP(1);
    w.n = a.len;
    w.first = a.first + (u64)w.r * a.len;
    attend(out, q, k, v, a, w, physical, 1, tile, p, qs);
}

KERNEL(ATTEND_ITEMS)
void attend_memory(GLOBAL stored *out, GLOBAL const stored *q, GLOBAL const stored *k,
                   GLOBAL const stored *v, GLOBAL const i32 *first,
                   GLOBAL const i32 *last, struct attend_args a)
{
    SHARED(float, tile, ATTEND_KEYS *(HEAD_MAX + 1));
    SHARED(float, p, ATTEND_KEYS);
    SHARED(float, qs, HEAD_MAX);
    struct attend_row w;

    w.r = GROUP(0);
    w.h = GROUP(1);
    w.first = (u64)(u32)first[a.first + w.r];
    w.n = (u32)last[a.last + w.r] - (u32)w.first;
    attend(out, q, k, v, a, w, first, 0, tile, p, qs);
}
