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

/* Threads take blocks, so that vectors begin at the same elements whoever takes them. */
enum { BLOCK = 4096, LEAST = 16 };

struct job {
    struct mat m[4]; /* w, m, v, g */
    struct adam how;
    struct pool_queue left; /* blocks */
};

static void update(real *const at[], size_t n, void *ctx)
{
    const struct adam *how = ctx;
    real *restrict w = at[0], *restrict m = at[1], *restrict v = at[2];
    const real *restrict g = at[3];
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
    struct job *j = ctx;
    const size_t n = j->m->rows * j->m->cols;
    struct pool_range blocks;

    (void)part;
    while (pool_take(&j->left, LEAST, n_parts, &blocks))
        CPU(each_of)
    (j->m, 4, blocks.begin * BLOCK, cpu_smaller(blocks.end * BLOCK, n), update, &j->how);
}

void CPU(adam)(struct device *d, struct mat w, struct mat m, struct mat v, struct mat g,
               struct adam how)
{
    struct job j = {{w, m, v, g}, how, {.n = cpu_ceil_div(w.rows * w.cols, BLOCK)}};

    pool_run(d->pool, adam_part, &j);
}
