#include "train/update/local_sgd.h"

#include <stdlib.h>

#include "base/mem.h"

/* Arrays go through the host in pieces, whatever the device: it happens rarely. */
enum { PIECE = 1 << 20, N_ARRAYS = 3 };

status local_sgd_open(struct local_sgd *o, struct device *d, size_t n_flat, double rate,
                      double momentum, struct err *err)
{
    *o = (struct local_sgd){
        .steps = o->steps, .device = d, .rate = rate, .momentum = momentum};
    TRY(device_alloc_row(d, &o->start, n_flat, err));
    return device_alloc_row(d, &o->v, n_flat, err);
}

void local_sgd_close(struct local_sgd *o)
{
    if (o->device) {
        device_free(o->device, o->start.mem);
        device_free(o->device, o->v.mem);
    }
    *o = (struct local_sgd){0};
}

/* Pieces of the arrays in host memory. */
struct work {
    float *x[N_ARRAYS];
    size_t at, n;
};

static status work_open(struct work *w, struct err *err)
{
    *w = (struct work){0};
    TRY(mem_alloc(&w->x[0], (size_t)N_ARRAYS * PIECE, sizeof *w->x[0], err));
    for (size_t i = 1; i < N_ARRAYS; i++)
        w->x[i] = w->x[0] + i * PIECE;
    return OK;
}

static bool next_piece(struct work *w, size_t n)
{
    w->at += w->n;
    w->n = n - w->at < PIECE ? n - w->at : PIECE;
    return w->n > 0;
}

static void get(const struct local_sgd *o, struct work *w, size_t i, struct mat from)
{
    device_download(o->device, w->x[i], mat_cols(from, w->at, w->n));
}

static void put(const struct local_sgd *o, struct work *w, struct mat to, size_t i)
{
    device_upload(o->device, mat_cols(to, w->at, w->n), w->x[i]);
}

status local_sgd_begin(struct local_sgd *o, struct mat weights, int64_t step,
                       struct err *err)
{
    struct work w;

    o->is_synced = true;
    o->synced_at = step;
    if (!local_sgd_is_on(o))
        return OK;
    TRY(work_open(&w, err));
    while (next_piece(&w, weights.cols)) {
        get(o, &w, 0, weights);
        put(o, &w, o->start, 0);
    }
    free(w.x[0]);
    return OK;
}

status local_sgd_change(const struct local_sgd *o, struct mat change, struct mat weights,
                        bool is_first, struct err *err)
{
    struct work w;

    TRY(work_open(&w, err));
    while (next_piece(&w, weights.cols)) {
        get(o, &w, 0, o->start);
        get(o, &w, 1, weights);
        for (size_t i = 0; i < w.n; i++)
            w.x[0][i] = is_first ? w.x[0][i] - w.x[1][i] : 0;
        put(o, &w, change, 0);
    }
    free(w.x[0]);
    return OK;
}

status local_sgd_step(struct local_sgd *o, struct mat weights, struct mat change,
                      size_t n_nodes, struct err *err)
{
    const float rate = (float)o->rate, momentum = (float)o->momentum;
    struct work w;

    TRY(work_open(&w, err));
    while (next_piece(&w, weights.cols)) {
        float *start = w.x[0], *v = w.x[1], *d = w.x[2];
        get(o, &w, 0, o->start);
        get(o, &w, 1, o->v);
        get(o, &w, 2, change);
        for (size_t i = 0; i < w.n; i++) {
            const float mean = d[i] / (float)n_nodes;
            v[i] = momentum * v[i] + mean;
            start[i] -= rate * (mean + momentum * v[i]);
        }
        put(o, &w, o->v, 1);
        put(o, &w, o->start, 0);
        put(o, &w, weights, 0);
    }
    free(w.x[0]);
    return OK;
}
