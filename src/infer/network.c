#include "infer/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { ALIGN = 64 };

enum block { EMBED, ENCODER, ENCODER_END, DECODER, DECODER_END };

/* Sizes in terms of the configuration; GATED is INNER, or twice that with a gate. */
enum dim { ONE, WIDTH, WIDTH_2, WIDTH_3, INNER, GATED, SOURCES, TARGETS, POSITIONS };

#define NORM(N, block, path, member, param)                                       \
    N(block, path ".norm.gain", member.norm.gain, ONE, WIDTH, param##_gain, NONE) \
    N(block, path ".norm.bias", member.norm.bias, ONE, WIDTH, param##_bias, NONE)

/* clang-format off */
/* block, name, member of the layer (of the stack at its end), inputs, outputs, tensor, bias */
#define NETWORK_LIST(N)                                                                  \
    NORM(N, ENCODER, "self", self, enc_att_norm)                                         \
    N(ENCODER, "self.in", self.in, WIDTH, WIDTH_3, enc_q, enc_q_bias)                    \
    N(ENCODER, "self.out", self.out, WIDTH, WIDTH, enc_out, enc_out_bias)                \
    NORM(N, ENCODER, "ff", ff, enc_ff_norm)                                              \
    N(ENCODER, "ff.up", ff.up, WIDTH, GATED, enc_ff1, enc_ff1_bias)                      \
    N(ENCODER, "ff.down", ff.down, INNER, WIDTH, enc_ff2, enc_ff2_bias)                  \
    NORM(N, DECODER, "self", self, dec_att_norm)                                         \
    N(DECODER, "self.in", self.in, WIDTH, WIDTH_3, dec_q, dec_q_bias)                    \
    N(DECODER, "self.out", self.out, WIDTH, WIDTH, dec_out, dec_out_bias)                \
    NORM(N, DECODER, "cross", cross, dec_cross_norm)                                     \
    N(DECODER, "cross.in", cross.in, WIDTH, WIDTH, cross_q, cross_q_bias)                \
    N(DECODER, "cross.kv", cross.kv, WIDTH, WIDTH_2, cross_k, cross_k_bias)              \
    N(DECODER, "cross.out", cross.out, WIDTH, WIDTH, cross_out, cross_out_bias)          \
    NORM(N, DECODER, "ff", ff, dec_ff_norm)                                              \
    N(DECODER, "ff.up", ff.up, WIDTH, GATED, dec_ff1, dec_ff1_bias)                      \
    N(DECODER, "ff.down", ff.down, INNER, WIDTH, dec_ff2, dec_ff2_bias)
/* clang-format on */

enum { PARAM_NONE = N_PARAM_IDS };
static const enum param_id NO_PARAM = N_PARAM_IDS;

/* A part of a layer. */
struct row {
    enum block block;
    const char *name;
    size_t at; /* in struct network_layer */
    enum dim n_in, n_out;
    enum param_id param, bias;
};

#define ROW(block, name, member, n_in, n_out, param, bias) \
    {block,                                                \
     name,                                                 \
     offsetof(struct network_layer, member),               \
     n_in,                                                 \
     n_out,                                                \
     (enum param_id)PARAM_##param,                         \
     (enum param_id)PARAM_##bias},
static const struct row rows[] = {NETWORK_LIST(ROW)};
enum { N_ROWS = sizeof rows / sizeof *rows };

status network_open(struct network *n, const struct model_config *c, struct err *err)
{
    *n = (struct network){.config = *c,
                          .encoder.n_layers = (size_t)c->encoder_layers,
                          .decoder.n_layers = (size_t)c->decoder_layers};
    status result =
        mem_alloc(&n->encoder.layer, n->encoder.n_layers, sizeof *n->encoder.layer, err);
    THEN(result, mem_alloc(&n->decoder.layer, n->decoder.n_layers,
                           sizeof *n->decoder.layer, err));
    if (result != OK)
        network_close(n);
    return result;
}

void network_close(struct network *n)
{
    free(n->encoder.layer);
    free(n->decoder.layer);
    free(n->memory);
    *n = (struct network){0};
}

static size_t size_of(const struct model_config *c, enum dim dim)
{
    const size_t D = (size_t)c->d_model;

    switch (dim) {
    case ONE:
        return 1;
    case WIDTH:
        return D;
    case WIDTH_2:
        return 2 * D;
    case WIDTH_3:
        return 3 * D;
    case INNER:
        return (size_t)c->d_ff;
    case GATED:
        return (size_t)c->d_ff * (c->arch.is_gated ? 2 : 1);
    case SOURCES:
        return (size_t)model_config_source_vocab(c);
    case TARGETS:
        return (size_t)c->vocab_size;
    case POSITIONS:
        return (size_t)c->arch.max_positions * D;
    }
    return 0;
}

/* Biases of feed-forward layers are always there. */
static bool has_bias(const struct network *n, enum param_id bias)
{
    switch (bias) {
    case PARAM_enc_ff1_bias:
    case PARAM_enc_ff2_bias:
    case PARAM_dec_ff1_bias:
    case PARAM_dec_ff2_bias:
        return true;
    case PARAM_output_bias:
        return n->config.arch.has_output_bias;
    default:
        return bias != NO_PARAM && n->config.arch.has_attention_bias;
    }
}

static void set_part(struct network_part *part, struct network *n, const struct row *row,
                     void *at, const char *stack, int layer)
{
    const bool is_vector = row->n_in == ONE;

    *part = (struct network_part){.matrix = is_vector ? NULL : at,
                                  .vector = is_vector ? at : NULL,
                                  .n_in = size_of(&n->config, row->n_in),
                                  .n_out = size_of(&n->config, row->n_out),
                                  .param = row->param,
                                  .bias = has_bias(n, row->bias) ? row->bias : NO_PARAM,
                                  .layer = layer};
    if (row->block == ENCODER || row->block == DECODER)
        snprintf(part->name, sizeof part->name, "%s.%d.%s", stack, layer, row->name);
    else
        snprintf(part->name, sizeof part->name, "%s%s", stack, row->name);
}

/* The parts of a stack: those of each layer, then gain and bias at its end, if it has
 * any. */
static bool stack_part(struct network *n, struct network_stack *s, enum block block,
                       size_t *i, struct network_part *part)
{
    const char *name = block == ENCODER ? "encoder" : "decoder";
    const bool is_encoder = block == ENCODER;
    const struct row end[2] = {
        {ENCODER_END, ".end.gain", 0, ONE, WIDTH,
         is_encoder ? PARAM_enc_end_gain : PARAM_dec_end_gain, N_PARAM_IDS},
        {ENCODER_END, ".end.bias", 0, ONE, WIDTH,
         is_encoder ? PARAM_enc_end_bias : PARAM_dec_end_bias, N_PARAM_IDS}};
    const size_t n_end = n->config.arch.norm == NORM_PRE ? 2 : 0;

    for (size_t l = 0; l < s->n_layers; l++)
        for (size_t r = 0; r < N_ROWS; r++)
            if (rows[r].block == block && (*i)-- == 0) {
                set_part(part, n, &rows[r], (char *)&s->layer[l] + rows[r].at, name,
                         (int)l);
                return true;
            }
    for (size_t r = 0; r < n_end; r++)
        if ((*i)-- == 0) {
            set_part(part, n, &end[r], r ? &s->end.bias : &s->end.gain, name, 0);
            return true;
        }
    return false;
}

/* The tables that there are; the bias belongs to the one that is the output layer. */
static bool table_part(struct network *n, size_t *i, struct network_part *part)
{
    const struct linear *output = network_output(n);
    const struct {
        struct row row;
        struct linear *at;
        bool is_there;
    } tables[] = {
        {{EMBED, "embed", 0, WIDTH, SOURCES, PARAM_embed, N_PARAM_IDS}, &n->embed, true},
        {{EMBED, "target", 0, WIDTH, TARGETS, PARAM_target_embed, N_PARAM_IDS},
         &n->target,
         network_target(n) == &n->target},
        {{EMBED, "output", 0, WIDTH, TARGETS, PARAM_output, N_PARAM_IDS},
         &n->output,
         output == &n->output}};

    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        if (tables[t].is_there && (*i)-- == 0) {
            struct row row = tables[t].row;
            if (tables[t].at == output)
                row.bias = PARAM_output_bias;
            set_part(part, n, &row, tables[t].at, "", 0);
            return true;
        }
    return false;
}

static bool positions_part(struct network *n, size_t *i, struct network_part *part)
{
    static const struct row tables[] = {
        {EMBED, "positions.source", 0, ONE, POSITIONS, PARAM_enc_positions, N_PARAM_IDS},
        {EMBED, "positions.target", 0, ONE, POSITIONS, PARAM_dec_positions, N_PARAM_IDS}};
    const bool is_there = n->config.arch.positions == POSITIONS_LEARNED;

    for (size_t r = 0; is_there && r < 2; r++)
        if ((*i)-- == 0) {
            const float **at = r ? &n->target_positions : &n->source_positions;
            set_part(part, n, &tables[r], at, "", 0);
            return true;
        }
    return false;
}

bool network_part(struct network *n, size_t i, struct network_part *part)
{
    return table_part(n, &i, part) || positions_part(n, &i, part) ||
           stack_part(n, &n->encoder, ENCODER, &i, part) ||
           stack_part(n, &n->decoder, DECODER, &i, part);
}

/* ---- bytes of a part ---- */

static size_t of_outputs(const struct network_part *part)
{
    return linear_round(linear_round(part->n_out, LINEAR_PANEL) * sizeof(float), ALIGN);
}

size_t network_part_bytes(const struct network_part *part, enum linear_type type)
{
    if (part->vector)
        return of_outputs(part);
    const size_t n_vectors =
        (type == LINEAR_INT8 ? 2u : 0u) + (part->bias != N_PARAM_IDS ? 1u : 0u);
    return linear_round(linear_bytes(type, part->n_in, part->n_out), ALIGN) +
           n_vectors * of_outputs(part);
}

void network_bind(const struct network_part *part, enum linear_type type,
                  const void *bytes)
{
    const char *at = bytes;

    if (part->vector) {
        *part->vector = bytes;
        return;
    }
    struct linear *m = part->matrix;
    *m = (struct linear){
        .type = type, .n_in = part->n_in, .n_out = part->n_out, .panel = at};
    at += linear_round(linear_bytes(type, part->n_in, part->n_out), ALIGN);
    if (type == LINEAR_INT8) {
        m->scale = (const float *)at;
        m->sum = (const int32_t *)(at + of_outputs(part));
        at += 2 * of_outputs(part);
    }
    if (part->bias != N_PARAM_IDS)
        m->bias = (const float *)at;
}

/* ---- from parameters ---- */

static enum linear_type type_of(struct network_types types,
                                const struct network_part *part)
{
    return part->matrix && types.type ? types.type(types.ctx, part) : LINEAR_FLOAT;
}

/* n numbers: those of one tensor, or of several that lie side by side. */
static void copy_vector(const float *to, const struct params *p, const float *flat,
                        enum param_id id, int layer, size_t n)
{
    memcpy((void *)to, flat + params_get(p, id, layer)->at, n * sizeof *flat);
}

/* Where the part's matrix lies in a flat array. Tensors side by side are one matrix,
 * because they share its row stride; rows of a table [V,D] are outputs. */
static struct linear_source source_of(const struct network_part *part,
                                      const struct params *p, const float *flat)
{
    const struct param *t = params_get(p, part->param, part->layer);
    const bool is_table = t->block == BLOCK_EMBED;

    return (struct linear_source){flat + t->at, is_table ? 1 : t->stride,
                                  is_table ? t->stride : 1};
}

static void fill(const struct network_part *part, const struct params *p,
                 const float *flat)
{
    const struct linear *m = part->matrix;
    const struct linear_source from = source_of(part, p, flat);

    if (part->vector) {
        copy_vector(*part->vector, p, flat, part->param, part->layer, part->n_out);
        return;
    }
    if (m->type == LINEAR_INT8)
        linear_pack_int8((int8_t *)m->panel, (float *)m->scale, (int32_t *)m->sum, from,
                         m->n_in, m->n_out);
    else
        linear_pack_float((float *)m->panel, from, m->n_in, m->n_out);
    if (m->bias)
        copy_vector(m->bias, p, flat, part->bias, part->layer, part->n_out);
}

status network_pack(struct network *n, const struct params *p, const float *flat,
                    struct network_types types, struct err *err)
{
    struct network_part part;
    size_t n_bytes = 0, at = 0;

    for (size_t i = 0; network_part(n, i, &part); i++)
        n_bytes += network_part_bytes(&part, type_of(types, &part));
    n->memory = aligned_alloc(ALIGN, n_bytes);
    if (!n->memory)
        return err_set(err, ERR_MEMORY, "cannot allocate %zu bytes for the weights",
                       n_bytes);
    mem_large_pages(n->memory, n_bytes);
    memset(n->memory, 0, n_bytes);
    for (size_t i = 0; network_part(n, i, &part); i++) {
        const enum linear_type type = type_of(types, &part);
        network_bind(&part, type, (const char *)n->memory + at);
        fill(&part, p, flat);
        at += network_part_bytes(&part, type);
    }
    return OK;
}

/* ---- to parameters ---- */

static void take_vector(const float *from, const struct params *p, float *flat,
                        enum param_id id, int layer, size_t n)
{
    memcpy(flat + params_get(p, id, layer)->at, from, n * sizeof *flat);
}

static void take(const struct network_part *part, const struct params *p, float *flat)
{
    const struct linear *m = part->matrix;
    const struct linear_source to = source_of(part, p, flat);
    const size_t at = (size_t)(to.at - flat);

    if (part->vector) {
        take_vector(*part->vector, p, flat, part->param, part->layer, part->n_out);
        return;
    }
    for (size_t k = 0; k < m->n_in; k++)
        for (size_t o = 0; o < m->n_out; o++)
            flat[at + k * to.in + o * to.out] = linear_value(m, k, o);
    if (m->bias)
        take_vector(m->bias, p, flat, part->bias, part->layer, part->n_out);
}

bool network_unpack(const struct network *n, const struct params *p, float *flat)
{
    struct network_part part;
    bool is_exact = true;

    /* parts are named by pointers into the network, which are only read here */
    for (size_t i = 0; network_part((struct network *)n, i, &part); i++) {
        take(&part, p, flat);
        is_exact = is_exact && !(part.matrix && part.matrix->type == LINEAR_INT8);
    }
    return is_exact;
}
