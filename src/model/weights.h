/*
 * weights - the parameter table as matrices of a flat array on the device.
 *
 * The same views are made over the values and over the gradients, so that a backward
 * line names its gradient by the same path as its weight: w->enc[l].ff.w1,
 * g->enc[l].ff.w1. q, k and v of one self-attention are one matrix [D,3D]; k and v of one
 * cross-attention are one matrix [D,2D].
 *
 * Owns: the arrays of layers. Borrows: the flat arrays' memory.
 */
#pragma once

#include "base/err.h"
#include "device/mat.h"

struct params;
struct model_config;

/* Normalisation in front, then the projections. */
struct weights_attention {
    struct mat gain, bias; /* [1,D] */
    struct mat in;  /* [D,3D] q|k|v of self-attention, [D,D] q of cross-attention */
    struct mat kv;  /* [D,2D] k|v of cross-attention */
    struct mat out; /* [D,D] */
};

struct weights_ffn {
    struct mat gain, bias; /* [1,D] */
    struct mat w1, b1;     /* [D,F] [1,F] */
    struct mat w2, b2;     /* [F,D] [1,D] */
};

struct weights_encoder {
    struct weights_attention self;
    struct weights_ffn ff;
};

struct weights_decoder {
    struct weights_attention self, cross;
    struct weights_ffn ff;
};

struct weights {
    struct mat embed;              /* [V,D] */
    struct weights_encoder *enc;   /* [encoder_layers] */
    struct mat enc_gain, enc_bias; /* [1,D] */
    struct weights_decoder *dec;   /* [decoder_layers] */
    struct mat dec_gain, dec_bias; /* [1,D] */
};

/* Where the values are: those of normalisations, and all others, which products read.
 * In mixed precision the latter are a copy in 16 bits; otherwise both are the same. */
struct weights_flat {
    struct mat real, half;
};

status weights_open(struct weights *w, const struct params *p,
                    const struct model_config *c, struct weights_flat flat,
                    struct err *err) MUST_CHECK;
void weights_close(struct weights *w);
