/*
 * Attention of one query a row, for decoding step by step.
 *
 *   out = sum_j softmax_j(q . k_j / sqrt(d)) v_j       for each head
 *
 * attend_memory: the keys are rows first[r]..last[r) of k, the encoded source of the
 * row's sentence. attend_cache: key t is row t * rows + physical[r, t] of the cache. A
 * beam that continues another one does not copy that one's cache; it inherits its list
 * of physical rows, so that choosing beams moves a few integers.
 */
#include <math.h>

#include "device/cpu/cpu.h"
#include "device/cpu/vexp.h"
#include "device/cpu/vmax.h"

struct job {
    struct device *device;
    struct mat out, q, k, v;
    size_t heads;
    struct cache cache;          /* when first is NULL */
    const int32_t *first, *last; /* or a range of rows */
};

static size_t n_keys(const struct job *j, size_t r)
{
    return j->first ? (size_t)(j->last[r] - j->first[r]) : j->cache.len;
}

static size_t key_row(const struct job *j, size_t r, size_t t)
{
    if (j->first)
        return (size_t)j->first[r] + t;
    return t * j->cache.rows + (size_t)cpu_ids(j->cache.physical)[r * j->cache.len + t];
}

static real dot(const real *a, const real *b, size_t n)
{
    real sum = 0;

    for (size_t c = 0; c < n; c++)
        sum += a[c] * b[c];
    return sum;
}

static void one_head(const struct job *j, size_t r, size_t h, real *s)
{
    const size_t n = n_keys(j, r), d = j->q.cols / j->heads;
    const real *q = cpu_row(j->q, r) + h * d, scale = (real)(1 / sqrt((double)d));
    real *restrict out = cpu_row(j->out, r) + h * d;
    real sum = 0;

    for (size_t t = 0; t < n; t++)
        s[t] = scale * dot(q, cpu_row(j->k, key_row(j, r, t)) + h * d, d);
    const real top = vmax(s, n);
    for (size_t t = 0; t < n; t++) {
        s[t] = vexp(s[t] - top);
        sum += s[t];
    }
    for (size_t c = 0; c < d; c++)
        out[c] = 0;
    for (size_t t = 0; t < n; t++) {
        const real w = s[t] / sum, *v = cpu_row(j->v, key_row(j, r, t)) + h * d;
        for (size_t c = 0; c < d; c++)
            out[c] += w * v[c];
    }
}

static void rows_part(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const struct pool_range items = pool_split(j->q.rows * j->heads, part, n_parts);

    for (size_t i = items.begin; i < items.end; i++)
        one_head(j, i / j->heads, i % j->heads, cpu_scratch(j->device, part));
}

void CPU(attend_cache)(struct device *d, struct mat out, struct mat q, struct cache cache)
{
    struct job j = {d, out, q, cache.k, cache.v, cache.heads, .cache = cache};

    pool_run(d->pool, rows_part, &j);
}

void CPU(attend_memory)(struct device *d, struct mat out, struct mat q, struct mat k,
                        struct mat v, struct ids first, struct ids last, size_t heads)
{
    struct job j = {
        d, out, q, k, v, heads, .first = cpu_ids(first), .last = cpu_ids(last)};

    pool_run(d->pool, rows_part, &j);
}
