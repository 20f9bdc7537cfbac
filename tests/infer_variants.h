/*
 * infer_variants - the kernels of inference that run here: those that the program would
 * choose among, and on x86 the loops of the matrix unit over an emulated one.
 */
#pragma once

#include "device/processor.h"
#include "guarded.h"
#include "infer/kernels.h"

#if defined(__x86_64__)
extern const struct infer_kernels infer_amx_emulated_kernels;
#endif

enum { INFER_VARIANTS = 8 };

struct infer_variants {
    const struct infer_kernels *k[INFER_VARIANTS];
    size_t n;
};

static inline struct infer_variants infer_variants(void)
{
    struct infer_variants v;

    v.n = kernels_variants(v.k, INFER_VARIANTS - 1);
#if defined(__x86_64__)
    if (processor_has_dot_product())
        v.k[v.n++] = &infer_amx_emulated_kernels;
#endif
    return v;
}

/* What a variant adds to a byte: the byte of 0. */
static inline int infer_offset(const struct infer_kernels *k)
{
    float real[16] = {0}, scale;
    uint8_t byte[64];
    const struct kernels_input a = {real, 16, byte, sizeof byte, &scale, 1};

    k->quantise(&a, 0, 1);
    return byte[0];
}

/* Rows of n columns with all their padding; real is zero behind n. */
static inline struct kernels_input infer_input(size_t n_rows, size_t n, size_t extra)
{
    struct kernels_input a = {.stride = linear_round(n, 16) + extra,
                              .byte_stride = linear_round(n, 64) + (extra ? 64 : 0),
                              .n = n};

    a.real = guarded_floats(n_rows * a.stride);
    a.byte = guarded_bytes(n_rows * a.byte_stride);
    a.scale = guarded_floats(n_rows);
    for (size_t r = 0; r < n_rows; r++)
        for (size_t i = n; i < linear_round(n, 16); i++)
            a.real[r * a.stride + i] = 0;
    return a;
}

static inline void infer_fill(const struct kernels_input *a, size_t n_rows, struct rng *r)
{
    for (size_t row = 0; row < n_rows; row++)
        for (size_t i = 0; i < a->n; i++)
            a->real[row * a->stride + i] = guarded_unit(r);
}

/* A matrix packed from random values. */
struct infer_layer {
    struct linear w;
    float *value; /* [n_in,n_out] */
    int8_t *panel;
    float *scale, *bias;
    int32_t *sum;
    size_t n_round; /* outputs in whole panels */
};

/* Panels, scales and sums of `value` as it is now. */
static inline void infer_pack(struct infer_layer *l)
{
    const struct linear_source from = {l->value, l->w.n_out, 1};

    if (l->w.type == LINEAR_INT8)
        linear_pack_int8(l->panel, l->scale, l->sum, from, l->w.n_in, l->w.n_out);
    else
        linear_pack_float((float *)l->panel, from, l->w.n_in, l->w.n_out);
}

static inline struct infer_layer infer_layer(enum linear_type type, size_t n_in,
                                             size_t n_out, bool has_bias, struct rng *r)
{
    struct infer_layer l = {.w = {.type = type, .n_in = n_in, .n_out = n_out},
                            .n_round = linear_round(n_out, 16)};

    l.value = guarded_floats(n_in * n_out);
    l.panel = guarded_bytes(linear_bytes(type, n_in, n_out));
    l.scale = guarded_floats(l.n_round);
    l.sum = guarded_bytes(l.n_round * sizeof *l.sum);
    l.bias = guarded_floats(l.n_round);
    for (size_t i = 0; i < n_in * n_out; i++)
        l.value[i] = guarded_unit(r);
    for (size_t i = 0; i < l.n_round; i++)
        l.bias[i] = i < n_out ? guarded_unit(r) : 0;
    infer_pack(&l);
    l.w.panel = l.panel;
    l.w.scale = l.scale;
    l.w.sum = l.sum;
    l.w.bias = has_bias ? l.bias : NULL;
    return l;
}

/* The byte of weight (k, n), by the layout that infer/linear.h describes. */
static inline int infer_weight(const struct infer_layer *l, size_t k, size_t n)
{
    const size_t deep = linear_round(l->w.n_in, 64);

    return l->panel[n / 16 * deep * 16 + k / 4 * 64 + n % 16 * 4 + k % 4];
}

#define CHECK_BITS(got, want)                                                       \
    do {                                                                            \
        const float g_ = (got), w_ = (want);                                        \
        if (memcmp(&g_, &w_, sizeof g_) != 0)                                       \
            test_fail(__FILE__, __LINE__, "%s = %.9g, want %.9g", #got, (double)g_, \
                      (double)w_);                                                  \
    } while (0)
