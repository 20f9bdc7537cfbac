/*
 * args - what the host tells a GPU kernel, in a layout that both sides share.
 *
 * GPU_KERNEL_LIST names every kernel, how many buffers it takes and the struct that
 * follows them. Wide members come first, so that no compiler has to pad differently.
 */
#pragma once

#include "device/gpu/dialect.h"

/* Items of a group: rows of activations, element-wise passes, columns, products. */
#define ROW_ITEMS       128
#define EACH_ITEMS      256
#define COLUMN_ITEMS    256
#define COLUMN_WIDTH    32 /* columns of a group */
#define GEMM_ITEMS      256
#define GEMM_TILE       64
#define ATTEND_ITEMS    64
#define ATTEND_KEYS     32
#define ATTENTION_ITEMS 128
#define HEAD_MAX        128

/* Queries or keys of a block of attention: what fits into 48 KiB of local memory. */
#define ATTENTION_BLOCK(head) ((head) > 64 ? 16 : 32)

/* name, buffers, arguments; attention has one kernel for each width of a head */
#define GPU_KERNEL_LIST(G)                          \
    G(gemm, 3, gemm_args)                           \
    G(gemm_wide, 3, gemm_args)                      \
    G(embed_forward, 6, embed_args)                 \
    G(embed_backward, 5, embed_args)                \
    G(norm_forward, 10, norm_args)                  \
    G(norm_backward, 9, norm_args)                  \
    G(norm_columns, 5, columns_args)                \
    G(columns_add, 2, columns_args)                 \
    G(relu_forward, 4, relu_args)                   \
    G(relu_backward, 3, columns_args)               \
    G(activate_forward, 5, activate_args)           \
    G(activate_backward, 6, activate_args)          \
    G(bias_forward, 2, relu_args)                   \
    G(bias_columns, 2, columns_args)                \
    G(attention_forward_16, 9, attention_args)      \
    G(attention_forward_32, 9, attention_args)      \
    G(attention_forward_64, 9, attention_args)      \
    G(attention_forward_128, 9, attention_args)     \
    G(attention_backward_q_16, 11, attention_args)  \
    G(attention_backward_q_32, 11, attention_args)  \
    G(attention_backward_q_64, 11, attention_args)  \
    G(attention_backward_q_128, 11, attention_args) \
    G(attention_backward_k_16, 12, attention_args)  \
    G(attention_backward_k_32, 12, attention_args)  \
    G(attention_backward_k_64, 12, attention_args)  \
    G(attention_backward_k_128, 12, attention_args) \
    G(xent, 5, xent_args)                           \
    G(xent_views, 6, xent_views_args)               \
    G(fill, 1, each_args)                           \
    G(scale, 1, each_args)                          \
    G(average, 2, each_args)                        \
    G(cast, 2, each_args)                           \
    G(widen, 2, each_args)                          \
    G(adam, 4, adam_args)                           \
    G(novograd, 3, novograd_args)                   \
    G(squares, 2, reduce_args)                      \
    G(largest, 2, reduce_args)                      \
    G(reduce_sum, 2, reduce_args)                   \
    G(reduce_max, 2, reduce_args)                   \
    G(attend_cache, 5, attend_args)                 \
    G(attend_memory, 6, attend_args)                \
    G(topk, 3, topk_args)

/* A matrix within its buffer: element (r,c) is at + r*stride + c. */
struct gmat {
    u64 at;
    u32 rows, cols, stride, unused;
};

#define AT(m, r, c) ((m).at + (u64)(r) * (m).stride + (c))

/* Dropout: limit 0 keeps everything and reads neither list. */
struct gdrop {
    u64 pair, pos; /* places of the lists */
    u32 key_lo, key_hi;
    u32 limit; /* channels whose hash is below are dropped */
    float keep;
};

struct gemm_args {
    struct gmat c, a, b;
    u32 inner, ta, tb;
    float alpha, beta;
    u32 unused;
};

struct embed_args {
    struct gmat y, table, signal;
    struct gdrop drop;
    u64 id;
    float scale;
    u32 unused;
};

struct norm_args {
    struct gmat x, y, stats, base, f; /* of backward: x dx stats later df */
    struct gmat dy;
    struct gdrop drop;
    u64 f_bias, gain, bias;
    float epsilon;
    u32 unused;
};

/* Sums over rows: every group adds the rows of its share, columns_add adds the shares. */
struct columns_args {
    struct gmat x, dy, df, stats; /* of relu_backward: h, dh */
    u64 out;
    u32 n_shares, share; /* rows of a share */
    u32 which;           /* sum of columns_add: 0, 1, 2 */
    float keep;
};

struct relu_args {
    struct gmat h;
    struct gdrop drop;
    u64 bias;
};

/* Of backward: h is dh, `sum` divides the rows among groups. */
struct activate_args {
    struct gmat h, z, dz;
    struct columns_args sum;
    struct gdrop drop;
    u64 bias;
    u32 act, has_gate; /* enum activation */
};

struct attention_args {
    struct gmat out, lse, q, k, v;
    struct gmat dq, dk, dv, dout;
    struct gdrop drop;
    u64 q_at, k_at;
    u32 d, heads, causal;
    float scale;
};

/* Smoothed targets. entropy: without a prior of the whole target, with one the part of it
 * that does not depend on the label. */
struct gsmoothing {
    u64 prior;
    float rate, low, entropy;
    u32 unused;
};

struct xent_args {
    struct gmat loss, logits;
    struct gsmoothing smooth;
    u64 best, label;
    float grad; /* multiplies the gradient; 0: not wanted */
    u32 unused;
};

struct xent_views_args {
    struct gmat loss, gap, logits, other;
    struct gsmoothing smooth;
    u64 label;
    float xent[2], kl[2];
    float grad;
    u32 unused;
};

struct each_args {
    struct gmat y, x;
    float by;
    u32 chunks; /* groups of a row */
};

struct adam_args {
    struct gmat w, m, v, g;
    float rate, rest1, rest2, epsilon, decay, scale;
    u32 chunks, unused;
};

struct novograd_args {
    struct gmat w, m, g;
    float rate, beta1, decay, scale;
    u32 chunks, unused;
};

/* A group takes `rows` rows and one of `chunks` parts of each. */
struct reduce_args {
    struct gmat x;
    u64 to, n; /* place of the result; partial results of the first pass */
    u32 chunks, rows;
};

struct attend_args {
    struct gmat out, q, k, v;
    u64 first, last;         /* lists; first is `physical` of a cache */
    u32 d, heads, rows, len; /* the last two of a cache: its rows and steps */
    float scale;
    u32 unused;
};

struct topk_args {
    struct gmat top, logits;
    u64 id;
};
