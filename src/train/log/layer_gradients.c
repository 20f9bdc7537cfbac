#include "train/log/layer_gradients.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dist/comm/comm.h"
#include "dist/exchange/reducer.h"

enum { SUMS = sizeof(struct layer_gradient_sums) / sizeof(double) };

/* ---- layers ---- */

static void name_of(char out[32], const struct param *t)
{
    switch (t->block) {
    case BLOCK_EMBED:
        snprintf(out, 32, "embedding");
        return;
    case BLOCK_ENCODER:
        snprintf(out, 32, "encoder.%d", t->layer);
        return;
    case BLOCK_ENCODER_END:
        snprintf(out, 32, "encoder.end");
        return;
    case BLOCK_DECODER:
        snprintf(out, 32, "decoder.%d", t->layer);
        return;
    case BLOCK_DECODER_END:
        snprintf(out, 32, "decoder.end");
        return;
    }
}

/* The layer of a tensor; all of them are added when the list is made. */
static struct layer_gradient *layer_of(struct layer_gradients *g, const struct param *t)
{
    char name[32];

    name_of(name, t);
    for (size_t i = 0; i < g->n; i++)
        if (strcmp(g->layer[i].name, name) == 0)
            return &g->layer[i];
    memcpy(g->layer[g->n].name, name, sizeof name);
    return &g->layer[g->n++];
}

status layer_gradients_open(struct layer_gradients *g, const struct params *p,
                            struct comm *comm, const struct reducer_shards *shards,
                            int64_t every, struct err *err)
{
    *g = (struct layer_gradients){
        .every = every, .params = p, .shards = shards, .comm = comm};
    if (!every)
        return OK;
    g->is_counted = shards || comm->rank == 0;
    TRY(mem_alloc(&g->flat, p->n_flat, sizeof *g->flat, err));
    TRY(mem_alloc(&g->layer, p->n_list, sizeof *g->layer, err));
    for (size_t i = 0; i < p->n_list; i++)
        (void)layer_of(g, &p->list[i]);
    return OK;
}

void layer_gradients_close(struct layer_gradients *g)
{
    free(g->flat);
    free(g->layer);
    *g = (struct layer_gradients){0};
}

bool layer_gradients_are_due(const struct layer_gradients *g, int64_t step)
{
    return g->every && step % g->every == 0;
}

/* ---- buckets ---- */

/* Sign, exponent and the upper bits of the fraction: those of 2^LOW are the first. */
static uint32_t steps_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7FFFFFFF) >> 20; /* 8 bits of exponent, 3 of the fraction */
}

enum { FIRST = (127 + LAYER_GRADIENTS_LOW) * LAYER_GRADIENTS_FINE };

static size_t bucket_of(float x)
{
    const int64_t k = (int64_t)steps_of(x) - FIRST;
    const size_t middle = LAYER_GRADIENTS_SIDE;

    if (k < 0)
        return middle;
    const size_t far = (size_t)(k < LAYER_GRADIENTS_SIDE ? k : LAYER_GRADIENTS_SIDE - 1);
    return x > 0 ? middle + 1 + far : middle - 1 - far;
}

/* The magnitude where bucket k of a side begins. */
static double begin_of(size_t k)
{
    const int octave = LAYER_GRADIENTS_LOW + (int)(k / LAYER_GRADIENTS_FINE);
    const double part = (double)(k % LAYER_GRADIENTS_FINE) / LAYER_GRADIENTS_FINE;

    return ldexp(1 + part, octave);
}

double layer_gradients_edge(size_t bucket)
{
    const size_t middle = LAYER_GRADIENTS_SIDE;

    return bucket >= middle ? begin_of(bucket - middle) : -begin_of(middle - 1 - bucket);
}

/* ---- counting ---- */

static void add(struct layer_gradient *l, const float *x, size_t n, double factor)
{
    struct layer_gradient_sums *s = &l->sums;

    for (size_t i = 0; i < n; i++) {
        const double value = (double)x[i] * factor;
        l->least = fmin(l->least, value);
        l->most = fmax(l->most, value);
        s->sum += value;
        s->square += value * value;
        s->count[bucket_of((float)value)]++;
    }
    s->n += (double)n;
}

/* Elements [first, first + n) of the flat gradient, as far as this rank has them. */
static void add_owned(struct layer_gradients *g, struct layer_gradient *l, size_t first,
                      size_t n, double factor)
{
    if (!g->shards) {
        add(l, g->flat + first, n, factor);
        return;
    }
    for (size_t i = 0; i < g->shards->n_list; i++) {
        const struct reducer_shard *s = &g->shards->list[i];
        const size_t from = s->first > first ? s->first : first;
        const size_t end = s->first + s->n < first + n ? s->first + s->n : first + n;
        if (from < end)
            add(l, g->flat + from, end - from, factor);
    }
}

static void count(struct layer_gradients *g, double factor)
{
    for (size_t i = 0; i < g->n; i++) {
        struct layer_gradient *l = &g->layer[i];
        memset(&l->sums, 0, sizeof l->sums);
        l->least = INFINITY;
        l->most = -INFINITY;
    }
    for (size_t i = 0; i < g->params->n_list; i++) {
        const struct param *t = &g->params->list[i];
        for (size_t row = 0; row < t->rows; row++)
            add_owned(g, layer_of(g, t), t->at + row * t->stride, t->cols, factor);
    }
}

/* Counts are whole numbers, so that their sums do not depend on who counted. */
static status add_ranks(struct layer_gradients *g, struct err *err)
{
    for (size_t i = 0; i < g->n; i++) {
        struct layer_gradient *l = &g->layer[i];
        double ends[] = {-l->least, l->most};
        TRY(comm_allreduce(g->comm, COMM_SUM, (double *)&l->sums, SUMS, err));
        TRY(comm_allreduce(g->comm, COMM_MAX, ends, 2, err));
        l->least = -ends[0];
        l->most = ends[1];
    }
    return OK;
}

status layer_gradients_take(struct layer_gradients *g, struct device *d,
                            struct mat gradient, double tokens, struct err *err)
{
    if (!g->is_counted)
        return OK;
    BUG_ON(d->real_bytes != sizeof *g->flat);
    device_download(d, g->flat, gradient);
    TRY(device_sync(d, err));
    count(g, 1 / tokens);
    g->is_fresh = true;
    return g->shards ? add_ranks(g, err) : OK;
}
