/*
 * Label-smoothed cross-entropy of rows of logits z, loss and gradient in one visit.
 *
 *   loss = -sum_v q_v log p_v - K,     q and its entropy K: smoothing.h
 *        = lse(z) - sum_v q_v z_v - K
 *   dz_v = p_v - q_v,                  p_v = exp(z_v - lse(z))
 *
 * The gradient is that of the sum of losses, times grad, and replaces the logits: the
 * caller works through the batch in chunks of rows, so that nothing of tokens x V is ever
 * stored.
 */
#include <math.h>

#include "device/cpu/cpu.h"
#include "device/cpu/smoothing.h"
#include "device/cpu/vexp.h"
#include "device/cpu/vmax.h"

struct job {
    struct mat loss, logits;
    int32_t *best; /* or NULL */
    const int32_t *label;
    struct smoothing smooth;
    double grad;
    struct pool_queue left; /* rows */
};

/* z becomes exp(z - top) when it is kept; the sum of those. */
static double exponentials(real *restrict z, size_t V, real top, bool keep)
{
    real sum = 0;

    if (keep)
        for (size_t v = 0; v < V; v++) {
            z[v] = vexp(z[v] - top);
            sum += z[v];
        }
    else
        for (size_t v = 0; v < V; v++)
            sum += vexp(z[v] - top);
    return (double)sum;
}

static void one_row(const struct job *j, size_t r)
{
    const size_t V = j->logits.cols;
    real *z = cpu_row(j->logits, r);
    const real top = vmax(z, V);
    const size_t t = (size_t)j->label[r];
    const double hit = (double)z[t], total = smoothing_sum(&j->smooth, z, V);

    if (j->best) {
        size_t v = 0;
        while (v + 1 < V && !(z[v] == top))
            v++;
        j->best[r] = (int32_t)v;
    }
    const double sum = exponentials(z, V, top, j->grad != 0);
    const double lse = (double)top + log(sum);
    *cpu_row(j->loss, r) = (real)smoothing_loss(&j->smooth, t, V, hit, total, lse);
    if (j->grad != 0)
        smoothing_gradient(&j->smooth, z, t, V, (real)(j->grad / sum), j->grad);
}

static void rows_part(void *ctx, size_t part, size_t n_parts)
{
    struct job *j = ctx;
    struct pool_range rows;

    (void)part;
    while (pool_take(&j->left, 1, n_parts, &rows))
        for (size_t r = rows.begin; r < rows.end; r++)
            one_row(j, r);
}

void CPU(xent)(struct device *d, struct mat loss, struct ids best, struct mat logits,
               struct ids label, struct smoothing smooth, double grad)
{
    struct job j = {.loss = loss,
                    .logits = logits,
                    .best = best.mem ? cpu_ids(best) : NULL,
                    .label = cpu_ids(label),
                    .smooth = smooth,
                    .grad = grad,
                    .left = {.n = logits.rows}};

    pool_run(d->pool, rows_part, &j);
}
