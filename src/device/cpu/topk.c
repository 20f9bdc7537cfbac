/*
 * The K likeliest ids of each row of logits, best first, with their log-probabilities
 * z - lse(z). A sorted list of K is kept while the row is read once; of two equal
 * logits the lower id comes first. When K exceeds the vocabulary the rest is -inf, -1.
 */
#include <math.h>

#include "device/cpu/cpu.h"
#include "device/cpu/vexp.h"
#include "device/cpu/vmax.h"

enum { BLOCK = 256 };

struct job {
    struct mat top, logits;
    int32_t *id;
};

static real log_sum_exp(const real *z, size_t V)
{
    const real top = vmax(z, V);
    real sum = 0;

    for (size_t v = 0; v < V; v++)
        sum += vexp(z[v] - top);
    return top + (real)log((double)sum);
}

/* Put (z, id) into the sorted list of n, dropping the last of K. */
static size_t insert(real *best, int32_t *id, size_t n, size_t K, real z, int32_t v)
{
    size_t at = n < K ? n : K - 1;

    for (; at > 0 && best[at - 1] < z; at--) {
        best[at] = best[at - 1];
        id[at] = id[at - 1];
    }
    best[at] = z;
    id[at] = v;
    return n < K ? n + 1 : n;
}

static void one_row(const struct job *j, size_t r)
{
    const size_t V = j->logits.cols, K = j->top.cols;
    const real *z = cpu_row(j->logits, r), lse = log_sum_exp(z, V);
    real *best = cpu_row(j->top, r);
    int32_t *id = j->id + r * K;
    size_t n = 0;

    for (size_t at = 0; at < V; at += BLOCK) {
        const size_t end = V - at < BLOCK ? V : at + BLOCK;
        if (n == K && !(vmax(z + at, end - at) > best[K - 1]))
            continue; /* nothing here enters the list, which is nearly always so */
        for (size_t v = at; v < end; v++)
            if (n < K || z[v] > best[K - 1])
                n = insert(best, id, n, K, z[v], (int32_t)v);
    }
    for (size_t i = 0; i < n; i++)
        best[i] -= lse;
    for (size_t i = n; i < K; i++) {
        best[i] = -INFINITY;
        id[i] = -1;
    }
}

static void rows_part(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const struct pool_range rows = pool_split(j->logits.rows, part, n_parts);

    for (size_t r = rows.begin; r < rows.end; r++)
        one_row(j, r);
}

void CPU(topk)(struct device *d, struct mat top, struct ids id, struct mat logits)
{
    struct job j = {top, logits, cpu_ids(id)};

    pool_run(d->pool, rows_part, &j);
}
