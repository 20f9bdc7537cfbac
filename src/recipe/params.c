#include "recipe/params.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "recipe/model_config.h"

enum { ALIGN = 64 / sizeof(float) };

struct row {
    const char *name;
    enum param_block block;
    enum param_init init;
    size_t rows, cols, n_beside, which;
};

#define ROW(field, block, name, n_rows, n_cols, init, n_beside, which) \
    {name, block, init, n_rows, n_cols, n_beside, which},

static const struct params_stack *stack_of(const struct params *p, enum param_block block)
{
    if (block == BLOCK_ENCODER)
        return &p->stack[0];
    return block == BLOCK_DECODER ? &p->stack[1] : NULL;
}

static int copies_of(enum param_block block, const struct params *p)
{
    const struct params_stack *s = stack_of(p, block);

    return s ? s->n_sets : 1;
}

static struct params_stack stack_with(int64_t unique, int64_t n_layers)
{
    return (struct params_stack){unique, (int)n_layers,
                                 tying_sets(unique, (int)n_layers)};
}

static bool is_there(const struct row *row)
{
    return row->rows && row->cols;
}

/* Append tensor `id` of `layer`; the first of a group makes room for all of it. */
static void place(struct params *p, const struct row *row, enum param_id id, int layer)
{
    struct param *t = &p->list[p->n_list];
    const size_t stride = row->cols * row->n_beside;

    *t = (struct param){.id = id,
                        .init = row->init,
                        .block = row->block,
                        .layer = layer,
                        .rows = row->rows,
                        .cols = row->cols,
                        .stride = stride,
                        .n_dims = row->rows == 1 ? 1 : 2};
    if (row->init == INIT_EMBED)
        t->n_dims = 2;
    const char *hole = strstr(row->name, "%d");
    if (hole)
        snprintf(t->name, sizeof t->name, "%.*s%d%s", (int)(hole - row->name), row->name,
                 layer, hole + 2);
    else
        snprintf(t->name, sizeof t->name, "%s", row->name);
    if (row->which == 0) {
        t->at = p->n_flat;
        p->n_flat += (row->rows * stride + ALIGN - 1) / ALIGN * ALIGN;
    } else {
        t->at = t[-1].at + row->cols;
    }
    p->n_elements += row->rows * row->cols;
    if (layer == 0)
        p->first[id] = p->n_list;
    if (layer == 1)
        p->step[id] = p->n_list - p->first[id];
    p->n_list++;
}

status params_open(struct params *p, const struct model_config *c, struct err *err)
{
    const struct architecture *a = &c->arch;
    const size_t D = (size_t)c->d_model, F = (size_t)c->d_ff;
    const size_t V = (size_t)model_config_source_vocab(c);
    const size_t VT = architecture_has_target_table(a) ? (size_t)c->vocab_size : 0;
    const size_t VO = architecture_has_output_table(a) ? (size_t)c->vocab_size : 0;
    const size_t VB = a->has_output_bias ? (size_t)c->vocab_size : 0;
    const size_t B = a->has_attention_bias, E = a->norm == NORM_PRE;
    const size_t G = a->is_gated;
    const size_t M = a->positions == POSITIONS_LEARNED ? (size_t)a->max_positions : 0;
    const struct row rows[N_PARAM_IDS] = {PARAM_LIST(ROW)};
    size_t n = 0;

    *p = (struct params){
        .tying = c->tying,
        .stack = {stack_with(c->tying.unique_encoder_layers, c->encoder_layers),
                  stack_with(c->tying.unique_decoder_layers, c->decoder_layers)}};
    for (int id = 0; id < N_PARAM_IDS; id++)
        n += is_there(&rows[id]) ? (size_t)copies_of(rows[id].block, p) : 0;
    if (mem_alloc(&p->list, n, sizeof *p->list, err) != OK ||
        mem_alloc(&p->first, N_PARAM_IDS, sizeof *p->first, err) != OK ||
        mem_alloc(&p->step, N_PARAM_IDS, sizeof *p->step, err) != OK) {
        params_close(p);
        return err->code;
    }
    for (enum param_block block = BLOCK_EMBED; block <= BLOCK_DECODER_END; block++)
        for (int layer = 0; layer < copies_of(block, p); layer++)
            for (enum param_id id = 0; id < N_PARAM_IDS; id++)
                if (rows[id].block == block && is_there(&rows[id]))
                    place(p, &rows[id], id, layer);
    return OK;
}

void params_close(struct params *p)
{
    free(p->list);
    free(p->first);
    free(p->step);
    *p = (struct params){0};
}

bool params_is_float(const struct param *p)
{
    return strstr(p->name, "/layer_norm_") || p->id == PARAM_enc_positions ||
           p->id == PARAM_dec_positions;
}

bool params_range(const struct params *p, enum param_block block, int layer,
                  size_t *first, size_t *end)
{
    *first = *end = 0;
    for (size_t i = 0; i < p->n_list; i++) {
        const struct param *t = &p->list[i];
        if (t->block != block || t->layer != layer)
            continue;
        const size_t last = t->at + (t->rows - 1) * t->stride + t->cols;
        *first = *end ? *first : t->at;
        *end = last > *end ? last : *end;
    }
    return *end > 0;
}

bool params_has(const struct params *p, enum param_id id)
{
    return p->list[p->first[id]].id == id;
}

int params_set(const struct params *p, enum param_block block, int layer)
{
    const struct params_stack *s = stack_of(p, block);

    return s && s->unique ? tying_set(&p->tying, s->unique, s->n_layers, layer) : layer;
}

int params_lowest(const struct params *p, enum param_block block, int set)
{
    const struct params_stack *s = stack_of(p, block);
    int layer = 0;

    if (!s || !s->unique)
        return set;
    while (params_set(p, block, layer) != set)
        layer++;
    return layer;
}

int params_span(const struct params *p, enum param_block block, int set)
{
    const struct params_stack *s = stack_of(p, block);

    if (!s)
        return 1;
    const int end = set + 1 < s->n_sets ? params_lowest(p, block, set + 1) : s->n_layers;
    return end - params_lowest(p, block, set);
}

const struct param *params_get(const struct params *p, enum param_id id, int layer)
{
    BUG_ON(!params_has(p, id));
    const size_t set = (size_t)params_set(p, p->list[p->first[id]].block, layer);
    return &p->list[p->first[id] + set * p->step[id]];
}

void params_untie(const struct params *tied, const float *from, const struct params *own,
                  float *to)
{
    for (size_t i = 0; i < own->n_list; i++) {
        const struct param *t = &own->list[i], *s = params_get(tied, t->id, t->layer);
        for (size_t row = 0; row < t->rows; row++)
            memcpy(to + t->at + row * t->stride, from + s->at + row * s->stride,
                   t->cols * sizeof *to);
    }
}

/* Glorot-uniform: U(-a, a) with a = sqrt(6 / (in + out)). */
static double draw(const struct param *t, struct rng *r)
{
    switch (t->init) {
    case INIT_ZERO:
        return 0;
    case INIT_ONE:
        return 1;
    case INIT_EMBED:
        return rng_normal(r) / sqrt((double)t->cols);
    case INIT_GLOROT:
        return (2 * rng_unit(r) - 1) * sqrt(6.0 / (double)(t->rows + t->cols));
    }
    return 0;
}

void params_init(const struct params *p, uint64_t seed, float *out)
{
    memset(out, 0, p->n_flat * sizeof *out);
    for (size_t i = 0; i < p->n_list; i++) {
        const struct param *t = &p->list[i];
        struct rng r = rng_open(rng_key(seed, t->name)); /* a stream a tensor */
        for (size_t row = 0; row < t->rows; row++)
            for (size_t col = 0; col < t->cols; col++)
                out[t->at + row * t->stride + col] = (float)draw(t, &r);
    }
}
