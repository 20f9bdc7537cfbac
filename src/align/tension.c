#include "align/tension.h"

#include <math.h>
#include <stdlib.h>

#include "align/diagonal.h"
#include "base/mem.h"

enum { SHAPES = BITEXT_LONGEST * BITEXT_LONGEST, STEPS = 30 };

static size_t shape_of(size_t S, size_t T)
{
    return (S - 1) * BITEXT_LONGEST + T - 1;
}

status tension_open(struct tension *t, const struct bitext *b, struct err *err)
{
    *t = (struct tension){0};
    TRY(mem_alloc(&t->at, SHAPES, sizeof *t->at, err));
    for (uint32_t i = 0; i < b->corpus->n_pairs; i++) {
        const struct bitext_pair pair = bitext_pair(b, i);
        if (pair.target.len)
            t->at[shape_of(pair.source.len, pair.target.len)] = 1;
    }
    for (size_t shape = 0; shape < SHAPES; shape++)
        if (t->at[shape]) {
            t->at[shape] = (uint32_t)t->n + 1;
            t->n += shape % BITEXT_LONGEST + 1;
        }
    return mem_alloc((void *)&t->mass, t->n, sizeof *t->mass, err);
}

void tension_release(struct tension *t)
{
    free(t->at);
    free((void *)t->mass);
    *t = (struct tension){0};
}

size_t tension_bytes(const struct tension *t)
{
    return SHAPES * sizeof *t->at + t->n * sizeof *t->mass;
}

/* Sums over all words of expected distances and of their variances. */
struct moments {
    double mean, variance;
};

static void add_moments(struct moments *sum, size_t S, size_t T, size_t j, double lambda,
                        double mass)
{
    double w[BITEXT_LONGEST], first = 0, second = 0;
    const double Z = diagonal_weights(w, S, T, j, lambda);

    for (size_t i = 0; i < S; i++) {
        const double d = diagonal_distance(i, S, j, T);
        first += w[i] * d;
        second += w[i] * d * d;
    }
    first /= Z;
    sum->mean += mass * first;
    sum->variance += mass * (second / Z - first * first);
}

static struct moments moments_at(const struct tension *t, double lambda, double unit)
{
    struct moments sum = {0};

    for (size_t shape = 0; shape < SHAPES; shape++) {
        const size_t S = shape / BITEXT_LONGEST + 1, T = shape % BITEXT_LONGEST + 1;
        for (size_t j = 0; t->at[shape] && j < T; j++) {
            const uint64_t mass = t->mass[t->at[shape] - 1 + j];
            if (mass)
                add_moments(&sum, S, T, j, lambda, (double)mass / unit);
        }
    }
    return sum;
}

/*
 * Newton's steps on Q', inside a bracket that each of them narrows: Q' falls in lambda,
 * so its sign tells on which side the root is. A step that leaves the bracket is replaced
 * by its middle; at the limits of lambda the bracket closes on them. A slope that is no
 * more than the rounding of its two sums, as where every source has one word, moves
 * nothing.
 */
double tension_solve(struct tension *t, double lambda, double distance, double unit)
{
    double low = TENSION_LEAST, high = TENSION_MOST;

    for (int step = 0; step < STEPS; step++) {
        const struct moments m = moments_at(t, lambda, unit);
        const double slope = m.mean - distance;
        if (fabs(slope) <= 1e-9 * distance)
            break;
        if (slope > 0)
            low = lambda;
        else
            high = lambda;
        double next = m.variance > 0 ? lambda + slope / m.variance : lambda;
        if (!(next > low && next < high))
            next = (low + high) / 2;
        if (fabs(next - lambda) < 1e-9)
            break;
        lambda = next;
    }
    for (size_t k = 0; k < t->n; k++)
        atomic_store_explicit(&t->mass[k], 0, memory_order_relaxed);
    return lambda;
}
