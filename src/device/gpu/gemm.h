/*
 * c = alpha op(a) op(b) + beta c, for devices without a library of products.
 *
 * A group makes a tile of 64 x 64 of c, an item 4 x 4 of it, from slices of 16 of the
 * inner dimension in local memory. gemm stores c as a and b are stored, gemm_wide as
 * float: the gradients of parameters.
 */
#pragma once

#include "device/gpu/group.h"

#define GEMM_SLICE 16
#define GEMM_WIDTH (GEMM_TILE + 1)

/* Slice [at, at + GEMM_SLICE) of op(x), transposed: to[k][i] with i along the tile. */
FN void gemm_load(LOCAL float *to, GLOBAL const stored *x, struct gmat m, u32 first,
                  u32 n, u32 at, u32 inner, u32 along_cols)
{
    for (u32 e = ITEM; e < GEMM_TILE * GEMM_SLICE; e += ITEMS) {
        const u32 i = along_cols ? e % GEMM_TILE : e / GEMM_SLICE;
        const u32 k = along_cols ? e / GEMM_TILE : e % GEMM_SLICE;
        const u32 r = along_cols ? at + k : first + i,
                  c = along_cols ? first + i : at + k;
        to[k * GEMM_WIDTH + i] =
            first + i < n && at + k < inner ? LOAD(x, AT(m, r, c)) : 0.0f;
    }
}

FN void gemm_tile(float acc[4][4], GLOBAL const stored *a, GLOBAL const stored *b,
                  struct gemm_args g, LOCAL float *as, LOCAL float *bs)
{
    const u32 ty = ITEM / 16, tx = ITEM % 16;

    for (u32 i = 0; i < 4; i++)
        for (u32 j = 0; j < 4; j++)
            acc[i][j] = 0;
    for (u32 at = 0; at < g.inner; at += GEMM_SLICE) {
        BARRIER;
        gemm_load(as, a, g.a, GROUP(1) * GEMM_TILE, g.c.rows, at, g.inner, g.ta);
        gemm_load(bs, b, g.b, GROUP(0) * GEMM_TILE, g.c.cols, at, g.inner, !g.tb);
        BARRIER;
        for (u32 k = 0; k < GEMM_SLICE; k++) {
            float x[4];
            UNROLL
            for (u32 i = 0; i < 4; i++)
                x[i] = as[k * GEMM_WIDTH + ty + i * 16];
            UNROLL
            for (u32 j = 0; j < 4; j++) {
                const float y = bs[k * GEMM_WIDTH + tx + j * 16];
                UNROLL
                for (u32 i = 0; i < 4; i++)
                    acc[i][j] += x[i] * y;
            }
        }
    }
}

/* Element e of the sixteen that an item makes: 1 when it is inside c. */
FN u32 gemm_inside(struct gemm_args g, u32 e, u64 *at)
{
    const u32 r = GROUP(1) * GEMM_TILE + ITEM / 16 + e / 4 * 16;
    const u32 c = GROUP(0) * GEMM_TILE + ITEM % 16 + e % 4 * 16;

    *at = AT(g.c, r, c);
    return r < g.c.rows && c < g.c.cols;
}

KERNEL(GEMM_ITEMS)
void gemm(GLOBAL stored *c, GLOBAL const stored *a, GLOBAL const stored *b,
          struct gemm_args g)
{
    SHARED(float, as, GEMM_SLICE *GEMM_WIDTH);
    SHARED(float, bs, GEMM_SLICE *GEMM_WIDTH);
    float acc[4][4];
    u64 at;

    gemm_tile(acc, a, b, g, as, bs);
    UNROLL
    for (u32 e = 0; e < 16; e++)
        if (gemm_inside(g, e, &at)) {
            const float old = g.beta == 0 ? 0.0f : g.beta * LOAD(c, at);
            STORE(c, at, g.alpha * acc[e / 4][e % 4] + old);
        }
}

KERNEL(GEMM_ITEMS)
void gemm_wide(GLOBAL float *c, GLOBAL const stored *a, GLOBAL const stored *b,
               struct gemm_args g)
{
    SHARED(float, as, GEMM_SLICE *GEMM_WIDTH);
    SHARED(float, bs, GEMM_SLICE *GEMM_WIDTH);
    float acc[4][4];
    u64 at;

    gemm_tile(acc, a, b, g, as, bs);
    UNROLL
    for (u32 e = 0; e < 16; e++)
        if (gemm_inside(g, e, &at))
            c[at] = g.alpha * acc[e / 4][e % 4] + (g.beta == 0 ? 0.0f : g.beta * c[at]);
}
