/*
 * weights - the parameter table as matrices of a flat array on the device.
 *
 * The same views are made over the values and over the gradients, so that a backward
 * line names its gradient by the same path as its weight: w->ff.w1,
 * g->ff.w1. q, k and v of one self-attention are one matrix [D,3D]; k and v of one
 * cross-attention are one matrix [D,2D]; a feed-forward layer's gate lies beside its
 * first matrix. What a model does not have (recipe/architecture.h) is none.
 *
 * Owns: the lists of layers. Borrows: the flat arrays' memory.
 */
#pragma once

#include "base/err.h"
#include "device/mat.h"
#include "recipe/model_config.h"

struct params;

enum stack { STACK_ENCODER, STACK_DECODER, N_STACKS };

static inline int stack_layers(const struct model_config *c, enum stack stack)
{
    return (int)(stack == STACK_ENCODER ? c->encoder_layers : c->decoder_layers);
}

struct weights_norm {
    struct mat gain, bias; /* [1,D] */
};

struct weights_attention {
    struct weights_norm norm;
    struct mat in,
        in_bias; /* [D,3D] q|k|v of self-attention, [D,D] q of cross-attention */
    struct mat kv, kv_bias;   /* [D,2D] k|v of cross-attention */
    struct mat out, out_bias; /* [D,D] */
};

struct weights_ffn {
    struct weights_norm norm;
    struct mat w1, b1; /* [D,F] [1,F], or [D,2F] [1,2F] with a gate */
    struct mat w2, b2; /* [F,D] [1,D] */
};

struct weights_layer {
    struct weights_attention self, cross; /* cross: of the decoder alone */
    struct weights_ffn ff;
};

struct weights {
    struct mat output, output_bias; /* [V,D] [1,V] */
    struct weights_stack {
        struct mat table;            /* [tokens,D] of its embeddings */
        struct mat positions;        /* [max_positions,D] if they are learned */
        struct weights_layer *layer; /* [stack_layers] */
        struct weights_norm end;
    } stack[N_STACKS];
};

/* Where the values are: those that stay float, and all others, which products read.
 * In mixed precision the latter are a copy in 16 bits; otherwise both are the same. */
struct weights_flat {
    struct mat real, half;
};

status weights_open(struct weights *w, const struct params *p,
                    const struct model_config *c, struct weights_flat flat,
                    struct err *err);
void weights_close(struct weights *w);
