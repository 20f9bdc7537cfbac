/*
 * network - the weights of a Transformer as inference reads them.
 *
 * Every matrix is a `struct linear`, in float or in int8 on its own account, because a
 * layer that int8 would break may stay float. q, k and v of a self-attention are one
 * matrix [D,3D]; k and v of a cross-attention are one [D,2D]. A table of embeddings is a
 * matrix [D,V] whose columns are its rows, so that it may be the output layer as well.
 * What a model does not have (recipe/architecture.h) is empty.
 *
 * NETWORK_LIST is the only place that names a part; packing, files and calibration walk
 * it by network_parts().
 *
 * Owns: the block of memory that network_pack() fills; a network over a mapped file owns
 * only its lists. Threads: immutable once made; read by any.
 */
#pragma once

#include "base/err.h"
#include "infer/linear.h"
#include "recipe/model_config.h"
#include "recipe/params.h"

struct network_norm {
    const float *gain, *bias; /* [D rounded up to LINEAR_PANEL], zeros behind D */
};

struct network_attention {
    struct network_norm norm;
    struct linear in; /* q|k|v of a self-attention, q of a cross-attention */
    struct linear kv; /* k|v of a cross-attention */
    struct linear out;
};

struct network_ffn {
    struct network_norm norm;
    struct linear up, down; /* the activation between them; up is [D,2F] with a gate */
};

struct network_layer {
    struct network_attention self, cross; /* cross: of the decoder alone */
    struct network_ffn ff;
};

struct network_stack {
    struct network_layer *layer;
    size_t n_layers;
    struct network_norm end; /* of models that normalise before their sublayers */
};

struct network {
    struct model_config config;
    struct network_stack encoder, decoder;
    struct linear embed;  /* [D,V] of sources, and of all if they share it */
    struct linear target; /* of targets alone */
    struct linear output; /* the output layer alone */
    /* [max_positions,D] where they are learned */
    const float *source_positions, *target_positions;
    void *memory; /* of the weights; NULL when somebody else owns them */
};

/* One part: a matrix with its bias, or a vector. */
struct network_part {
    char name[48];         /* "decoder.3.cross.kv" */
    struct linear *matrix; /* NULL: a vector */
    const float **vector;  /* NULL: a matrix */
    size_t n_in, n_out;    /* a vector has n_out numbers */
    enum param_id param;   /* the first of the tensors that lie side by side */
    enum param_id bias;    /* of a matrix; N_PARAM_IDS: none */
    int layer;
};

/* The lists of a checked configuration; every matrix and vector still empty. */
status network_open(struct network *n, const struct model_config *c, struct err *err);
void network_close(struct network *n);

/* The table that target tokens are looked up in, and the output layer. */
static inline const struct linear *network_target(const struct network *n)
{
    return architecture_has_target_table(&n->config.arch) ? &n->target : &n->embed;
}

static inline const struct linear *network_output(const struct network *n)
{
    return architecture_has_output_table(&n->config.arch) ? &n->output
                                                          : network_target(n);
}

/* Part i, in the order of the forward pass; false behind the last. */
bool network_part(struct network *n, size_t i, struct network_part *part);

/* Which type a matrix gets; NULL `type`: all float. */
struct network_types {
    enum linear_type (*type)(void *ctx, const struct network_part *part);
    void *ctx;
};

/* Take memory and fill every part of an open network from a flat array of parameters. */
status network_pack(struct network *n, const struct params *p, const float *flat,
                    struct network_types types, struct err *err);

/* The other way: every tensor of p, as the network has it, into a flat array; gaps stay
 * as they are. false: some were rounded to int8, and stay so. */
bool network_unpack(const struct network *n, const struct params *p, float *flat);

/* Bytes of a part: its panels, then scale and sum, then bias, each rounded up to 64. */
size_t network_part_bytes(const struct network_part *part, enum linear_type type);

/* Let the part's matrix or vector read `bytes`, laid out so. */
void network_bind(const struct network_part *part, enum linear_type type,
                  const void *bytes);
