#include "align/em.h"

#include <math.h>

#include "align/diagonal.h"

enum { BLOCK = 256, ROWS = 64, LONGEST = BITEXT_LONGEST };

size_t em_blocks(const struct bitext *b)
{
    return ((size_t)b->corpus->n_pairs + BLOCK - 1) / BLOCK;
}

double em_unit(uint64_t n_tokens)
{
    const int bits = n_tokens ? 64 - __builtin_clzll(n_tokens) : 0;

    return ldexp(1, 62 - bits < 40 ? 62 - bits : 40);
}

/* A pair and what is computed for one of its target words at a time. */
struct work {
    size_t S, T;
    struct cells_row row[LONGEST + 1]; /* of the source words, then the null word */
    struct cell *cell[LONGEST + 1];
    double place[LONGEST];  /* i/S, with i from 1 */
    double weight[LONGEST]; /* of the prior */
    double q[LONGEST + 1];  /* p(i, f_j) */
};

static uint64_t to_units(const struct em *em, double q)
{
    return (uint64_t)(q * em->unit + 0.5);
}

/* Cells are all over the memory: ask for those of the next word while this one is
 * computed. */
static void prefetch(const struct work *w, uint16_t target)
{
    for (size_t i = 0; i <= w->S; i++)
        __builtin_prefetch(w->row[i].cell + cells_slot(w->row[i], target), 1);
}

/* q[i] = p(i, f_j); returns their sum. */
static double join(const struct em *em, struct work *w, size_t j, uint16_t target)
{
    const double Z = diagonal_weights(w->weight, w->S, w->T, j, em->lambda);
    const double scale = (1 - em->p_null) / Z;
    double sum = 0;

    for (size_t i = 0; i <= w->S; i++)
        w->cell[i] = cells_find(w->row[i], target);
    for (size_t i = 0; i < w->S; i++) {
        w->q[i] = w->cell[i] ? scale * w->weight[i] * (double)w->cell[i]->prob : 0;
        sum += w->q[i];
    }
    w->q[w->S] = em->p_null * (double)w->cell[w->S]->prob;
    return sum + w->q[w->S];
}

static void add_count(struct cell *cell, uint64_t units)
{
    if (units)
        atomic_fetch_add_explicit(&cell->count, units, memory_order_relaxed);
}

/* Add the posteriors of target word j, whose q add up to `sum`. */
static void add_posteriors(const struct em *em, struct work *w, size_t j, double sum,
                           struct em_sums *sums)
{
    const double y = (double)(j + 1) / (double)w->T, scale = 1 / sum;
    const double q_null = w->q[w->S] * scale;

    for (size_t i = 0; i < w->S; i++) {
        const double q = w->q[i] * scale;
        add_count(w->cell[i], to_units(em, q));
        sums->distance += q * fabs(w->place[i] - y);
    }
    add_count(w->cell[w->S], to_units(em, q_null));
    tension_add(em->tension, w->S, w->T, j, to_units(em, 1 - q_null));
}

static void expect_pair(const struct em *em, struct work *w, struct bitext_pair pair,
                        struct em_sums *sums)
{
    w->S = pair.source.len;
    w->T = pair.target.len;
    if (!w->T)
        return;
    for (size_t i = 0; i < w->S; i++) {
        w->row[i] = cells_row(em->cells, pair.source.token[i]);
        w->place[i] = (double)(i + 1) / (double)w->S;
    }
    w->row[w->S] = cells_row(em->cells, em->cells->n_rows - 1);
    prefetch(w, pair.target.token[0]);
    for (size_t j = 0; j < w->T; j++) {
        if (j + 1 < w->T)
            prefetch(w, pair.target.token[j + 1]);
        const double sum = join(em, w, j, pair.target.token[j]);
        if (!(sum > 0)) /* every factor has become too small: nothing to learn */
            continue;
        sums->log_prob += log(sum);
        add_posteriors(em, w, j, sum, sums);
    }
}

static void expect(void *ctx, size_t part, size_t n_parts)
{
    struct em *em = ctx;
    const uint32_t n_pairs = em->bitext->corpus->n_pairs;
    struct work work;
    struct pool_range r;

    while (pool_take(&em->left, 1, n_parts, &r))
        for (size_t b = r.begin; b < r.end; b++) {
            const uint32_t first = (uint32_t)(b * BLOCK),
                           n = n_pairs - first < BLOCK ? n_pairs - first : BLOCK;
            em->block[b] = (struct em_sums){0};
            for (uint32_t i = first; i < first + n; i++)
                expect_pair(em, &work, bitext_pair(em->bitext, i), &em->block[b]);
            const uint64_t done = atomic_fetch_add(&em->n_done, n) + n;
            if (part == 0)
                progress_update(em->progress, done);
        }
}

/*
 * psi(x) for x > 0: psi(x) = psi(x + 1) - 1/x up to where the asymptotic series is exact
 * to 1e-12.
 */
static double digamma(double x)
{
    double below = 0;

    while (x < 8) {
        below += 1 / x;
        x += 1;
    }
    const double y = 1 / (x * x);
    return log(x) - 0.5 / x -
           y * (1 / 12.0 - y * (1 / 120.0 - y * (1 / 252.0 - y * (1 / 240.0)))) - below;
}

/* t of a row from its counts, which are 0 afterwards. Without counts t stays. */
static void maximize_row(const struct em *em, struct cells_row row)
{
    uint64_t total = 0;
    size_t n = 0;

    for (size_t k = 0; k < row.n; k++) {
        total += row.cell[k].count;
        n += row.cell[k].key > 0;
    }
    if (!total)
        return;
    const double sum = (double)total / em->unit;
    const double whole = em->alpha > 0 ? digamma(sum + (double)n * em->alpha) : 0;
    for (size_t k = 0; k < row.n; k++) {
        struct cell *cell = &row.cell[k];
        if (!cell->key)
            continue;
        const double count = (double)cell->count / em->unit;
        cell->prob = em->alpha > 0 ? (float)exp(digamma(count + em->alpha) - whole)
                                   : (float)(count / sum);
        atomic_store_explicit(&cell->count, 0, memory_order_relaxed);
    }
}

static void maximize(void *ctx, size_t part, size_t n_parts)
{
    struct em *em = ctx;
    struct pool_range r;

    (void)part;
    while (pool_take(&em->left, ROWS, 8 * n_parts, &r))
        for (size_t e = r.begin; e < r.end; e++)
            maximize_row(em, cells_row(em->cells, e));
}

static void run(struct em *em, pool_fn *fn, size_t n_items)
{
    em->left.n = n_items;
    atomic_store(&em->left.next, 0);
    cells_run(em->pool, fn, em);
}

double em_iterate(struct em *em)
{
    const size_t n_blocks = em_blocks(em->bitext);
    struct em_sums sum = {0};

    run(em, expect, n_blocks);
    for (size_t b = 0; b < n_blocks; b++) {
        sum.log_prob += em->block[b].log_prob;
        sum.distance += em->block[b].distance;
    }
    run(em, maximize, em->cells->n_rows);
    em->lambda = tension_solve(em->tension, em->lambda, sum.distance, em->unit);
    return sum.log_prob;
}
