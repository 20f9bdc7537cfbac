/*
 * Sums over rows: gradients of gains and biases, and the whole of relu's backward pass;
 * activate.h and bias.h have more of them.
 *
 *   sum 0 = dgain = sum_r dy h,   sum 1 = dbias = sum_r dy,   sum 2 = df_bias = sum_r df
 *
 * A group adds one share of the rows of COLUMN_WIDTH columns, its items side by side in
 * memory; columns_add adds the shares in order. Both orders follow from the shape alone.
 * part is [3, n_shares, cols].
 */
#pragma once

#include "device/gpu/group.h"

#define COLUMN_LANES (COLUMN_ITEMS / COLUMN_WIDTH) /* rows at a time */

/* Add what the lanes found for a column; the first lane of a column stores it. */
FN void column_store(GLOBAL float *part, struct columns_args a, u32 which, u32 cols,
                     float x, LOCAL float *tmp)
{
    const u32 c = GROUP(0) * COLUMN_WIDTH + ITEM % COLUMN_WIDTH;

    tmp[ITEM] = x;
    BARRIER;
    for (u32 n = COLUMN_LANES / 2; n > 0; n /= 2) {
        if (ITEM < n * COLUMN_WIDTH)
            tmp[ITEM] += tmp[ITEM + n * COLUMN_WIDTH];
        BARRIER;
    }
    if (ITEM < COLUMN_WIDTH && c < cols)
        part[((u64)which * a.n_shares + GROUP(1)) * cols + c] = tmp[ITEM];
    BARRIER;
}

#define FOR_SHARE(r, a, rows)                                \
    for (u32 r = GROUP(1) * (a).share + ITEM / COLUMN_WIDTH; \
         r < (rows) && r < (GROUP(1) + 1) * (a).share; r += COLUMN_LANES)

KERNEL(COLUMN_ITEMS)
void norm_columns(GLOBAL float *part, GLOBAL const stored *x, GLOBAL const stored *dy,
                  GLOBAL const stored *df, GLOBAL const float *stats,
                  struct columns_args a)
{
    SHARED(float, tmp, COLUMN_ITEMS);
    const u32 c = GROUP(0) * COLUMN_WIDTH + ITEM % COLUMN_WIDTH, D = a.x.cols;
    float gain = 0, bias = 0, below = 0;

    if (c < D)
        FOR_SHARE(r, a, a.x.rows)
        {
            const float mean = stats[AT(a.stats, r, 0)], rstd = stats[AT(a.stats, r, 1)];
            const float d = LOAD(dy, AT(a.dy, r, c));
            gain += d * ((LOAD(x, AT(a.x, r, c)) - mean) * rstd);
            bias += d;
            if (df)
                below += LOAD(df, AT(a.df, r, c));
        }
    column_store(part, a, 0, D, gain, tmp);
    column_store(part, a, 1, D, bias, tmp);
    if (df)
        column_store(part, a, 2, D, below, tmp);
}

/* dh = dh / (1 - rate) where h > 0, in place, and its sums. */
KERNEL(COLUMN_ITEMS)
void relu_backward(GLOBAL float *part, GLOBAL stored *dh, GLOBAL const stored *h,
                   struct columns_args a)
{
    SHARED(float, tmp, COLUMN_ITEMS);
    const u32 c = GROUP(0) * COLUMN_WIDTH + ITEM % COLUMN_WIDTH, F = a.x.cols;
    float sum = 0;

    if (c < F)
        FOR_SHARE(r, a, a.x.rows)
        {
            const u64 i = AT(a.dy, r, c);
            const float d = LOAD(h, AT(a.x, r, c)) > 0 ? LOAD(dh, i) * a.keep : 0.0f;
            STORE(dh, i, d);
            sum += d;
        }
    column_store(part, a, 0, F, sum, tmp);
}

KERNEL(COLUMN_ITEMS)
void columns_add(GLOBAL float *out, GLOBAL const float *part, struct columns_args a)
{
    const u32 c = GROUP(0) * COLUMN_ITEMS + ITEM, D = a.x.cols;
    float sum = 0;

    if (c >= D)
        return;
    for (u32 s = 0; s < a.n_shares; s++)
        sum += part[((u64)a.which * a.n_shares + s) * D + c];
    out[a.out + c] += sum;
}
