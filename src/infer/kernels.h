/*
 * kernels - the loops of inference, one table for each instruction set.
 *
 * The files of infer/kernel are compiled for every variant and fill this table; the best
 * that runs here is chosen at start. A kernel works on the rows, columns or heads that it
 * is told, on the calling thread; the session (infer/session.h) divides the work. What a
 * row becomes never depends on the other rows.
 *
 * Floats are computed in one order everywhere (kernel/lanes.h) and the sums of int8
 * products are exact, so that all variants give the same bytes for int8 weights. Products
 * of floats use what the processor has, and differ in their last bits.
 *
 * Rows of floats are padded to whole lanes of sixteen; the padding of what a kernel
 * reads is zero unless it says otherwise.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/activation.h"
#include "infer/linear.h"

/* Rows that products read: as floats, as bytes, or both. */
struct kernels_input {
    float *real; /* [rows,stride] */
    size_t stride;
    uint8_t *byte; /* [rows,byte_stride], as the variant's products want them */
    size_t byte_stride;
    float *scale; /* [rows] value = scale * byte */
    size_t n;     /* columns */
};

/* Which forms of its rows the next product reads. */
enum kernels_form { KERNELS_REAL = 1, KERNELS_BYTE = 2 };

/* x += f, unless f is NULL; y = (x - mean) / sqrt(var + epsilon) gain + bias */
struct kernels_norm {
    float *x;                 /* [rows,stride] */
    const float *f;           /* the same */
    const float *gain, *bias; /* [stride] */
    size_t stride;
    float epsilon;
};

/* Heads against the keys of one sentence. */
struct kernels_attend {
    size_t d;          /* width of a head */
    float scale;       /* of scores: 1 / sqrt(d) */
    const float *kt;   /* [d,n_round] keys as columns, padded with zeros */
    size_t n, n_round; /* keys, and rounded up to lanes */
    const float *v;    /* [n,v_stride] values of the head */
    size_t v_stride;
};

enum { KERNELS_ROWS = 4 }; /* queries of one attend */

/* A row's keys and values in a cache of entries [k|v]. */
struct kernels_history {
    const float *cache;   /* entry e is cache + e * stride: keys, then values */
    size_t stride, v_at;  /* in floats */
    const int32_t *entry; /* [n] */
    size_t n;
};

/* The largest logits of a row so far; before them what is not a number. */
struct kernels_best {
    float *top;  /* [n_max] largest first, of equal ones the lower id */
    int32_t *id; /* [n_max] */
    size_t n, n_max;
};

/* What one block of logits adds to the softmax: sum exp(z - max). */
struct kernels_mass {
    float max, sum;
};

/* clang-format off */
#define INFER_KERNEL_LIST(K)                                                              \
    /* rows [first, first + n): floats to bytes, with one scale a row */                  \
    K(quantise, (const struct kernels_input *a, size_t first, size_t n))                  \
    K(norm, (const struct kernels_input *y, const struct kernels_norm *how, unsigned forms, \
             size_t first, size_t n))                                                     \
    /* rows [first, first + n) of a, as floats: what stands between the products of a     \
       feed-forward layer, but for relu, which multiply knows */                          \
    K(activate, (const struct kernels_input *a, enum activation kind,        \
                 size_t first, size_t n))                                                 \
    /* rows [first, first + n) of h from u|v in the rows of `up`: the activation of u,     \
       relu included, times v */                                                          \
    K(gate, (const struct kernels_input *h, const float *up, size_t up_stride,            \
             enum activation kind, size_t first, size_t n))                               \
    /* c = a w + bias, rows [first, first + n) of a, panels [p0, p1) of w; relu: max(0, c). \
       c begins with row `first` and panel p0. */                                         \
    K(multiply, (float *c, size_t ldc, const struct kernels_input *a, const struct linear *w, \
                 bool relu, size_t first, size_t n, size_t p0, size_t p1))                \
    /* x = scale * row `id` of the table + signal; id < 0: signal alone */                \
    K(embed, (float *x, const struct linear *table, int32_t id, const float *signal,      \
              float scale))                                                               \
    /* keys of a head as columns: kt[c,j] = k[j,c], padding zero */                       \
    K(transpose, (float *kt, size_t n_round, const float *k, size_t k_stride, size_t n,   \
                  size_t d))                                                              \
    /* out[r] = softmax(q[r] k' scale) v for up to KERNELS_ROWS queries, query r seeing   \
       seen[r] keys; weights: [n_rows,n_round], kept for the caller */                    \
    K(attend, (float *const out[], const float *const q[], size_t n_rows,                 \
               const struct kernels_attend *a, const size_t seen[], float *weights))      \
    /* the same for one query and its own history, all heads; scratch: [n rounded] */     \
    K(attend_history, (float *out, const float *q, size_t n_heads, size_t d, float scale, \
                       const struct kernels_history *h, float *scratch))                  \
    /* a block of a row's logits z[0, n), which has room up to whole lanes: the largest   \
       into the list, unless it is NULL; what it adds to softmax into mass, unless that is \
       NULL, and then z is overwritten. z[i] has id ids[i], or first_id + i */            \
    K(pick, (struct kernels_best *b, struct kernels_mass *mass, float *z, size_t n,       \
             const uint16_t *ids, int32_t first_id))                                      \
    /* n times the instruction that multiplies, on registers alone: what products could   \
       reach; gives the operations */                                                     \
    K(peak, (enum linear_type type, size_t n, double *n_ops))
/* clang-format on */

#define INFER_KERNEL_MEMBER(name, args) void(*name) args;
struct infer_kernels {
    const char *name;
    INFER_KERNEL_LIST(INFER_KERNEL_MEMBER)
};

/* The variants that run on this machine, best first. */
size_t kernels_variants(const struct infer_kernels **list, size_t max);

/* The best at or below what a kind of device names (device/device.h): "auto" and "cpu"
 * are the best of all; NULL for a kind that is not a processor. */
const struct infer_kernels *kernels_choose(const char *device_kind);
