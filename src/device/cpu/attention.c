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
 * because sum_j p_ij dp_ij = sum_j w_ij dw_ij = dout_i . out_i. The head's queries and,
 * as columns, its keys (and values) are copied into the thread's scratch, padded to whole
 * vectors; other rows only where they are not whole vectors, so that nothing written may
 * be what is read. Then everything is small matrix products (tile.h) over blocks of
 * queries whose scores stay in the cache. Rows of scores are computed to the end of their
 * last vector, and what lies behind the last key is set to 0. A head of a sentence
 * belongs to one thread, so dk and dv need no atomics.
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

/* The item's scratch; the last six are of backward only, and some stay unused where rows
 * are whole vectors. */
struct room {
    real *kt, *v;    /* [d,np] [n_k,dp] */
    real *q, *o, *s; /* [BLOCK,dp] [BLOCK,dp] [BLOCK,np] */
    real *vt, *k;    /* [d,np] [n_k,dp] */
    real *dk, *dv;   /* [n_k,dp] */
    real *dout, *ds; /* [BLOCK,dp] [BLOCK,np] */
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

/* The head's rows where they lie when they are whole vectors, otherwise in `room`. */
struct rows {
    real *at;
    size_t stride;
};

static struct rows rows_of(struct mat m, const struct item *it, size_t first, real *room)
{
    if (it->d == it->dp)
        return (struct rows){head_row(m, it, first), m.stride};
    return (struct rows){room, it->dp};
}

/* The head's part of at most BLOCK rows from `row` on is asked for. */
static void fetch(struct mat m, const struct item *it, size_t row, size_t n)
{
    enum { LINE = 64 / sizeof(real) };

    for (size_t i = row; i < row + cpu_smaller(n, BLOCK); i++)
        for (size_t c = 0; c < it->d; c += LINE)
            __builtin_prefetch(head_row(m, it, i) + c);
}

/* The rows of an item lie far apart: the processor is told before it reads them. */
static void fetch_item(const struct item *it)
{
    const struct job *j = it->job;

    fetch(j->k, it, it->k0, it->n_k);
    fetch(j->v, it, it->k0, it->n_k);
    fetch(j->q, it, it->q0, it->n_q);
    fetch(j->out, it, it->q0, it->n_q);
    if (j->dout.mem) {
        fetch(j->dout, it, it->q0, it->n_q);
        fetch(j->dq, it, it->q0, it->n_q);
        fetch(j->dk, it, it->k0, it->n_k);
        fetch(j->dv, it, it->k0, it->n_k);
    }
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

/* Rows to read. */
static struct rows read_rows(struct mat m, const struct item *it, size_t first, size_t n,
                             real *room)
{
    const struct rows r = rows_of(m, it, first, room);

    if (r.at == room)
        copy_in(room, m, it, first, n, 1);
    return r;
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

/* The head's j-th key; behind the last one that once more. */
static const real *key_row(struct mat m, const struct item *it, size_t j)
{
    return head_row(m, it, it->k0 + cpu_smaller(j, it->n_k - 1));
}

/* Columns [c, c + LANES) of the head's keys from the j-th on. */
static void transpose_square(real *restrict out, struct mat m, const struct item *it,
                             size_t j, size_t c)
{
    tile_vec row[TILE_LANES];

    TILE_UNROLL
    for (size_t i = 0; i < TILE_LANES; i++)
        row[i] = *(const tile_loose *)(key_row(m, it, j + i) + c);
    tile_transpose(row);
    TILE_UNROLL
    for (size_t i = 0; i < TILE_LANES; i++)
        *(tile_loose *)(out + (c + i) * it->np + j) = row[i];
}

/* Rows that were written. */
static void write_rows(struct mat m, struct rows r, const struct item *it, size_t first,
                       size_t n)
{
    if (r.at != head_row(m, it, first))
        copy_out(m, r.at, it, first, n, 1);
}

/* The head's keys as columns, padded to np with anything: no score of them is used. */
static void transpose(real *restrict out, struct mat m, const struct item *it)
{
    const size_t whole = it->d / TILE_LANES * TILE_LANES;

    for (size_t j = 0; j < it->np; j += TILE_LANES) {
        for (size_t c = 0; c < whole; c += TILE_LANES)
            transpose_square(out, m, it, j, c);
        for (size_t i = j; whole < it->d && i < j + TILE_LANES; i++) {
            const real *row = key_row(m, it, i);
            for (size_t c = whole; c < it->d; c++)
                out[c * it->np + i] = row[c];
        }
    }
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

/* What the weights of a row of queries are multiplied by: 0 or 1 / (1 - rate). */
struct masks {
    uint32_t seed, step, first, limit;
    real keep;
};

static struct masks masks_of(const struct item *it, size_t row)
{
    const struct drop *drop = &it->job->a.drop;
    const uint32_t limit = hash_threshold(drop->rate);

    return (struct masks){.seed = limit ? hash_drop(drop, row) : 0,
                          .step = (uint32_t)it->job->a.heads,
                          .first = (uint32_t)it->head,
                          .limit = limit,
                          .keep = (real)(1 / (1 - drop->rate))};
}

static inline real mask(const struct masks *m, uint32_t k)
{
    if (!m->limit)
        return 1;
    return hash_channel(m->seed, k * m->step + m->first) >= m->limit ? m->keep : 0;
}

/*
 * A vector of scores at a time, so that compilers need no loop for what is left over; n
 * of its keys are seen.
 */
static inline void hide(real *restrict s, uint32_t n)
{
    for (uint32_t l = 0; l < TILE_LANES; l++)
        s[l] = l < n ? s[l] : -(real)INFINITY;
}

static inline void exponentials(real *restrict s, uint32_t n, real top)
{
    for (uint32_t l = 0; l < TILE_LANES; l++) {
        const real e = vexp(s[l] - top);
        s[l] = l < n ? e : 0;
    }
}

static inline void drop_weights(real *restrict s, const struct masks *m, uint32_t k,
                                real scale)
{
    for (uint32_t l = 0; l < TILE_LANES; l++)
        s[l] = s[l] * scale * mask(m, k + l);
}

static inline void score_gradients(real *restrict s, real *restrict ds, uint32_t n,
                                   const struct masks *m, uint32_t k, real lse,
                                   real delta)
{
    for (uint32_t l = 0; l < TILE_LANES; l++) {
        const real p = vexp(s[l] - lse), keep = mask(m, k + l);
        ds[l] = l < n ? p * (ds[l] * keep - delta) : 0;
        s[l] = l < n ? p * keep : 0;
    }
}

static inline uint32_t seen_from(size_t n, size_t at)
{
    return (uint32_t)(n > at ? n - at : 0);
}

/* The largest score of a row, and the sum of the exponentials below it. */
struct total {
    real top, sum;
};

/* s[0..n) becomes its softmax times the masks, the rest of the padded row 0. */
static inline struct total softmax(real *restrict s, size_t n, size_t np,
                                   const struct masks *m)
{
    tile_vec sums = {0};
    real sum = 0;

    for (size_t at = 0; at < np; at += TILE_LANES)
        hide(s + at, seen_from(n, at));
    const real top = vmax(s, np);
    for (size_t at = 0; at < np; at += TILE_LANES) {
        exponentials(s + at, seen_from(n, at), top);
        sums += *(const tile_loose *)(s + at);
    }
    TILE_UNROLL
    for (size_t l = 0; l < TILE_LANES; l++)
        sum += sums[l];
    for (size_t at = 0; at < np; at += TILE_LANES)
        drop_weights(s + at, m, (uint32_t)at, 1 / sum);
    return (struct total){top, sum};
}

static struct tile_a by_rows(const real *x, size_t stride)
{
    return (struct tile_a){x, stride, 1};
}

static struct tile_a by_columns(const real *x, size_t stride)
{
    return (struct tile_a){x, 1, stride};
}

/* Queries [at, at + n) of the sentence. */
static void forward_block(const struct item *it, const struct room *r, struct rows v,
                          size_t at, size_t n)
{
    const struct job *j = it->job;
    const size_t n_k = seen_by(it, at, n), np = tile_pad(n_k);
    const struct rows o = rows_of(j->out, it, it->q0 + at, r->o);
    struct total total[BLOCK];

    copy_in(r->q, j->q, it, it->q0 + at, n, it->scale);
    tile_multiply(r->s, it->np, by_rows(r->q, it->dp), r->kt, it->np, n, np, it->d,
                  false);
    for (size_t i = 0; i < n; i++) {
        const struct masks m = masks_of(it, it->q0 + at + i);
        total[i] = softmax(r->s + i * it->np, visible(it, at + i), np, &m);
    }
    for (size_t i = 0; i < n; i++) /* apart, because a call empties the registers */
        cpu_row(j->lse, it->q0 + at + i)[it->head] =
            total[i].top + (real)log((double)total[i].sum);
    tile_multiply(o.at, o.stride, by_rows(r->s, it->np), v.at, v.stride, n, it->dp, n_k,
                  false);
    write_rows(j->out, o, it, it->q0 + at, n);
}

static void forward_item(const struct item *it, real *scratch)
{
    const struct room r = room_of(it, scratch);
    const struct rows v = read_rows(it->job->v, it, it->k0, it->n_k, r.v);

    transpose(r.kt, it->job->k, it);
    for (size_t at = 0; at < it->n_q; at += BLOCK)
        forward_block(it, &r, v, at, it->n_q - at < BLOCK ? it->n_q - at : BLOCK);
}

/* Row i of the block: np of s and ds hold scores and dw, and become w and ds. */
static void backward_row(const struct item *it, const struct room *r, const real *dout,
                         size_t at, size_t i, size_t np)
{
    const struct job *j = it->job;
    const size_t row = it->q0 + at + i, n = visible(it, at + i);
    const real lse = cpu_row(j->lse, row)[it->head];
    const real *out = head_row(j->out, it, row);
    const struct masks m = masks_of(it, row);
    real *restrict s = r->s + i * it->np, *restrict ds = r->ds + i * it->np;
    real delta = 0;

    for (size_t c = 0; c < it->d; c++)
        delta += dout[c] * out[c];
    for (size_t k = 0; k < np; k += TILE_LANES)
        score_gradients(s + k, ds + k, seen_from(n, k), &m, (uint32_t)k, lse, delta);
}

/*
 * to_k (+)= sum_i x_ik y_i over the n queries of the block at `at`, for the keys that
 * they see: those that earlier blocks saw already, and new ones.
 */
static void add_to_keys(const struct item *it, struct rows to, const real *x,
                        struct rows y, size_t at, size_t n)
{
    const size_t old = at ? seen_by(it, 0, at) : 0, all = seen_by(it, at, n);
    const size_t dp = it->dp;

    tile_multiply(to.at, to.stride, by_columns(x, it->np), y.at, y.stride, old, dp, n,
                  true);
    tile_multiply(to.at + old * to.stride, to.stride, by_columns(x + old, it->np), y.at,
                  y.stride, all - old, dp, n, false);
}

/* Rows of all keys. */
struct keys {
    struct rows k, dk, dv;
};

static void backward_block(const struct item *it, const struct room *r,
                           const struct keys *keys, size_t at, size_t n)
{
    const struct job *j = it->job;
    const size_t n_k = seen_by(it, at, n), np = tile_pad(n_k), dp = it->dp;
    const struct rows q = {r->q, dp};
    const struct rows dout = read_rows(j->dout, it, it->q0 + at, n, r->dout);

    copy_in(q.at, j->q, it, it->q0 + at, n, it->scale);
    tile_multiply(r->s, it->np, by_rows(q.at, dp), r->kt, it->np, n, np, it->d, false);
    tile_multiply(r->ds, it->np, by_rows(dout.at, dout.stride), r->vt, it->np, n, np,
                  it->d, false);
    for (size_t i = 0; i < n; i++)
        backward_row(it, r, dout.at + i * dout.stride, at, i, np);
    tile_multiply(r->o, dp, by_rows(r->ds, it->np), keys->k.at, keys->k.stride, n, dp,
                  n_k, false);
    copy_out(j->dq, r->o, it, it->q0 + at, n, it->scale);
    add_to_keys(it, keys->dk, r->ds, q, at, n); /* q carries the scale already */
    add_to_keys(it, keys->dv, r->s, dout, at, n);
}

static void backward_item(const struct item *it, real *scratch)
{
    const struct room r = room_of(it, scratch);
    const struct job *j = it->job;
    const struct keys keys = {.k = read_rows(j->k, it, it->k0, it->n_k, r.k),
                              .dk = rows_of(j->dk, it, it->k0, r.dk),
                              .dv = rows_of(j->dv, it, it->k0, r.dv)};

    transpose(r.kt, j->k, it);
    transpose(r.vt, j->v, it);
    for (size_t at = 0; at < it->n_q; at += BLOCK)
        backward_block(it, &r, &keys, at, it->n_q - at < BLOCK ? it->n_q - at : BLOCK);
    write_rows(j->dk, keys.dk, it, it->k0, it->n_k);
    write_rows(j->dv, keys.dv, it, it->k0, it->n_k);
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
            if (i + 1 < run->left.n) { /* likely its own */
                const struct item next = item_at(&run->job, i + 1);
                fetch_item(&next);
            }
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
