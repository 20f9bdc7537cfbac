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
 * because sum_j p_ij dp_ij = sum_j w_ij dw_ij = dout_i . out_i. Keys (and values) are
 * transposed into the thread's scratch, so that a row of scores is a run of
 * multiply-adds over neighbouring keys. A head of a sentence belongs to one thread, so
 * dk and dv need no atomics.
 */
#include <math.h>

#include "device/cpu/cpu.h"
#include "device/cpu/hash.h"
#include "device/cpu/vexp.h"
#include "device/cpu/vmax.h"

struct job {
    struct mat out, lse, q, k, v;
    struct mat dq, dk, dv, dout;
    struct attend a;
};

/* One head of one sentence; query and key rows are absolute. */
struct item {
    size_t q0, n_q, k0, n_k, head, d;
    real scale;
};

static struct item item_at(const struct job *j, size_t i)
{
    const size_t b = i / j->a.heads;
    const int32_t *q_at = cpu_ids(j->a.q_at), *k_at = cpu_ids(j->a.k_at);
    const size_t d = j->q.cols / j->a.heads;

    return (struct item){.q0 = (size_t)q_at[b],
                         .n_q = (size_t)(q_at[b + 1] - q_at[b]),
                         .k0 = (size_t)k_at[b],
                         .n_k = (size_t)(k_at[b + 1] - k_at[b]),
                         .head = i % j->a.heads,
                         .d = d,
                         .scale = (real)(1 / sqrt((double)d))};
}

static real *head_row(struct mat m, const struct item *it, size_t row)
{
    return cpu_row(m, row) + it->head * it->d;
}

static void transpose(real *out, struct mat m, const struct item *it)
{
    for (size_t j = 0; j < it->n_k; j++) {
        const real *row = head_row(m, it, it->k0 + j);
        for (size_t c = 0; c < it->d; c++)
            out[c * it->n_k + j] = row[c];
    }
}

/* s[j] = scale * x . column j of t, for j < n; t is [d, n_k]. */
static void products(real *restrict s, const real *x, const real *restrict t, size_t n,
                     const struct item *it, real scale)
{
    for (size_t j = 0; j < n; j++)
        s[j] = 0;
    for (size_t c = 0; c < it->d; c++) {
        const real xc = x[c] * scale;
        const real *tc = t + c * it->n_k;
        for (size_t j = 0; j < n; j++)
            s[j] += xc * tc[j];
    }
}

static uint32_t row_hash(const struct drop *drop, size_t r)
{
    return hash_row(drop->key, (uint32_t)cpu_ids(drop->pair)[r],
                    (uint32_t)cpu_ids(drop->pos)[r]);
}

/* m[j] = 0 or 1 / (1 - rate); all 1 without dropout. */
static void masks(real *restrict m, const struct job *j, const struct item *it, size_t r,
                  size_t n)
{
    const uint32_t limit = hash_threshold(j->a.drop.rate);
    const real keep = (real)(1 / (1 - j->a.drop.rate));

    if (!limit) {
        for (size_t k = 0; k < n; k++)
            m[k] = 1;
        return;
    }
    const uint32_t row = row_hash(&j->a.drop, r), H = (uint32_t)j->a.heads;
    for (size_t k = 0; k < n; k++)
        m[k] =
            hash_channel(row, (uint32_t)k * H + (uint32_t)it->head) >= limit ? keep : 0;
}

/* s becomes the softmax of s; the return value is its log-sum-exp. */
static real softmax(real *s, size_t n)
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
    return top + (real)log((double)sum);
}

/* out += sum_j w[j] * row j of m, over the head's columns. */
static void gather(real *restrict out, const real *w, struct mat m, size_t n,
                   const struct item *it)
{
    for (size_t j = 0; j < n; j++) {
        const real *row = head_row(m, it, it->k0 + j);
        for (size_t c = 0; c < it->d; c++)
            out[c] += w[j] * row[c];
    }
}

/* row j of m += w[j] * x, over the head's columns. */
static void scatter(struct mat m, const real *w, const real *x, size_t n,
                    const struct item *it)
{
    for (size_t j = 0; j < n; j++) {
        real *restrict row = head_row(m, it, it->k0 + j);
        for (size_t c = 0; c < it->d; c++)
            row[c] += w[j] * x[c];
    }
}

static void forward_item(const struct job *j, const struct item *it, real *scratch)
{
    real *kt = scratch, *s = kt + it->d * it->n_k, *m = s + it->n_k;

    transpose(kt, j->k, it);
    for (size_t i = 0; i < it->n_q; i++) {
        const size_t r = it->q0 + i, n = j->a.causal ? i + 1 : it->n_k;
        real *out = head_row(j->out, it, r);
        products(s, head_row(j->q, it, r), kt, n, it, it->scale);
        cpu_row(j->lse, r)[it->head] = softmax(s, n);
        masks(m, j, it, r, n);
        for (size_t k = 0; k < n; k++)
            s[k] *= m[k];
        for (size_t c = 0; c < it->d; c++)
            out[c] = 0;
        gather(out, s, j->v, n, it);
    }
}

static void backward_row(const struct job *j, const struct item *it, size_t i, real *kt)
{
    const size_t r = it->q0 + i, n = j->a.causal ? i + 1 : it->n_k;
    real *vt = kt + it->d * it->n_k, *p = vt + it->d * it->n_k, *ds = p + it->n_k;
    real *m = ds + it->n_k;
    const real *q = head_row(j->q, it, r), *dout = head_row(j->dout, it, r);
    const real *out = head_row(j->out, it, r), lse = cpu_row(j->lse, r)[it->head];
    real *dq = head_row(j->dq, it, r), delta = 0;

    for (size_t c = 0; c < it->d; c++) {
        delta += dout[c] * out[c];
        dq[c] = 0;
    }
    products(p, q, kt, n, it, it->scale);
    products(ds, dout, vt, n, it, 1);
    masks(m, j, it, r, n);
    for (size_t k = 0; k < n; k++) {
        const real pk = vexp(p[k] - lse);
        ds[k] = pk * (ds[k] * m[k] - delta) * it->scale;
        p[k] = pk * m[k];
    }
    gather(dq, ds, j->k, n, it);
    scatter(j->dk, ds, q, n, it);
    scatter(j->dv, p, dout, n, it);
}

static void backward_item(const struct job *j, const struct item *it, real *scratch)
{
    transpose(scratch, j->k, it);
    transpose(scratch + it->d * it->n_k, j->v, it);
    for (size_t k = 0; k < it->n_k; k++) {
        memset(head_row(j->dk, it, it->k0 + k), 0, it->d * sizeof(real));
        memset(head_row(j->dv, it, it->k0 + k), 0, it->d * sizeof(real));
    }
    for (size_t i = 0; i < it->n_q; i++)
        backward_row(j, it, i, scratch);
}

struct run {
    struct job job;
    struct device *device;
    void (*item)(const struct job *, const struct item *, real *scratch);
};

static void run_part(void *ctx, size_t part, size_t n_parts)
{
    const struct run *run = ctx;
    const struct attend *a = &run->job.a;
    const struct pool_range items = pool_split(a->n_sents * a->heads, part, n_parts);

    for (size_t i = items.begin; i < items.end; i++) {
        const struct item it = item_at(&run->job, i);
        run->item(&run->job, &it, cpu_scratch(run->device, part));
    }
}

void CPU(attention_forward)(struct device *d, struct mat out, struct mat lse,
                            struct mat q, struct mat k, struct mat v, struct attend a)
{
    struct run run = {.job = {.out = out, .lse = lse, .q = q, .k = k, .v = v, .a = a},
                      .device = d,
                      .item = forward_item};

    pool_run(d->pool, run_part, &run);
}

void CPU(attention_backward)(struct device *d, struct mat dq, struct mat dk,
                             struct mat dv, struct mat dout, struct mat out,
                             struct mat lse, struct mat q, struct mat k, struct mat v,
                             struct attend a)
{
    struct run run = {.job = {.out = out,
                              .lse = lse,
                              .q = q,
                              .k = k,
                              .v = v,
                              .dq = dq,
                              .dk = dk,
                              .dv = dv,
                              .dout = dout,
                              .a = a},
                      .device = d,
                      .item = backward_item};

    pool_run(d->pool, run_part, &run);
}
