/*
 * Cross-entropy of two views of the same tokens, and how far their distributions are from
 * each other: rows x and y of logits, p = softmax(x), q = softmax(y).
 *
 *   loss = c0 CE(p) + c1 CE(q)                        CE as in xent.c
 *   gap  = k0 A + k1 B,   A = KL(p||q) = sum_v p_v d_v,  B = KL(q||p) = -sum_v q_v d_v
 *   d_v  = ln p_v - ln q_v = x_v - lse(x) - y_v + lse(y)
 *
 * Of loss + gap, since dA/dx_v = p_v (d_v - A) and dA/dy_v = q_v - p_v:
 *
 *   dx_v = c0 (p_v - t_v) + k0 p_v (d_v - A) + k1 (p_v - q_v)
 *   dy_v = c1 (q_v - t_v) + k0 (q_v - p_v) - k1 q_v (d_v + B)
 *
 * where t is the smoothed target. The exponentials are taken twice, so that nothing
 * beside the two rows is stored.
 */
#include <math.h>

#include "device/cpu/cpu.h"
#include "device/cpu/smoothing.h"
#include "device/cpu/vexp.h"
#include "device/cpu/vmax.h"

struct job {
    struct mat loss, gap, logits, other;
    const int32_t *label;
    struct smoothing smooth;
    struct views views;
    double grad;
    struct pool_queue left; /* rows */
};

/* What a visit of both rows finds: d_v = (x_v - top[0]) - (y_v - top[1]) + shift. */
struct found {
    real top[2];
    double sum[2], kl[2], shift;
};

static struct found look(const real *restrict x, const real *restrict y, size_t V)
{
    struct found f = {.top = {vmax(x, V), vmax(y, V)}};
    real sum_x = 0, sum_y = 0, far_x = 0, far_y = 0;

    for (size_t v = 0; v < V; v++) {
        const real a = x[v] - f.top[0], b = y[v] - f.top[1];
        const real p = vexp(a), q = vexp(b);
        sum_x += p;
        sum_y += q;
        far_x += p * (a - b);
        far_y += q * (a - b);
    }
    f.sum[0] = (double)sum_x;
    f.sum[1] = (double)sum_y;
    f.shift = log(f.sum[1]) - log(f.sum[0]);
    f.kl[0] = (double)far_x / f.sum[0] + f.shift;
    f.kl[1] = -((double)far_y / f.sum[1] + f.shift);
    return f;
}

/* The part of the gradients that the target has nothing to do with. */
static void turn(real *restrict x, real *restrict y, size_t V, const struct found *f,
                 const struct views *w, double grad)
{
    const real part_x = (real)(1 / f->sum[0]), part_y = (real)(1 / f->sum[1]);
    const real shift = (real)f->shift, A = (real)f->kl[0], B = (real)f->kl[1];
    const real c0 = (real)(grad * w->xent[0]), c1 = (real)(grad * w->xent[1]);
    const real k0 = (real)(grad * w->kl[0]), k1 = (real)(grad * w->kl[1]);

    for (size_t v = 0; v < V; v++) {
        const real a = x[v] - f->top[0], b = y[v] - f->top[1], d = a - b + shift;
        const real p = vexp(a) * part_x, q = vexp(b) * part_y;
        x[v] = p * (c0 + k0 * (d - A)) + k1 * (p - q);
        y[v] = q * (c1 - k1 * (d + B)) + k0 * (q - p);
    }
}

static void one_row(const struct job *j, size_t r)
{
    const size_t V = j->logits.cols, t = (size_t)j->label[r];
    const struct smoothing *s = &j->smooth;
    const struct views *w = &j->views;
    real *row[2] = {cpu_row(j->logits, r), cpu_row(j->other, r)};
    const struct found f = look(row[0], row[1], V);
    double loss = 0;

    for (int i = 0; i < 2; i++)
        loss += w->xent[i] * smoothing_loss(s, t, V, (double)row[i][t],
                                            smoothing_sum(s, row[i], V),
                                            (double)f.top[i] + log(f.sum[i]));
    *cpu_row(j->loss, r) = (real)loss;
    *cpu_row(j->gap, r) = (real)(w->kl[0] * f.kl[0] + w->kl[1] * f.kl[1]);
    if (j->grad == 0)
        return;
    turn(row[0], row[1], V, &f, w, j->grad);
    for (int i = 0; i < 2; i++)
        if (w->xent[i] != 0)
            smoothing_gradient(s, row[i], t, V, 1, j->grad * w->xent[i]);
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

void CPU(xent_views)(struct device *d, struct mat loss, struct mat gap, struct mat logits,
                     struct mat other, struct ids label, struct smoothing smooth,
                     struct views views, double grad)
{
    struct job j = {.loss = loss,
                    .gap = gap,
                    .logits = logits,
                    .other = other,
                    .label = cpu_ids(label),
                    .smooth = smooth,
                    .views = views,
                    .grad = grad,
                    .left = {.n = logits.rows}};

    pool_run(d->pool, rows_part, &j);
}
