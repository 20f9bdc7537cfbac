/*
 * product - a product of int8 under way: what its tiles share, and how their sums become
 * floats, in an order that all variants share.
 *
 *   c[r,n] = scale_a[r] scale_w[n] sum_k a[r,k] q[k,n] + bias[n], no less than 0 with
 * relu
 */
#pragma once

#include "infer/kernel/dot.h"

struct product {
    float *c;
    size_t ldc;
    const struct kernels_input *a;
    const struct linear *w;
    bool relu;
    size_t first, p0;           /* of c */
    size_t panel_bytes, n_deep; /* groups of four inputs */
};

/* Rows [first, first + n) and panels [p0, p1) on the matrix unit; false: there is none,
 * or it does not pay. */
bool KERNEL(multiply_amx)(const struct product *p, size_t n, size_t p1);

/* What the offset of a's bytes adds to a column is taken away from the start. Sums of a
 * foreign file may be anything: what is too large wraps. */
LANES_INLINE struct dot_sum product_start(const struct product *p, size_t col)
{
    struct dot_sum sum = dot_load(p->w->sum + col);

    LANES_UNROLL
    for (int i = 0; i < LANES_VECS; i++)
        sum.v[i] = (dot_vec)((dot_bits)sum.v[i] * -(uint32_t)DOT_OFFSET);
    return sum;
}

/* Sixteen sums become numbers. */
LANES_INLINE void product_finish(const struct product *p, struct dot_sum sum, size_t row,
                                 size_t col)
{
    const struct lanes by = lanes_load(p->w->scale + col);
    struct lanes x;

    LANES_UNROLL
    for (int i = 0; i < LANES_VECS; i++)
        x.v[i] = __builtin_convertvector(sum.v[i], lanes_vec);
    x = lanes_mul(lanes_mul(x, by), lanes_all(p->a->scale[row]));
    if (p->w->bias)
        x = lanes_add(x, lanes_load(p->w->bias + col));
    if (p->relu)
        x = lanes_max(lanes_all(0), x);
    lanes_store(p->c + (row - p->first) * p->ldc + col - p->p0 * LINEAR_PANEL, x);
}
