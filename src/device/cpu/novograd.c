/*
 * NovoGrad: momentum of the gradient divided by a norm that is kept for each tensor,
 *
 *   u = scale * g + decay * w
 *   m = beta1 * m + average * u
 *   w = w - rate * m
 *
 * scale carries 1 / sqrt(v + epsilon), with v the moving average of the squared norm of
 * the tensor's gradient, which the optimizer keeps; g is read only.
 */
#include "device/cpu/cpu.h"
#include "device/cpu/span.h"

struct job {
    struct mat w, m, g;
    struct novograd how;
};

static void update(real *restrict w, real *restrict m, const real *restrict g, size_t n,
                   const struct novograd *how)
{
    const real rate = (real)how->rate, beta1 = (real)how->beta1;
    const real scale = (real)(how->average * how->scale);
    const real decay = (real)(how->average * how->decay);

    for (size_t i = 0; i < n; i++) {
        m[i] = beta1 * m[i] + (scale * g[i] + decay * w[i]);
        w[i] -= rate * m[i];
    }
}

static void novograd_part(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const struct pool_range range = pool_split(j->w.rows * j->w.cols, part, n_parts);

    for (size_t i = range.begin; i < range.end;) {
        const struct span s = span_at(j->w.cols, i, range.end);
        update((real *)j->w.mem + span_offset(j->w, s),
               (real *)j->m.mem + span_offset(j->m, s),
               (real *)j->g.mem + span_offset(j->g, s), s.n, &j->how);
        i += s.n;
    }
}

void CPU(novograd)(struct device *d, struct mat w, struct mat m, struct mat g,
                   struct novograd how)
{
    struct job j = {w, m, g, how};

    pool_run(d->pool, novograd_part, &j);
}
