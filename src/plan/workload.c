#include "plan/workload.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "plan/hardware.h"
#include "recipe/buckets.h"
#include "recipe/flops.h"
#include "recipe/model_config.h"
#include "recipe/params.h"

/* Adam reads weight, gradient and two moments and writes three of them, in float. */
static const double UPDATE_BYTES = 28;

/* P(X > x) of three exponential phases of mean `scale` each. */
static double beyond(double x, double scale)
{
    const double u = x / scale;

    return exp(-u) * (1 + u + u * u / 2);
}

/* Integral over [0, cap] of f(l) P(X > l), f being 1 or 2l: E min(X,cap) or its square.
 */
static double moment(double scale, double cap, int power)
{
    enum { PARTS = 512 };
    const double h = cap / PARTS;
    double sum = 0;

    for (int i = 0; i < PARTS; i++) {
        const double x = (i + 0.5) * h;
        sum += beyond(x, scale) * (power == 2 ? 2 * x : 1) * h;
    }
    return sum;
}

struct workload_lengths workload_lengths_of(double mean, double cap)
{
    struct workload_lengths l = {.mean = mean, .cap = cap};
    double lo = mean / 3, hi = 1e3 * cap; /* uncut, the mean is 3 scales */

    if (mean > 0.99 * cap)
        return l;
    for (int i = 0; i < 60; i++) {
        const double middle = sqrt(lo * hi);
        if (moment(middle, cap, 1) < mean)
            lo = middle;
        else
            hi = middle;
    }
    l.scale = hi;
    return l;
}

double workload_lengths_mean_square(const struct workload_lengths *l)
{
    return l->scale > 0 ? moment(l->scale, l->cap, 2) : l->mean * l->mean;
}

double workload_lengths_longest(const struct workload_lengths *l, double n)
{
    enum { PARTS = 512 };
    const double h = l->cap / PARTS;
    double sum = 0;

    if (!(l->scale > 0))
        return l->mean;
    for (int i = 0; i < PARTS; i++)
        sum += (1 - pow(1 - beyond((i + 0.5) * h, l->scale), n)) * h;
    return sum;
}

/* The sums that fix the work. A padded batch is a rectangle, its causal mask included. */
static struct flops_batch batch_sums(const struct workload_batch *b)
{
    const struct workload_lengths l = workload_lengths_of(b->mean_length, b->max_length);
    const double square = workload_lengths_mean_square(&l);
    const double longest = workload_lengths_longest(&l, b->pairs);

    if (!b->is_padded)
        return (struct flops_batch){.source = b->pairs * b->mean_length,
                                    .target = b->pairs * b->mean_length,
                                    .source_pairs = b->pairs * square,
                                    .target_pairs =
                                        b->pairs * (square + b->mean_length) / 2,
                                    .cross_pairs = b->pairs * square};
    return (struct flops_batch){.source = b->pairs * longest,
                                .target = b->pairs * longest,
                                .source_pairs = b->pairs * longest * longest,
                                .target_pairs = b->pairs * longest * longest,
                                .cross_pairs = b->pairs * longest * longest};
}

/* The reference leaves padding out of the encoder's feed-forward layers, and only there.
 */
static double spared(const struct model_config *m, const struct workload_batch *b,
                     const struct flops_batch *sums)
{
    const double padding = sums->source - b->pairs * b->mean_length;

    if (!b->is_padded)
        return 0;
    return 3 * 2 * padding * (double)(m->encoder_layers * 2 * m->d_model * m->d_ff);
}

static double device_seconds(const struct hardware_device *d, bool is_mixed, double work)
{
    const double peak =
        is_mixed ? d->mixed_tflops * d->share_mixed : d->fp32_tflops * d->share_fp32;
    const double traffic = is_mixed ? d->traffic_mixed : d->traffic_fp32;

    if (d->step_gflops > 0)
        return work / (1e9 * d->step_gflops);
    return work / (1e12 * peak) + work * traffic / (1e9 * d->memory_gb_per_s);
}

/* Share of backward that tensor t takes: its two products, for the tokens it meets, in
 * all layers between those whose sets are finished before its own and after. */
static double backward_weight(const struct params *p, const struct param *t,
                              const struct flops_batch *sums)
{
    const bool memory = t->id == PARAM_cross_k || t->id == PARAM_cross_v;
    const bool of_source = t->block == BLOCK_ENCODER || memory;

    if (t->id == PARAM_embed || t->n_dims < 2)
        return 0;
    return (double)(t->rows * t->cols) * params_span(p, t->block, t->layer) *
           (of_source ? sums->source : sums->target);
}

/* From the table's end to its front. */
static status place_pieces(struct workload *w, const struct params *p,
                           const struct flops_batch *sums, struct err *err)
{
    double total = 0, done = 0;

    TRY(mem_alloc(&w->piece, p->n_list, sizeof *w->piece, err));
    for (size_t i = 0; i < p->n_list; i++)
        total += backward_weight(p, &p->list[i], sums);
    for (size_t i = p->n_list; i-- > 0;) {
        const struct param *t = &p->list[i];
        done += backward_weight(p, t, sums);
        w->piece[w->n_pieces++] = (struct workload_piece){
            .elements = (double)(t->rows * t->cols),
            .t_ready = w->t_forward + w->t_backward * (total > 0 ? done / total : 1)};
    }
    return OK;
}

/* A bucket is ready with its first element: backward comes from the end. */
static double ready_at(const struct workload *w, const struct params *p, size_t first)
{
    size_t i = 0;

    while (i + 1 < p->n_list && p->list[i + 1].at <= first)
        i++;
    return w->piece[p->n_list - 1 - i].t_ready;
}

/*
 * Rows that n tokens name of V when the r-th most frequent has a share in proportion to
 * 1 / (r + 2.7), Zipf's law with Mandelbrot's offset. Tatoeba and Multi30k name 60 to 90
 * % of that.
 */
static double named_rows(double V, double n)
{
    static const double OFFSET = 2.7;
    double total = 0, rows = 0;

    for (size_t r = 1; (double)r <= V; r++)
        total += 1 / ((double)r + OFFSET);
    for (size_t r = 1; (double)r <= V; r++)
        rows -= expm1(n * log1p(-1 / ((double)r + OFFSET) / total));
    return rows;
}

static void add_bucket(struct workload *w, double elements, double t_ready)
{
    w->bucket[w->n_buckets++] = (struct workload_piece){elements, t_ready};
}

static void fill_buckets(struct workload *w, const struct params *p,
                         const struct buckets *b, double n_naming)
{
    const struct param *e = params_get(p, PARAM_embed, 0);
    const size_t n_table = n_naming > 0 ? buckets_of_embedding(b, p) : 0;
    const double named = n_table ? named_rows((double)e->rows, n_naming) : 0;

    if (n_table)
        add_bucket(w, ((double)e->rows - named) * (double)e->stride, w->t_forward);
    for (size_t i = 0; i < b->n_list - n_table; i++)
        add_bucket(w, (double)b->list[i].n, ready_at(w, p, b->list[i].first));
    if (n_table)
        add_bucket(w, named * (double)e->stride, w->t_forward + w->t_backward);
}

static status place_buckets(struct workload *w, const struct params *p,
                            const struct workload_batch *batch, struct err *err)
{
    const double elements = fmin(fmax(1, batch->bucket_bytes / 4), (double)p->n_flat);
    struct buckets b;

    TRY(buckets_open(&b, p, (size_t)elements, err));
    const status result = mem_alloc(&w->bucket, b.n_list + 1, sizeof *w->bucket, err);
    if (result == OK)
        fill_buckets(w, p, &b, batch->n_naming);
    buckets_close(&b);
    return result;
}

status workload_open(struct workload *w, const struct model_config *model,
                     const struct hardware_device *device,
                     const struct workload_batch *batch, double t_compute,
                     struct err *err)
{
    const struct flops_batch sums = batch_sums(batch);
    const struct flops forward = flops_forward(model, &sums);
    struct params p;

    *w = (struct workload){0};
    TRY(params_open(&p, model, err));
    /* ferry bench counts products of weights only, so its rate is divided into those */
    const double attention = device->step_gflops > 0 ? 0 : forward.attention;
    const double first = forward.linear + attention + 3 * forward.output;
    const double views = fmax(batch->views, 1), less = spared(model, batch, &sums);
    const double work = views * (first + 2 * (forward.linear + attention) - less);
    w->operations = views * (flops_total(flops_training(model, &sums)) - less);
    w->n_parameters = p.n_elements;
    w->tokens = 2 * batch->pairs * batch->mean_length;
    w->useful = w->tokens / (sums.source + sums.target);
    w->t_update = UPDATE_BYTES * (double)p.n_elements / (1e9 * device->memory_gb_per_s);
    double seconds = device_seconds(device, batch->is_mixed, work);
    if (t_compute > 0) {
        w->t_update = fmin(w->t_update, t_compute / 2);
        seconds = t_compute - w->t_update;
    }
    w->t_forward = seconds * first / (first + 2 * (forward.linear + attention));
    w->t_backward = seconds - w->t_forward + batch->t_taken;
    status result = place_pieces(w, &p, &sums, err);
    THEN(result, place_buckets(w, &p, batch, err));
    if (result != OK)
        workload_close(w);
    params_close(&p);
    return result;
}

void workload_close(struct workload *w)
{
    free(w->piece);
    free(w->bucket);
    *w = (struct workload){0};
}

double workload_seconds(const struct workload *w)
{
    return w->t_forward + w->t_backward + w->t_update;
}
