/*
 * The likeliest tokens, while logits pass by in blocks: a sorted list of the largest, and
 * for each block what it adds to the softmax.
 */
#include <math.h>

#include "infer/kernel/kernel.h"

/* What is not a number comes first: whoever takes the best must see it. */
static bool is_before(float a, float b)
{
    return a > b || (a != a && b == b);
}

static void insert(struct kernels_best *b, float z, int32_t id)
{
    size_t at = b->n < b->n_max ? b->n++ : b->n - 1;

    for (; at > 0 && is_before(z, b->top[at - 1]); at--) {
        b->top[at] = b->top[at - 1];
        b->id[at] = b->id[at - 1];
    }
    b->top[at] = z;
    b->id[at] = id;
}

/* Whether none of n logits, which fill whole lanes, would enter the list. */
static bool stays(const struct kernels_best *b, const float *z, size_t n)
{
    return b->n == b->n_max && !lanes_any_above(z, n, b->top[b->n - 1]);
}

/* z[0, n) of a block into the list. Nearly always nothing enters: many are looked at
 * together, then sixteen, then each. */
static void enter(struct kernels_best *b, const float *z, size_t n, const uint16_t *ids,
                  int32_t first_id)
{
    enum { SOME = 8 * LANES };

    for (size_t at = 0; at < n; at += LANES) {
        if (at % SOME == 0 && at + SOME <= n && stays(b, z + at, SOME)) {
            at += SOME - LANES;
            continue;
        }
        const size_t end = at + LANES < n ? at + LANES : n;
        if (end == at + LANES && stays(b, z + at, LANES))
            continue;
        for (size_t i = at; i < end; i++)
            if (b->n < b->n_max || is_before(z[i], b->top[b->n - 1]))
                insert(b, z[i], ids ? ids[i] : first_id + (int32_t)i);
    }
}

static struct kernels_mass mass_of(float *z, size_t n)
{
    const size_t n_round = lanes_round(n);

    for (size_t i = n; i < n_round; i++)
        z[i] = -INFINITY;
    const float top = lanes_top_of(z, n_round);
    return (struct kernels_mass){top, lanes_exp_sum(z, top, n)};
}

void KERNEL(pick)(struct kernels_best *b, struct kernels_mass *mass, float *z, size_t n,
                  const uint16_t *ids, int32_t first_id)
{
    if (b)
        enter(b, z, n, ids, first_id);
    if (mass)
        *mass = mass_of(z, n);
}
