/*
 * activations - the step's memory, laid out by one function that both measures and
 * places.
 *
 * Everything that backward needs is here, and the buffers that backward itself fills.
 * A sub-layer keeps what is normalised, x, and two numbers a row. With norms in front x
 * is its residual input and the normalised y what its products read, which backward
 * computes again: a buffer for all. With norms behind x is the sum of its input and
 * output, and y the input of the next sub-layer, kept as well.
 *
 * With model.recompute a layer keeps only its x; what backward needs besides is in
 * buffers that all layers of a stack share, and is computed again before the layer's
 * backward: two projections of four and one attention more for about a third of the
 * memory. The arithmetic is the same, bit for bit.
 */
#pragma once

#include "device/device.h"
#include "model/model.h"

enum { ACT_CHUNK = 512 }; /* rows of logits at a time */

struct act_norm {
    struct mat x, y, stats; /* [N,D] [N,D] [N,2] */
};

struct act_attention {
    struct act_norm norm;
    struct mat in;  /* [N,3D] q|k|v, or [N,D] q of cross-attention */
    struct mat kv;  /* [Ns,2D] of cross-attention */
    struct mat ctx; /* [N,D] */
    struct mat lse; /* [N,H] */
};

struct act_ffn {
    struct act_norm norm;
    struct mat z; /* [N,F] or [N,2F] before activation and gate; none: ReLU alone */
    struct mat h; /* [N,F] */
};

struct act_layer {
    struct act_attention self, cross; /* cross: of the decoder alone */
    struct act_ffn ff;
};

enum { ACT_LAYERS = 64 }; /* the most of a stack */

/* What a stack reads, and what it computes. A pass may leave layers out, so layers are
 * counted by their place in the pass: place i is layer of[i] of the model. */
struct act_stack {
    struct ids at, id, pos, pair;
    struct act_layer *layer; /* [stack_layers] */
    int n_layers;            /* of the pass at hand */
    uint8_t of[ACT_LAYERS];
    struct act_norm end; /* of norms in front */
    struct mat in;       /* [N,D] embeddings; with norms in front the first x */
    struct mat out;      /* [N,D] the encoder's is the memory that the decoder reads */
};

enum act_sublayer { ACT_SELF, ACT_CROSS, ACT_FF };

struct activations {
    struct device_arena arena;

    struct model_batch batch; /* sizes of the batch at hand; its pointers are not kept */
    struct model_run run;
    struct act_stack stack[N_STACKS];
    struct ids tgt_label, best;
    struct mat f;      /* [N,D] a sub-layer's output before its residual */
    struct mat y;      /* [N,D] what a sub-layer reads; none with norms behind */
    struct mat loss;   /* [Nt,1] */
    struct mat logits; /* [ACT_CHUNK,V] */

    struct mat dx, df, dy, dctx; /* [N,D], N the larger of both sides */
    struct mat din, dkv, dh;     /* [N,3D] [Ns,2D] [N,F] */
    struct mat dmemory;          /* [Ns,D] */
};

status activations_open(struct activations **a, const struct model_config *c,
                        struct device *d, struct err *err);
void activations_close(struct activations *a);

/* Without a backward pass, or when it computes them again, layers share buffers. */
bool activations_shared(const struct model *m, bool want_grad);

/* The layers of the next pass: all but those of the bits. */
void activations_choose(struct activations *a, const struct model_config *c,
                        const uint64_t left_out[N_STACKS]);

/* Their weights, or gradients of them. */
static inline struct weights_layer *activations_layer(const struct activations *a,
                                                      const struct weights *w,
                                                      enum stack stack, int place)
{
    return &w->stack[stack].layer[a->stack[stack].of[place]];
}

/* Lay out memory for n_sents, n_src, n_tgt and the chosen layers; with arena.mem NULL
 * this only measures.
 * share: layers keep only their x. */
void activations_place(struct activations *a, const struct model_config *c,
                       size_t n_sents, size_t n_src, size_t n_tgt, bool want_grad,
                       bool share);

/* What the products of a sub-layer read; in backward model_input_again. */
struct mat activations_input(const struct model *m, enum stack stack, int layer,
                             enum act_sublayer which);

/* A layer's activations a second time, from its x; in forward.c. */
void model_recompute(struct model *m, enum stack stack, int layer);
struct mat model_input_again(struct model *m, enum stack stack, int layer,
                             enum act_sublayer which);

/*
 * Where dropout falls: each site has a stream of its own, numbered by stack, layer and
 * kind, so that a layer's masks do not change when others are added or left out. Forward
 * and backward both ask here, so that they agree.
 */
enum act_site {
    ACT_EMBED,
    ACT_SELF_WEIGHTS,
    ACT_SELF_OUT,
    ACT_CROSS_WEIGHTS,
    ACT_CROSS_OUT,
    ACT_RELU,
    ACT_FF_OUT,
    ACT_N_SITES
};

/* Dropout of the batch at hand at one site. */
struct drop activations_drop(const struct activations *a, enum stack stack, int layer,
                             enum act_site site);

/* Self-attention of a stack, or the decoder's attention to the memory. */
struct attend activations_attend(const struct model *m, enum stack stack, int layer,
                                 bool cross);
