/*
 * Adam, and AdamW when decay is not 0, in one visit to each element:
 *
 *   g = scale * g
 *   m = beta1 * m + (1 - beta1) * g
 *   v = beta2 * v + (1 - beta2) * g^2
 *   w = w - decay * w - rate * m / (sqrt(v) + epsilon)
 *
 * rate carries the bias correction, decay the learning rate; g is read only. The averages
 * are computed as m += (1 - beta1) * (g - m), because beta and 1 - beta do not add up to
 * 1 after rounding to float.
 */
#include <tgmath.h>

#include "device/cpu/cpu.h"
#include "device/cpu/span.h"

struct job {
    struct mat w, m, v, g;
    struct adam how;
};

static void update(real *restrict w, real *restrict m, real *restrict v,
                   const real *restrict g, size_t n, const struct adam *how)
{
    const real rest1 = (real)(1 - how->beta1), rest2 = (real)(1 - how->beta2);
    const real rate = (real)how->rate, epsilon = (real)how->epsilon;
    const real decay = (real)how->decay, scale = (real)how->scale;

    for (size_t i = 0; i < n; i++) {
        const real x = g[i] * scale;
        m[i] += rest1 * (x - m[i]);
        v[i] += rest2 * (x * x - v[i]);
        w[i] -= decay * w[i] + rate * (m[i] / (sqrt(v[i]) + epsilon));
    }
}

static void adam_part(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const struct pool_range range = pool_split(j->w.rows * j->w.cols, part, n_parts);

    for (size_t i = range.begin; i < range.end;) {
        const struct span s = span_at(j->w.cols, i, range.end);
        update((real *)j->w.mem + span_offset(j->w, s),
               (real *)j->m.mem + span_offset(j->m, s),
               (real *)j->v.mem + span_offset(j->v, s),
               (real *)j->g.mem + span_offset(j->g, s), s.n, &j->how);
        i += s.n;
    }
}

void CPU(adam)(struct device *d, struct mat w, struct mat m, struct mat v, struct mat g,
               struct adam how)
{
    struct job j = {w, m, v, g, how};

    pool_run(d->pool, adam_part, &j);
}
