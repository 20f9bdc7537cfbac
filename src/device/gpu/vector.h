/*
 * Element-wise passes, optimizers, and reductions of a whole matrix.
 *
 * A group of an element-wise pass takes one part of one row, so that the flat array of
 * all parameters (one row) and a tensor within it (many) are the same to it. A reduction
 * leaves a partial result for each group, in an order that depends on the shape alone;
 * one group then adds those. Formulas: device/cpu/vector.c.
 */
#pragma once

#include "device/gpu/group.h"

/* Elements [begin, end) of its row are this group's. */
struct part {
    u32 row, begin, end;
};

FN struct part part_of(u32 cols, u32 chunks)
{
    const u32 size = (cols + chunks - 1) / chunks, at = GROUP(0) % chunks * size;
    struct part p;

    p.row = GROUP(0) / chunks;
    p.begin = at < cols ? at : cols;
    p.end = cols - p.begin < size ? cols : p.begin + size;
    return p;
}

#define FOR_PART(c, p) for (u32 c = (p).begin + ITEM; c < (p).end; c += ITEMS)

KERNEL(EACH_ITEMS) void fill(GLOBAL stored *y, struct each_args a)
{
    const struct part p = part_of(a.y.cols, a.chunks);

    FOR_PART(c, p)
    STORE(y, AT(a.y, p.row, c), a.by);
}

KERNEL(EACH_ITEMS) void scale(GLOBAL stored *y, struct each_args a)
{
    const struct part p = part_of(a.y.cols, a.chunks);

    FOR_PART(c, p)
    STORE(y, AT(a.y, p.row, c), LOAD(y, AT(a.y, p.row, c)) * a.by);
}

KERNEL(EACH_ITEMS)
void average(GLOBAL float *y, GLOBAL const float *x, struct each_args a)
{
    const struct part p = part_of(a.y.cols, a.chunks);

    FOR_PART(c, p)
    {
        const u64 i = AT(a.y, p.row, c);
        y[i] += a.by * (x[AT(a.x, p.row, c)] - y[i]);
    }
}

/* by = 1: what is too large becomes infinite, as the result of a product does. */
KERNEL(EACH_ITEMS)
void cast(GLOBAL stored *y, GLOBAL const float *x, struct each_args a)
{
    const struct part p = part_of(a.y.cols, a.chunks);

    FOR_PART(c, p)
    {
        const float from = x[AT(a.x, p.row, c)];
        STORE(y, AT(a.y, p.row, c), a.by == 1 ? from : to_finite(from));
    }
}

KERNEL(EACH_ITEMS)
void widen(GLOBAL float *y, GLOBAL const stored *x, struct each_args a)
{
    const struct part p = part_of(a.y.cols, a.chunks);

    FOR_PART(c, p)
    y[AT(a.y, p.row, c)] = LOAD(x, AT(a.x, p.row, c));
}

KERNEL(EACH_ITEMS)
void adam(GLOBAL float *w, GLOBAL float *m, GLOBAL float *v, GLOBAL const float *g,
          struct adam_args a)
{
    const struct part p = part_of(a.w.cols, a.chunks);

    FOR_PART(c, p)
    {
        const u64 i = AT(a.w, p.row, c), j = AT(a.m, p.row, c), k = AT(a.v, p.row, c);
        const float x = g[AT(a.g, p.row, c)] * a.scale;
        const float first = m[j] + a.rest1 * (x - m[j]);
        const float second = v[k] + a.rest2 * (x * x - v[k]);
        m[j] = first;
        v[k] = second;
        w[i] -= a.decay * w[i] + a.rate * (first / (ROOT(second) + a.epsilon));
    }
}

KERNEL(EACH_ITEMS)
void novograd(GLOBAL float *w, GLOBAL float *m, GLOBAL const float *g,
              struct novograd_args a)
{
    const struct part p = part_of(a.w.cols, a.chunks);

    FOR_PART(c, p)
    {
        const u64 i = AT(a.w, p.row, c), j = AT(a.m, p.row, c);
        m[j] = a.beta1 * m[j] + (a.scale * g[AT(a.g, p.row, c)] + a.decay * w[i]);
        w[i] -= a.rate * m[j];
    }
}

/* The larger, or the one that is not a number. */
FN wide larger(wide x, wide y)
{
    return x != x ? x : y > x || y != y ? y : x;
}

GROUP_FOLD(wide, group_add, GROUP_PLUS)
GROUP_FOLD(wide, group_larger, larger)

KERNEL(EACH_ITEMS)
void squares(GLOBAL wide *part, GLOBAL const float *x, struct reduce_args a)
{
    SHARED(wide, tmp, EACH_ITEMS);
    struct part p = part_of(a.x.cols, a.chunks);
    wide sum = 0;

    for (u32 r = p.row * a.rows; r < a.x.rows && r < (p.row + 1) * a.rows; r++)
        FOR_PART(c, p)
        {
            const wide v = x[AT(a.x, r, c)];
            sum += v * v;
        }
    sum = group_add(sum, tmp);
    if (ITEM == 0)
        part[GROUP(0)] = sum;
}

KERNEL(EACH_ITEMS)
void largest(GLOBAL wide *part, GLOBAL const float *x, struct reduce_args a)
{
    SHARED(wide, tmp, EACH_ITEMS);
    struct part p = part_of(a.x.cols, a.chunks);
    wide top = 0;

    for (u32 r = p.row * a.rows; r < a.x.rows && r < (p.row + 1) * a.rows; r++)
        FOR_PART(c, p)
    top = larger(top, MAGNITUDE(x[AT(a.x, r, c)]));
    top = group_larger(top, tmp);
    if (ITEM == 0)
        part[GROUP(0)] = top;
}

KERNEL(EACH_ITEMS)
void reduce_sum(GLOBAL wide *to, GLOBAL const wide *part, struct reduce_args a)
{
    SHARED(wide, tmp, EACH_ITEMS);
    wide sum = 0;

    for (u64 i = ITEM; i < a.n; i += ITEMS)
        sum += part[i];
    sum = group_add(sum, tmp);
    if (ITEM == 0)
        to[a.to] = sum;
}

KERNEL(EACH_ITEMS)
void reduce_max(GLOBAL wide *to, GLOBAL const wide *part, struct reduce_args a)
{
    SHARED(wide, tmp, EACH_ITEMS);
    wide top = 0;

    for (u64 i = ITEM; i < a.n; i += ITEMS)
        top = larger(top, part[i]);
    top = group_larger(top, tmp);
    if (ITEM == 0)
        to[a.to] = top;
}
