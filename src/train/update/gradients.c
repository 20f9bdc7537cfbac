#include "train/update/gradients.h"

#include <stdlib.h>

#include "base/mem.h"
#include "dist/exchange/embed_rows.h"

/* A library that sums on the card allocates memory there with the first sum, which has to
 * happen before ours is planned. The gradient is still zero. */
static status warm_up(struct gradients *g, struct err *err)
{
    struct reducer_times ignored;

    reducer_begin(g->reducer, g->model->grad.mem, false);
    return reducer_finish(g->reducer, NULL, &ignored, err);
}

status gradients_open(struct gradients *g, struct comm *comm, struct model *m,
                      struct reducer_options options, struct err *err)
{
    const struct model_config *c = &m->config;

    *g = (struct gradients){.model = m};
    if (comm->size == 1)
        return OK;
    g->most_slices = (size_t)(c->encoder_layers + c->decoder_layers) + 3;
    TRY(mem_alloc(&g->slice_sq, g->most_slices, sizeof *g->slice_sq, err));
    TRY(reducer_open(&g->reducer, comm, &m->params, options, err));
    if (!m->device->gpu)
        return OK;
    if (reducer_is_on_device(g->reducer))
        return warm_up(g, err);
    return mem_alloc(&g->mirror, m->params.n_flat, sizeof *g->mirror, err);
}

void gradients_close(struct gradients *g)
{
    reducer_close(g->reducer);
    free(g->mirror);
    free(g->slice_sq);
    *g = (struct gradients){0};
}

/* The gradient where the network finds it. */
static float *seen_by_network(struct gradients *g)
{
    return g->mirror ? g->mirror : g->model->grad.mem;
}

static void fetch(struct gradients *g, size_t first, size_t n)
{
    if (g->mirror)
        device_download(g->model->device, g->mirror + first,
                        mat_cols(g->model->grad, first, n));
}

void gradients_begin(struct gradients *g, bool is_node_alone, bool is_flush)
{
    g->n_slices = 0;
    if (g->reducer && is_node_alone)
        reducer_begin_node(g->reducer, seen_by_network(g));
    else if (g->reducer)
        reducer_begin(g->reducer, seen_by_network(g), is_flush);
}

/* The embedding, if its rows that this batch does not touch can be reduced before
 * backward finishes; only where it lies in the host's memory. */
static struct embed_rows *early_rows(struct gradients *g)
{
    return g->mirror ? NULL : reducer_embed_rows(g->reducer);
}

/* Backward writes the rows that these sentences name; the output layer has finished with
 * all of them. */
static void mark_rows(struct gradients *g, const struct model_batch *b)
{
    const struct model *m = g->model;
    struct embed_rows *rows = early_rows(g);

    if (!rows)
        return;
    embed_rows_mark_all(rows, false);
    embed_rows_mark(rows, b->src_id, b->n_src);
    embed_rows_mark(rows, b->tgt_in, b->n_tgt);
    m->device->k->sumsq(m->device, &g->early_sq,
                        mat_cols(m->grad, rows->first, rows->n_rows * rows->stride));
    g->early_sq -= embed_rows_square(rows, m->grad.mem);
}

/* A finished slice: its own sum of squares, before the reducer may have it. */
static void on_ready(void *gradients, size_t first, size_t n)
{
    struct gradients *g = gradients;
    const struct model *m = g->model;
    const struct embed_rows *rows = early_rows(g);
    double *sq = &g->slice_sq[g->n_slices++];

    BUG_ON(g->n_slices > g->most_slices);
    if (rows && rows->first == first)
        *sq = g->early_sq + embed_rows_square(rows, m->grad.mem);
    else
        m->device->k->sumsq(m->device, sq, mat_cols(m->grad, first, n));
    fetch(g, first, n);
    reducer_ready(g->reducer, first, n);
}

const struct model_hook *gradients_hook(struct gradients *g, struct model_hook *hook,
                                        const struct model_batch *b)
{
    if (!g->reducer)
        return NULL;
    mark_rows(g, b);
    *hook = (struct model_hook){on_ready, g};
    return hook;
}

status gradients_measure(struct gradients *g, double *square, struct err *err)
{
    *square = 0;
    if (!g->reducer)
        return OK;
    if (!g->n_slices)
        fetch(g, 0, g->model->grad.cols);    /* zeros: no hook has been called */
    TRY(device_sync(g->model->device, err)); /* brings the sums of slices */
    for (size_t i = 0; i < g->n_slices; i++)
        *square += g->slice_sq[i];
    return OK;
}

status gradients_finish(struct gradients *g, const struct reducer_facts *facts,
                        struct reducer_times *times, struct err *err)
{
    TRY(reducer_finish(g->reducer, facts, times, err));
    if (g->mirror)
        device_upload(g->model->device, g->model->grad, g->mirror);
    return OK;
}

void gradients_send(struct gradients *g, bool is_flush)
{
    fetch(g, 0, g->model->grad.cols);
    reducer_begin(g->reducer, seen_by_network(g), is_flush);
}
