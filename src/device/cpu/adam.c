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

/* Threads take blocks, so that vectors begin at the same elements whoever takes them. */
enum { BLOCK = 4096, LEAST = 16 };

struct job {
    struct mat w, m, v, g;
    struct adam how;
    struct pool_queue left; /* blocks */
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

static void update_blocks(const struct job *j, struct pool_range blocks)
{
    const size_t n = j->w.rows * j->w.cols;
    const size_t end = blocks.end * BLOCK < n ? blocks.end * BLOCK : n;

    for (size_t i = blocks.begin * BLOCK; i < end;) {
        const struct span s = span_at(j->w.cols, i, end);
        update((real *)j->w.mem + span_offset(j->w, s),
               (real *)j->m.mem + span_offset(j->m, s),
               (real *)j->v.mem + span_offset(j->v, s),
               (real *)j->g.mem + span_offset(j->g, s), s.n, &j->how);
        i += s.n;
    }
}

static void adam_part(void *ctx, size_t part, size_t n_parts)
{
    struct job *j = ctx;
    struct pool_range blocks;

    (void)part;
    while (pool_take(&j->left, LEAST, n_parts, &blocks))
        update_blocks(j, blocks);
}

void CPU(adam)(struct device *d, struct mat w, struct mat m, struct mat v, struct mat g,
               struct adam how)
{
    struct job j = {w, m,   v,
                    g, how, .left = {.n = (w.rows * w.cols + BLOCK - 1) / BLOCK}};

    pool_run(d->pool, adam_part, &j);
}
