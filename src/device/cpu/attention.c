/*
 * Attention over packed sentences, one head of one sentence at a time.
 *
 *   s_ij = q_i . k_j / sqrt(d)           j <= i when causal
 *   p_ij = exp(s_ij - lse_i),            lse_i = log sum_j exp(s_ij)
 *   w_ij = drop(p_ij),  out_i = sum_j w_ij v_j
 *
 * Backward computes p again from q, k and lse, so that no scores are stored:
 *
 *   dw_ij = dout_i . v_j,   dp_ij = drop'(dw_ij),   ds_ij = p_ij (dp_ij - dout_i . out_i)
 *   dq_i  = sum_j ds_ij k_j / sqrt(d),  dk_j = sum_i ds_ij q_i / sqrt(d),
 *   dv_j  = sum_i w_ij dout_i
 *
 * because sum_j p_ij dp_ij = sum_j w_ij dw_ij = dout_i . out_i. The head's rows are
 * copied into the thread's scratch, padded to whole vectors, keys (and values) also
 * transposed; then everything is small matrix products (tile.h) over blocks of queries
 * whose scores stay in the cache. A head of a sentence belongs to one thread, so dk and
 * dv need no atomics.
 */
#include <math.h>

#include "device/cpu/cpu.h"
#include "device/cpu/hash.h"
#include "device/cpu/tile.h"
#include "device/cpu/vexp.h"
#include "device/cpu/vmax.h"

enum { BLOCK = 36 }; /* queries at a time: whole tiles of rows */

struct job {
    struct mat out, lse, q, k, v;
    struct attend a;
    struct mat dq, dk, dv, dout; /* of backward */
};

/* One head of one sentence; query and key rows are absolute. */
struct item {
    const struct job *job;
    size_t q0, n_q, k0, n_k, head;
    size_t d, dp; /* width of a head, and padded */
    size_t np;    /* keys, padded */
    real scale;
};

/* The item's scratch; the last six are of backward only. */
struct room {
    real *kt, *v;        /* [d,np] [n_k,dp] */
    real *q, *o, *s, *m; /* [BLOCK,dp] [BLOCK,dp] [BLOCK,np] [np] */
    real *vt, *k;        /* [d,np] [n_k,dp] */
    real *dk, *dv;       /* [n_k,dp] */
    real *dout, *ds;     /* [BLOCK,dp] [BLOCK,np] */
};

static struct item item_at(const struct job *j, size_t i)
{
    const size_t b = i / j->a.heads;
    const int32_t *q_at = cpu_ids(j->a.q_at), *k_at = cpu_ids(j->a.k_at);
    const size_t d = j->q.cols / j->a.heads;
    const size_t n_k = (size_t)(k_at[b + 1] - k_at[b]);

    return (struct item){.job = j,
                         .q0 = (size_t)q_at[b],
                         .n_q = (size_t)(q_at[b + 1] - q_at[b]),
                         .k0 = (size_t)k_at[b],
                         .n_k = n_k,
                         .head = i % j->a.heads,
                         .d = d,
                         .dp = tile_pad(d),
                         .np = tile_pad(n_k),
                         .scale = (real)(1 / sqrt((double)d))};
}

static real *take(real **scratch, size_t n)
{
    real *p = *scratch;

    *scratch += n;
    return p;
}

static struct room room_of(const struct item *it, real *scratch)
{
    const size_t keys = it->n_k * it->dp;
    struct room r = {.kt = take(&scratch, it->d * it->np), .v = take(&scratch, keys)};

    r.q = take(&scratch, BLOCK * it->dp);
    r.o = take(&scratch, BLOCK * it->dp);
    r.s = take(&scratch, BLOCK * it->np);
    r.m = take(&scratch, it->np);
    r.vt = take(&scratch, it->d * it->np);
    r.k = take(&scratch, keys);
    r.dk = take(&scratch, keys);
    r.dv = take(&scratch, keys);
    r.dout = take(&scratch, BLOCK * it->dp);
    r.ds = take(&scratch, BLOCK * it->np);
    return r;
}

static real *head_row(struct mat m, const struct item *it, size_t row)
{
    return cpu_row(m, row) + it->head * it->d;
}

/* Rows [first, first + n) of the head, times scale, padded with zeros to dp. */
static void copy_in(real *restrict to, struct mat m, const struct item *it, size_t first,
                    size_t n, real scale)
{
    for (size_t i = 0; i < n; i++, to += it->dp) {
        const real *from = head_row(m, it, first + i);
        for (size_t c = 0; c < it->d; c++)
            to[c] = from[c] * scale;
        for (size_t c = it->d; c < it->dp; c++)
            to[c] = 0;
    }
}

static void copy_out(struct mat m, const real *restrict from, const struct item *it,
                     size_t first, size_t n, real scale)
{
    for (size_t i = 0; i < n; i++, from += it->dp) {
        real *restrict to = head_row(m, it, first + i);
        for (size_t c = 0; c < it->d; c++)
            to[c] = from[c] * scale;
    }
}

/* The head's keys as columns, padded with zeros to np. */
static void transpose(real *restrict out, struct mat m, const struct item *it)
{
    for (size_t j = 0; j < it->n_k; j++) {
        const real *row = head_row(m, it, it->k0 + j);
        for (size_t c = 0; c < it->d; c++)
            out[c * it->np + j] = row[c];
    }
    for (size_t c = 0; c < it->d; c++)
        for (size_t j = it->n_k; j < it->np; j++)
            out[c * it->np + j] = 0;
}

/* Keys that query i of the sentence sees. */
static size_t visible(const struct item *it, size_t i)
{
    return it->job->a.causal ? i + 1 : it->n_k;
}

/* Keys that some of the queries [at, at + n) of the sentence see: the first ones. */
static size_t seen_by(const struct item *it, size_t at, size_t n)
{
    return visible(it, at + n - 1);
}

/* m[j] = 0 or 1 / (1 - rate); all 1 without dropout. */
static void masks(real *restrict m, const struct item *it, size_t row, size_t n)
{
    const struct drop *drop = &it->job->a.drop;
    const uint32_t limit = hash_threshold(drop->rate), H = (uint32_t)it->job->a.heads;
    const real keep = (real)(1 / (1 - drop->rate));
    const uint32_t seed = hash_drop(drop, row);

    for (size_t k = 0; k < n; k++)
        m[k] =
            hash_channel(seed, (uint32_t)k * H + (uint32_t)it->head) >= limit ? keep : 0;
}

/* s[0..n) becomes its softmax, the rest of the padded row 0; returns log-sum-exp. */
static real softmax(real *restrict s, size_t n, size_t np)
{
    const real top = vmax(s, n);
    real sum = 0;

    for (size_t j = 0; j < n; j++) {
        s[j] = vexp(s[j] - top);
        sum += s[j];
    }
    const real scale = 1 / sum;
    for (size_t j = 0; j < n; j++)
        s[j] *= scale;
    for (size_t j = n; j < np; j++)
        s[j] = 0;
    return top + (real)log((double)sum);
}

static void drop_weights(const struct item *it, const struct room *r, real *restrict s,
                         size_t row, size_t n)
{
    if (!(it->job->a.drop.rate > 0))
        return;
    masks(r->m, it, row, n);
    for (size_t j = 0; j < n; j++)
        s[j] *= r->m[j];
}

static struct tile_a rows_of(const real *x, size_t stride)
{
    return (struct tile_a){x, stride, 1};
}

static struct tile_a columns_of(const real *x, size_t stride)
{
    return (struct tile_a){x, 1, stride};
}

/* Queries [at, at + n) of the sentence. */
static void forward_block(const struct item *it, const struct room *r, size_t at,
                          size_t n)
{
    const struct job *j = it->job;
    const size_t n_k = seen_by(it, at, n), np = tile_pad(n_k);

    copy_in(r->q, j->q, it, it->q0 + at, n, it->scale);
    tile_multiply(r->s, it->np, rows_of(r->q, it->dp), r->kt, it->np, n, np, it->d,
                  false);
    for (size_t i = 0; i < n; i++) {
        const size_t row = it->q0 + at + i, seen = visible(it, at + i);
        real *s = r->s + i * it->np;
        cpu_row(j->lse, row)[it->head] = softmax(s, seen, np);
        drop_weights(it, r, s, row, seen);
    }
    tile_multiply(r->o, it->dp, rows_of(r->s, it->np), r->v, it->dp, n, it->dp, n_k,
                  false);
    copy_out(j->out, r->o, it, it->q0 + at, n, 1);
}

static void forward_item(const struct item *it, real *scratch)
{
    const struct room r = room_of(it, scratch);

    transpose(r.kt, it->job->k, it);
    copy_in(r.v, it->job->v, it, it->k0, it->n_k, 1);
    for (size_t at = 0; at < it->n_q; at += BLOCK)
        forward_block(it, &r, at, it->n_q - at < BLOCK ? it->n_q - at : BLOCK);
}

/* Row i of the block: np of s and ds hold scores and dw, and become w and ds. */
static void backward_row(const struct item *it, const struct room *r, size_t at, size_t i,
                         size_t np)
{
    const struct job *j = it->job;
    const size_t row = it->q0 + at + i, n = visible(it, at + i);
    const real lse = cpu_row(j->lse, row)[it->head];
    const real *out = head_row(j->out, it, row), *dout = r->dout + i * it->dp;
    real *restrict s = r->s + i * it->np, *restrict ds = r->ds + i * it->np;
    real *restrict m = r->m, delta = 0;

    for (size_t c = 0; c < it->d; c++)
        delta += dout[c] * out[c];
    if (j->a.drop.rate > 0) {
        masks(m, it, row, n);
        for (size_t k = 0; k < n; k++) {
            const real p = vexp(s[k] - lse);
            ds[k] = p * (ds[k] * m[k] - delta);
            s[k] = p * m[k];
        }
    } else {
        for (size_t k = 0; k < n; k++) {
            s[k] = vexp(s[k] - lse);
            ds[k] = s[k] * (ds[k] - delta);
        }
    }
    for (size_t k = n; k < np; k++)
        s[k] = ds[k] = 0;
}

/*
 * to_k (+)= sum_i x_ik y_i over the n queries of the block at `at`, for the keys that
 * they see: those that earlier blocks saw already, and new ones.
 */
static void add_to_keys(const struct item *it, real *to, const real *x, const real *y,
                        size_t at, size_t n)
{
    const size_t old = at ? seen_by(it, 0, at) : 0, all = seen_by(it, at, n);
    const size_t dp = it->dp;

    tile_multiply(to, dp, columns_of(x, it->np), y, dp, old, dp, n, true);
    tile_multiply(to + old * dp, dp, columns_of(x + old, it->np), y, dp, all - old, dp, n,
                  false);
}

static void backward_block(const struct item *it, const struct room *r, size_t at,
                           size_t n)
{
    const struct job *j = it->job;
    const size_t n_k = seen_by(it, at, n), np = tile_pad(n_k), dp = it->dp;

    copy_in(r->q, j->q, it, it->q0 + at, n, it->scale);
    copy_in(r->dout, j->dout, it, it->q0 + at, n, 1);
    tile_multiply(r->s, it->np, rows_of(r->q, dp), r->kt, it->np, n, np, it->d, false);
    tile_multiply(r->ds, it->np, rows_of(r->dout, dp), r->vt, it->np, n, np, it->d,
                  false);
    for (size_t i = 0; i < n; i++)
        backward_row(it, r, at, i, np);
    tile_multiply(r->o, dp, rows_of(r->ds, it->np), r->k, dp, n, dp, n_k, false);
    copy_out(j->dq, r->o, it, it->q0 + at, n, it->scale);
    add_to_keys(it, r->dk, r->ds, r->q, at, n); /* q carries the scale already */
    add_to_keys(it, r->dv, r->s, r->dout, at, n);
}

static void backward_item(const struct item *it, real *scratch)
{
    const struct room r = room_of(it, scratch);
    const struct job *j = it->job;

    transpose(r.kt, j->k, it);
    transpose(r.vt, j->v, it);
    copy_in(r.k, j->k, it, it->k0, it->n_k, 1);
    for (size_t at = 0; at < it->n_q; at += BLOCK)
        backward_block(it, &r, at, it->n_q - at < BLOCK ? it->n_q - at : BLOCK);
    copy_out(j->dk, r.dk, it, it->k0, it->n_k, 1);
    copy_out(j->dv, r.dv, it, it->k0, it->n_k, 1);
}

struct run {
    struct job job;
    struct device *device;
    void (*item)(const struct item *, real *scratch);
    struct pool_queue left; /* heads of sentences */
};

static void run_part(void *ctx, size_t part, size_t n_parts)
{
    struct run *run = ctx;
    struct pool_range items;

    while (pool_take(&run->left, 1, n_parts, &items))
        for (size_t i = items.begin; i < items.end; i++) {
            const struct item it = item_at(&run->job, i);
            run->item(&it, cpu_scratch(run->device, part));
        }
}

void CPU(attention_forward)(struct device *d, struct mat out, struct mat lse,
                            struct mat q, struct mat k, struct mat v, struct attend a)
{
    struct run run = {.job = {out, lse, q, k, v, a},
                      .device = d,
                      .item = forward_item,
                      .left = {.n = a.n_sents * a.heads}};

    pool_run(d->pool, run_part, &run);
}

void CPU(attention_backward)(struct device *d, struct mat dq, struct mat dk,
                             struct mat dv, struct mat dout, struct mat out,
                             struct mat lse, struct mat q, struct mat k, struct mat v,
                             struct attend a)
{
    struct run run = {.job = {out, lse, q, k, v, a, dq, dk, dv, dout},
                      .device = d,
                      .item = backward_item,
                      .left = {.n = a.n_sents * a.heads}};

    pool_run(d->pool, run_part, &run);
}
