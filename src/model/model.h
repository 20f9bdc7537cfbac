/*
 * model - the Transformer: ids in, loss and gradient out.
 *
 * Sees a device and a batch of packed token ids; no files, no ranks, no corpus. Training
 * and evaluation differ by what the caller passes (dropout rates, want_grad), not by a
 * mode of the model. The arithmetic is the architecture's (recipe/architecture.h), by
 * default the reference's. docs/gradients.md derives every backward line.
 *
 * Gradients are those of the *sum* of token losses, each times the weight of its
 * sentence, and are added to `grad`; the caller begins at zero and divides by the number
 * of tokens, so weighed, once an update. Losses themselves are plain.
 *
 * Owns: weights, gradient and the step's memory on the device. Borrows: the device,
 * which outlives it. Threads: one at a time.
 *
 * A batch holds what the model reads: without S where sentences begin with their first
 * piece (corpus/batch.h and decode leave it out).
 */
#pragma once

#include <stdint.h>

#include "device/device.h"
#include "model/weights.h"
#include "recipe/model_config.h"
#include "recipe/params.h"

struct activations;

/* The largest batch that step memory must hold. */
struct model_shape {
    size_t n_sents, n_src, n_tgt, max_len;
    bool want_grad;
};

/* Packed sentences in host memory; the caller's, read during model_forward only. */
struct model_batch {
    size_t n_sents, n_src, n_tgt;
    size_t max_src, max_tgt;                    /* longest sentence of each side */
    const int32_t *src_at, *tgt_at;             /* [n_sents + 1] */
    const int32_t *src_id, *src_pos, *src_pair; /* [n_src] */
    const int32_t *tgt_in, *tgt_pos, *tgt_pair, *tgt_label; /* [n_tgt]; tgt_in -1: zero */
    const float *weight; /* [n_sents] factor of the gradient of each sentence's losses, or
                            of both its views, of the first ones; NULL: all 1 */
};

struct model_run {
    double drop_attention, drop_relu, drop_residual; /* 0 for evaluation */
    uint64_t drop_key;                               /* of the run's seed and the step */
    double smooth;                                   /* label smoothing */
    bool has_prior; /* it goes by the model's prior, not to all ids alike */
    /* Not 0: the second half of the batch is another view of the first half, sentence by
     * sentence of the same lengths, and the losses are those of xent_views. */
    struct views views;
    double loss_scale; /* gradients are multiplied by this; 0: by 1 */
    bool want_grad, want_best;
    uint64_t left_out[N_STACKS]; /* bit l: the pass goes without layer l; one must stay */
};

/* Called when elements [first, first + n) of the flat gradient are final. */
struct model_hook {
    void (*ready)(void *ctx, size_t first, size_t n);
    void *ctx;
};

struct model {
    struct device *device;
    struct model_config config;
    struct params params;
    struct mat half; /* [1, n_flat] weights in 16 bits; none without mixed precision */
    struct mat flat, grad; /* [1, n_flat]; grad is none in a model opened for use only */
    struct weights w, g;
    double embed_scale; /* embeddings are multiplied by it */
    struct mat prior;   /* [1, V] set by model_set_prior, or none */
    double prior_entropy;
    struct mat waves;            /* [max_len, D] position signal that is not learned */
    struct mat signal[N_STACKS]; /* waves, or the stack's learned positions */
    struct activations *act;
    bool recompute; /* keep less for backward, compute it again: activations.h */
    bool is_fresh;  /* the next backward stores gradients of matrices, it does not add */
};

/* Is the feed-forward layer ReLU without a gate, which kernels of its own compute? */
static inline bool model_is_plain(const struct model_config *c)
{
    return c->arch.activation == ACTIVATION_RELU && !c->arch.is_gated;
}

/* Weights are zero until they are set. */
status model_open(struct model *m, struct device *d, const struct model_config *c,
                  bool want_grad, struct err *err);
void model_close(struct model *m);

/* Bytes of step memory that a batch of this shape needs, without taking them. */
size_t model_measure(struct model *m, struct model_shape shape);

/* Take step memory for batches up to this shape; keeps what is larger already. ERR_USAGE
 * where sentences are longer than the positions that the model has learned. */
status model_reserve(struct model *m, struct model_shape shape, struct err *err);

/* All weights from n_flat floats, or into them, in the layout of params. */
status model_set_weights(struct model *m, const float *flat, struct err *err);
void model_get_weights(struct model *m, float *flat);

/* The forward pass; with want_grad it includes the output layer's part of the backward
 * pass, because the logits are visited once. Needs model_reserve for this shape. */
void model_forward(struct model *m, const struct model_batch *b,
                   const struct model_run *run);

/* The rest of the backward pass of the last forward. hook may be NULL. */
void model_backward(struct model *m, const struct model_hook *hook);

/* What label smoothing with has_prior spreads: V probabilities. */
status model_set_prior(struct model *m, const double *prior, struct err *err);

static inline bool model_has_views(const struct model_run *run)
{
    return run->views.xent[0] > 0;
}

/* Of the last forward pass: the loss of each target token (n_tgt reals of the device; of
 * two views first those of a half, then what the views differ by) and, when asked for,
 * the likeliest id at each target position. */
void model_losses(struct model *m, void *loss);
void model_best(struct model *m, int32_t *best);

/* The encoder alone: the memory stays on the device for model/decoder.h. */
void model_encode(struct model *m, const struct model_batch *b);

/* Gradients begin again at zero. Those of matrices, nearly all, are not written for it:
 * the next backward pass stores them. */
void model_zero_grads(struct model *m);

/* The zeros themselves, for an update without a backward pass. */
void model_write_zero_grads(struct model *m);
