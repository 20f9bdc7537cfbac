/*
 * kernels - the table every device fills in.
 *
 * KERNEL_LIST is the only place that names a kernel. Adding one: a line here, one file
 * of the same name in each device folder, one case in tests/test_kernels.c. A device
 * with a hole is refused at start, by name, not at step 8000.
 *
 * Arguments: outputs, inputs, scalars. Shapes were checked by the caller; a kernel
 * cannot fail. Gradients of parameters accumulate (+=), gradients of activations are
 * overwritten (=). Formulas: the head comment of device/cpu/NAME.c and
 * docs/gradients.md. "none" means a mat or ids whose mem is NULL.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/activation.h"
#include "device/mat.h"

struct device;

/*
 * Dropout as a function: channel c of the token at position pos[r] of sentence pair[r]
 * is kept when hash(key, pair, pos, c) >= rate, and then divided by 1 - rate. The key
 * holds seed, step and layer. So a mask is the same on every device and in every
 * packing, and backward computes it again. rate 0 keeps everything and reads no pair.
 */
struct drop {
    uint64_t key;
    double rate;
    struct ids pair, pos; /* of each row */
};

/* Packed sentences: queries q_at[b]..q_at[b+1) attend to keys k_at[b]..k_at[b+1). */
struct attend {
    struct ids q_at, k_at; /* [n_sents + 1] */
    size_t n_sents, heads;
    size_t max_q, max_k; /* longest of each, for scratch memory */
    bool causal;         /* query i sees keys 0..i of its sentence */
    struct drop drop;    /* on the weights; channel = key position * heads + head */
};

/*
 * What the target distribution of cross-entropy is besides the label, with probability
 * `rate`: every other id alike, or an id of `prior` [1, V] where that is not none.
 */
struct smoothing {
    double rate;
    struct mat prior;
    double entropy; /* of prior, in nats */
};

/* Two views of the same tokens: how much of the loss is the cross-entropy of each, and
 * the divergence of each view's distribution p from the other's q, KL(p||q) and KL(q||p).
 */
struct views {
    double xent[2], kl[2];
};

/* One optimizer update of a tensor or of the whole flat array. */
struct adam {
    double rate; /* learning rate with the bias correction folded in */
    double beta1, beta2, epsilon;
    double decay; /* w -= decay * w, already times the learning rate (AdamW) */
    double scale; /* the gradient is multiplied by this first: 1/tokens, clipping */
};

struct novograd {
    double rate, beta1;
    double scale;   /* multiplies the gradient: 1/tokens over sqrt(v + epsilon) */
    double decay;   /* weight decay, added to the scaled gradient as decay * w */
    double average; /* 1 - beta1 with gradient averaging, else 1 */
};

/* Where the cached keys of a decoding row are: see device/cpu/attend_cache.c. */
struct cache {
    struct mat k, v;     /* [max_len * rows, D]: step t of physical row p is t*rows + p */
    struct ids physical; /* [n_rows * len]: physical row of query row r at step t */
    size_t rows;         /* physical rows a step */
    size_t len;          /* steps to attend to */
    size_t heads;
};

/* clang-format off */
#define KERNEL_LIST(K)                                                                   \
    /* c = alpha * op(a) op(b) + beta * c; op transposes when ta, tb */                  \
    K(gemm, (struct device *, struct mat c, struct mat a, struct mat b, bool ta, bool tb, \
             double alpha, double beta))                                                 \
    /* h = relu(a b + bias), where no gradient is wanted: a NaN may become 0 */          \
    K(gemm_relu, (struct device *, struct mat h, struct mat a, struct mat b, struct mat bias)) \
    /* y[r] = drop(scale * table[id[r]] + signal[pos[r]]); id < 0: a zero vector */      \
    K(embed_forward, (struct device *, struct mat y, struct mat table, struct mat signal, \
                      struct ids id, double scale, struct drop drop))                    \
    K(embed_backward, (struct device *, struct mat dtable, struct mat dy, struct ids id, \
                       double scale, struct drop drop))                                  \
    /* x = base + drop(f + f_bias); y = norm(x) * gain + bias; stats[r] = mean, 1/dev.   \
       f none: x is base itself (x and base the same memory, nothing is written).        \
       f_bias may be none. x or y may be base. */                                        \
    K(norm_forward, (struct device *, struct mat x, struct mat y, struct mat stats,      \
                     struct mat base, struct mat f, struct mat f_bias, struct mat gain,  \
                     struct mat bias, double epsilon, struct drop drop))                 \
    /* dx = dx_later + d norm(x)/dx dy; df = drop'(dx) unless none; df_bias += unless    \
       none. dx_later may be none or dx. */                                              \
    K(norm_backward, (struct device *, struct mat dx, struct mat df, struct mat dgain,   \
                      struct mat dbias, struct mat df_bias, struct mat dy,               \
                      struct mat dx_later, struct mat x, struct mat stats,               \
                      struct mat gain, struct drop drop))                                \
    /* h = drop(relu(h + bias)), in place */                                             \
    K(relu_forward, (struct device *, struct mat h, struct mat bias, struct drop drop))  \
    /* dh = dh where h > 0, over 1 - rate, in place; dbias += */                         \
    K(relu_backward, (struct device *, struct mat dh, struct mat dbias, struct mat h,    \
                      double rate))                                                      \
    /* z += bias; h = drop(act(z)), or drop(act(z1) * z2) where z = z1|z2 has twice the     \
       columns of h: a gate */                                                           \
    K(activate_forward, (struct device *, struct mat h, struct mat z, struct mat bias,   \
                         enum activation act, struct drop drop))                         \
    /* dz from dh and the z of forward; dbias += sum_r dz. dz may be z */                \
    K(activate_backward, (struct device *, struct mat dz, struct mat dbias,              \
                          struct mat dh, struct mat z, enum activation act,              \
                          struct drop drop))                                             \
    /* y[r] += bias, and dbias += sum_r dy[r] */                                         \
    K(bias_forward, (struct device *, struct mat y, struct mat bias))                    \
    K(bias_backward, (struct device *, struct mat dbias, struct mat dy))                 \
    /* out = drop(softmax(q k' / sqrt(d))) v for each sentence and head; lse[row,head] */ \
    K(attention_forward, (struct device *, struct mat out, struct mat lse, struct mat q, \
                          struct mat k, struct mat v, struct attend a))                  \
    K(attention_backward, (struct device *, struct mat dq, struct mat dk, struct mat dv, \
                           struct mat dout, struct mat out, struct mat lse, struct mat q, \
                           struct mat k, struct mat v, struct attend a))                 \
    /* loss[r] and best[r] (the likeliest id; none: not wanted) of a row of logits;      \
       logits become their gradient times grad; grad 0: they stay */                     \
    K(xent, (struct device *, struct mat loss, struct ids best, struct mat logits,       \
             struct ids label, struct smoothing smooth, double grad))                    \
    /* the same of two views, rows r of logits and of other: loss[r] has their             \
       cross-entropies and gap[r] their divergences, both weighed by `views` */            \
    K(xent_views, (struct device *, struct mat loss, struct mat gap, struct mat logits,  \
                   struct mat other, struct ids label, struct smoothing smooth,          \
                   struct views views, double grad))                                     \
    K(fill, (struct device *, struct mat x, double value))                               \
    /* *sum = sum of squares of x, in double, the same for every thread count;           \
       *max = the largest magnitude, NaN where x has one. Both are there, and must still \
       have their place, when device_sync returns. */                                    \
    K(sumsq, (struct device *, double *sum, struct mat x))                               \
    K(maxabs, (struct device *, double *max, struct mat x))                              \
    /* y = x in the type of y, the nearest finite number of it */                        \
    K(cast, (struct device *, struct mat y, struct mat x))                               \
    K(scale, (struct device *, struct mat x, double by))                                 \
    /* y = decay * y + (1 - decay) * x */                                                \
    K(average, (struct device *, struct mat y, struct mat x, double decay))              \
    K(adam, (struct device *, struct mat w, struct mat m, struct mat v, struct mat g,    \
             struct adam how))                                                           \
    K(novograd, (struct device *, struct mat w, struct mat m, struct mat g,              \
                 struct novograd how))                                                   \
    /* decoding: row r attends to its cached keys, or to keys first[r]..last[r] */       \
    K(attend_cache, (struct device *, struct mat out, struct mat q, struct cache cache)) \
    K(attend_memory, (struct device *, struct mat out, struct mat q, struct mat k,       \
                      struct mat v, struct ids first, struct ids last, size_t heads))    \
    /* the top.cols largest log-probabilities of each row, best first, ties to the lower \
       id; logits may be overwritten */                                                  \
    K(topk, (struct device *, struct mat top, struct ids id, struct mat logits))
/* clang-format on */

#define KERNEL_MEMBER(name, args) void(*name) args;
struct kernels {
    KERNEL_LIST(KERNEL_MEMBER)
};
