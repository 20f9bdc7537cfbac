/*
 * params - every trainable tensor of the model, once.
 *
 * PARAM_LIST is the only place that names a parameter. From it come the enum, the
 * shapes, the place of each tensor in the flat array, its checkpoint name (the
 * reference's), its initializer and its row in the tests. Values, gradients and
 * optimizer moments are flat arrays with this one layout.
 *
 * The flat array runs in the order of the forward pass: embedding, encoder layers,
 * encoder norm, decoder layers, decoder norm. Backward therefore finishes it from the
 * end to the front.
 *
 * Tensors that are used by one matrix product lie side by side: q, k and v of one
 * self-attention are column blocks of one [D,3D] matrix. So a tensor is a view with a
 * row stride, and `stride` equals `cols` for tensors that stand alone.
 *
 * What a model does not have (recipe/architecture.h) has no rows or columns and is left
 * out of the list; the reference has none of biases of attention and output, no gates,
 * and no tables beside the first.
 *
 * Layers may share weights (recipe/tying.h). Then the list has each set once, its `layer`
 * being the number of the set, and params_get() takes a layer to its set.
 *
 * D model width, F feed-forward width, V rows of the first table, VT and VO of those of
 * target and output, VB columns of the output's bias; B and E one row or none, of biases
 * and of norms at a stack's end; G one or none, of gates of feed-forward layers; M rows
 * of learned positions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "recipe/tying.h"

struct model_config;

enum param_block {
    BLOCK_EMBED,
    BLOCK_ENCODER, /* one copy a layer, or a set that layers share */
    BLOCK_ENCODER_END,
    BLOCK_DECODER, /* the same */
    BLOCK_DECODER_END
};
enum param_init { INIT_ZERO, INIT_ONE, INIT_EMBED, INIT_GLOROT };

/* clang-format off */
#define PARAM_NORM(P, block, prefix, path, rows)                                       \
    P(prefix##_gain, block, path "/layer_normalization/layer_norm_scale", rows, D, INIT_ONE, 1, 0) \
    P(prefix##_bias, block, path "/layer_normalization/layer_norm_bias", rows, D, INIT_ZERO, 1, 0)

#define PARAM_SELF_ATTENTION(P, block, prefix, path)                                   \
    PARAM_NORM(P, block, prefix##_att_norm, path, 1)                                     \
    P(prefix##_q, block, path "/self_attention/q/kernel", D, D, INIT_GLOROT, 3, 0)     \
    P(prefix##_k, block, path "/self_attention/k/kernel", D, D, INIT_GLOROT, 3, 1)     \
    P(prefix##_v, block, path "/self_attention/v/kernel", D, D, INIT_GLOROT, 3, 2)     \
    P(prefix##_q_bias, block, path "/self_attention/q/bias", B, D, INIT_ZERO, 3, 0)    \
    P(prefix##_k_bias, block, path "/self_attention/k/bias", B, D, INIT_ZERO, 3, 1)    \
    P(prefix##_v_bias, block, path "/self_attention/v/bias", B, D, INIT_ZERO, 3, 2)    \
    P(prefix##_out, block, path "/self_attention/output_transform/kernel", D, D, INIT_GLOROT, 1, 0) \
    P(prefix##_out_bias, block, path "/self_attention/output_transform/bias", B, D, INIT_ZERO, 1, 0)

#define PARAM_FEED_FORWARD(P, block, prefix, path)                                     \
    PARAM_NORM(P, block, prefix##_ff_norm, path, 1)                                      \
    P(prefix##_ff1, block, path "/feed_foward_network/filter_layer/kernel", D, F, INIT_GLOROT, 1 + G, 0) \
    P(prefix##_ff_gate, block, path "/feed_foward_network/gate_layer/kernel", G * D, F, INIT_GLOROT, 2, 1) \
    P(prefix##_ff1_bias, block, path "/feed_foward_network/filter_layer/bias", 1, F, INIT_ZERO, 1 + G, 0) \
    P(prefix##_ff_gate_bias, block, path "/feed_foward_network/gate_layer/bias", G, F, INIT_ZERO, 2, 1) \
    P(prefix##_ff2, block, path "/feed_foward_network/output_layer/kernel", F, D, INIT_GLOROT, 1, 0) \
    P(prefix##_ff2_bias, block, path "/feed_foward_network/output_layer/bias", 1, D, INIT_ZERO, 1, 0)

#define PARAM_ENC   "ForwardPass/transformer_encoder"
#define PARAM_DEC   "ForwardPass/transformer_decoder"
#define PARAM_CROSS PARAM_DEC "/layer_%d/encdec_attention"

/* field, block, checkpoint name (%d: layer), rows, cols, initializer, tensors side by side, which of them */
#define PARAM_LIST(P)                                                                  \
    P(embed, BLOCK_EMBED, PARAM_ENC "/embedding_shared_weights/embedding_and_softmax/weights", V, D, INIT_EMBED, 1, 0) \
    P(target_embed, BLOCK_EMBED, PARAM_DEC "/embedding/weights", VT, D, INIT_EMBED, 1, 0)   \
    P(output, BLOCK_EMBED, PARAM_DEC "/output/weights", VO, D, INIT_EMBED, 1, 0)            \
    P(output_bias, BLOCK_EMBED, PARAM_DEC "/output/bias", 1, VB, INIT_ZERO, 1, 0)           \
    P(enc_positions, BLOCK_EMBED, PARAM_ENC "/positions/weights", M, D, INIT_EMBED, 1, 0)  \
    P(dec_positions, BLOCK_EMBED, PARAM_DEC "/positions/weights", M, D, INIT_EMBED, 1, 0)  \
    PARAM_SELF_ATTENTION(P, BLOCK_ENCODER, enc, PARAM_ENC "/layer_%d/self_attention")  \
    PARAM_FEED_FORWARD(P, BLOCK_ENCODER, enc, PARAM_ENC "/layer_%d/ffn")               \
    PARAM_NORM(P, BLOCK_ENCODER_END, enc_end, PARAM_ENC, E)                            \
    PARAM_SELF_ATTENTION(P, BLOCK_DECODER, dec, PARAM_DEC "/layer_%d/self_attention")  \
    PARAM_NORM(P, BLOCK_DECODER, dec_cross_norm, PARAM_CROSS, 1)                       \
    P(cross_q, BLOCK_DECODER, PARAM_CROSS "/attention/q/kernel", D, D, INIT_GLOROT, 1, 0) \
    P(cross_k, BLOCK_DECODER, PARAM_CROSS "/attention/k/kernel", D, D, INIT_GLOROT, 2, 0) \
    P(cross_v, BLOCK_DECODER, PARAM_CROSS "/attention/v/kernel", D, D, INIT_GLOROT, 2, 1) \
    P(cross_q_bias, BLOCK_DECODER, PARAM_CROSS "/attention/q/bias", B, D, INIT_ZERO, 1, 0) \
    P(cross_k_bias, BLOCK_DECODER, PARAM_CROSS "/attention/k/bias", B, D, INIT_ZERO, 2, 0) \
    P(cross_v_bias, BLOCK_DECODER, PARAM_CROSS "/attention/v/bias", B, D, INIT_ZERO, 2, 1) \
    P(cross_out, BLOCK_DECODER, PARAM_CROSS "/attention/output_transform/kernel", D, D, INIT_GLOROT, 1, 0) \
    P(cross_out_bias, BLOCK_DECODER, PARAM_CROSS "/attention/output_transform/bias", B, D, INIT_ZERO, 1, 0) \
    PARAM_FEED_FORWARD(P, BLOCK_DECODER, dec, PARAM_DEC "/layer_%d/ffn")               \
    PARAM_NORM(P, BLOCK_DECODER_END, dec_end, PARAM_DEC, E)
/* clang-format on */

#define PARAM_ID(field, ...) PARAM_##field,
enum param_id { PARAM_LIST(PARAM_ID) N_PARAM_IDS };

enum { PARAM_NAME_MAX = 160 };

/* One tensor: which parameter, which layer or set of layers, and where it is. */
struct param {
    enum param_id id;
    enum param_init init;
    enum param_block block;
    int layer;
    size_t rows, cols, stride; /* in elements; element (r,c) is at + r*stride + c */
    size_t at;
    size_t n_dims; /* 1 for vectors, 2 for matrices: the checkpoint's shape */
    char name[PARAM_NAME_MAX];
};

struct params {
    struct param *list; /* every tensor, in layout order */
    size_t n_list;
    size_t n_flat;     /* elements of the flat array, alignment gaps included */
    size_t n_elements; /* trainable elements: 60,880,896 for base at V = 32,768 */
    size_t *first;     /* list index of (id, layer 0), by id */
    size_t *step;      /* distance in the list between layers, by id */
    struct tying tying;
    struct params_stack {
        int64_t unique;
        int n_layers, n_sets;
    } stack[2]; /* encoder, decoder */
};

/* Lay out the tensors of a checked config. */
status params_open(struct params *p, const struct model_config *c, struct err *err);
void params_close(struct params *p);

/* Gains and biases of normalisations, and learned positions, which mixed precision leaves
 * in float. */
bool params_is_float(const struct param *p);

/* [first, end) of the flat array: a block of a layer, or of a set. False when it has no
 * parameter. */
bool params_range(const struct params *p, enum param_block block, int layer,
                  size_t *first, size_t *end);

/* Does a model of this kind have it? */
bool params_has(const struct params *p, enum param_id id);

/* The set that a layer has: its own number where no layers share. */
int params_set(const struct params *p, enum param_block block, int layer);
/* The lowest layer that has this set, and how many there are from it up to the one below
 * which backward finishes the next set: 1 where no layers share. */
int params_lowest(const struct params *p, enum param_block block, int set);
int params_span(const struct params *p, enum param_block block, int set);

/* The tensor that a layer has. BUG when there is none. */
const struct param *params_get(const struct params *p, enum param_id id, int layer);

/* The weights of a model whose layers share them as those of one of the same shape whose
 * layers do not; gaps stay as they are. */
void params_untie(const struct params *tied, const float *from, const struct params *own,
                  float *to);

/*
 * The initial values in float, a pure function of the seed: embeddings N(0, d^-1/2),
 * kernels Glorot-uniform, gains 1, the rest 0; gaps are 0. out has n_flat elements.
 */
void params_init(const struct params *p, uint64_t seed, float *out);
