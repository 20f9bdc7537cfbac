#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "align/bitext.h"
#include "align/cells.h"
#include "align/em.h"
#include "align/tension.h"
#include "align/ttable.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/progress.h"

struct ttable_options ttable_defaults(void)
{
    return (struct ttable_options){
        .iterations = 5, .p_null = 0.08, .lambda = 4, .memory_bytes = (size_t)2 << 30};
}

static status check_options(const struct ttable_options *o, struct err *err)
{
    if (o->iterations < 1 || o->iterations > TTABLE_MOST_ITERATIONS)
        return err_set(err, ERR_USAGE, "iterations = %d: want 1 to %d", o->iterations,
                       TTABLE_MOST_ITERATIONS);
    if (!(o->p_null > 0 && o->p_null < 1))
        return err_set(err, ERR_USAGE, "p_null = %g: want more than 0 and less than 1",
                       o->p_null);
    if (!(o->lambda >= TENSION_LEAST && o->lambda <= TENSION_MOST))
        return err_set(err, ERR_USAGE, "lambda = %g: want %g to %g", o->lambda,
                       TENSION_LEAST, TENSION_MOST);
    if (!(o->alpha >= 0 && o->alpha <= 1))
        return err_set(err, ERR_USAGE, "alpha = %g: want 0 to 1", o->alpha);
    return OK;
}

/* Cells with a probability worth keeping, put in order of their ids. */
struct packing {
    struct ttable *t;
    const struct cells *cells;
    float **dense; /* [threads][vocab] one row; 0 where it has nothing */
    struct pool_queue left;
};

static void count_kept(void *ctx, size_t part, size_t n_parts)
{
    struct packing *p = ctx;
    struct pool_range r;

    (void)part;
    while (pool_take(&p->left, 64, 8 * n_parts, &r))
        for (size_t e = r.begin; e < r.end; e++) {
            const struct cells_row row = cells_row(p->cells, e);
            size_t n = 0;
            for (size_t k = 0; k < row.n; k++)
                n += row.cell[k].key && row.cell[k].prob >= TTABLE_FLOOR;
            p->t->row_at[e + 1] = n;
        }
}

static void pack_row(const struct packing *p, float *dense, size_t e)
{
    const struct cells_row row = cells_row(p->cells, e);
    size_t at = p->t->row_at[e];

    for (size_t k = 0; k < row.n; k++)
        if (row.cell[k].key && row.cell[k].prob >= TTABLE_FLOOR)
            dense[row.cell[k].key - 1] = row.cell[k].prob;
    for (uint32_t f = 0; at < p->t->row_at[e + 1]; f++)
        if (dense[f] > 0) {
            p->t->target[at] = (uint16_t)f;
            p->t->prob[at++] = dense[f];
            dense[f] = 0;
        }
}

static void pack_rows(void *ctx, size_t part, size_t n_parts)
{
    struct packing *p = ctx;
    struct pool_range r;

    while (pool_take(&p->left, 64, 8 * n_parts, &r))
        for (size_t e = r.begin; e < r.end; e++)
            pack_row(p, p->dense[part], e);
}

static void run(struct packing *p, struct pool *pool, pool_fn *fn)
{
    p->left.n = p->cells->n_rows;
    atomic_store(&p->left.next, 0);
    cells_run(pool, fn, p);
}

static status pack(struct ttable *t, const struct cells *cells, struct pool *pool,
                   struct err *err)
{
    const size_t n_threads = pool_size(pool);
    RELEASED_BY(mem_release) float *block = NULL;
    RELEASED_BY(mem_release) float **dense = NULL;

    TRY(mem_alloc(&block, n_threads * t->vocab, sizeof *block, err));
    TRY(mem_alloc((void *)&dense, n_threads, sizeof *dense, err));
    for (size_t part = 0; part < n_threads; part++)
        dense[part] = block + part * t->vocab;
    TRY(mem_alloc(&t->row_at, cells->n_rows + 1, sizeof *t->row_at, err));
    struct packing p = {.t = t, .cells = cells, .dense = dense};
    run(&p, pool, count_kept);
    for (size_t e = 0; e < cells->n_rows; e++)
        t->row_at[e + 1] += t->row_at[e];
    TRY(mem_alloc(&t->target, t->row_at[cells->n_rows], sizeof *t->target, err));
    TRY(mem_alloc(&t->prob, t->row_at[cells->n_rows], sizeof *t->prob, err));
    run(&p, pool, pack_rows);
    return OK;
}

static void describe(struct ttable *t, const struct bitext_count *n,
                     const struct cells *cells, size_t memory_bytes)
{
    const unsigned long long n_all = cells->n_cut + cells->n_kept;
    size_t at = 0;

    if (n->n_empty || n->n_long)
        at = (size_t)snprintf(t->note, sizeof t->note,
                              "%u pairs with an empty side and %u with more than %d "
                              "tokens on one were left out%s",
                              n->n_empty, n->n_long, BITEXT_LONGEST,
                              cells->n_cut ? "; " : ".");
    if (cells->n_cut)
        snprintf(t->note + at, sizeof t->note - at,
                 "%.1f %% of %llu pairs of ids were left out to stay within %zu MiB: "
                 "those with less than %.3g target tokens per sentence of the source id.",
                 100 * (double)cells->n_cut / (double)n_all, n_all, memory_bytes >> 20,
                 cells->share);
}

/* All that learning needs besides its result. */
struct learning {
    struct bitext bitext;
    struct bitext_count n;
    struct cells cells;
    struct tension tension;
    struct em_sums *block;
};

static void release_learning(struct learning *l)
{
    bitext_count_release(&l->n);
    cells_release(&l->cells);
    tension_release(&l->tension);
    free(l->block);
}

static void iterate(struct ttable *t, struct learning *l, const struct ttable_options *o)
{
    struct progress silent = {0};
    const uint64_t n_pairs = l->bitext.corpus->n_pairs,
                   n_all = n_pairs * (uint64_t)o->iterations;
    struct em em = {.bitext = &l->bitext,
                    .cells = &l->cells,
                    .tension = &l->tension,
                    .pool = o->pool,
                    .progress = o->progress ? o->progress : &silent,
                    .p_null = o->p_null,
                    .lambda = o->lambda,
                    .alpha = o->alpha,
                    .unit = em_unit(l->n.n_tokens),
                    .block = l->block};

    progress_begin(em.progress, "align", "pairs", n_all);
    for (int k = 0; k < o->iterations; k++)
        t->log_prob[k] = em_iterate(&em);
    progress_end(em.progress, n_all);
    t->lambda = em.lambda;
}

static status learn(struct ttable *t, const struct ttable_options *o, struct learning *l,
                    struct err *err)
{
    TRY(bitext_count(&l->n, &l->bitext, err));
    TRY(tension_open(&l->tension, &l->bitext, err));
    TRY(mem_alloc(&l->block, em_blocks(&l->bitext), sizeof *l->block, err));
    const size_t taken =
        tension_bytes(&l->tension) + em_blocks(&l->bitext) * sizeof *l->block;
    TRY(cells_open(&l->cells, &l->bitext, &l->n,
                   o->memory_bytes > taken ? o->memory_bytes - taken : 0, o->pool, err));
    iterate(t, l, o);
    TRY(pack(t, &l->cells, o->pool, err));
    describe(t, &l->n, &l->cells, o->memory_bytes);
    t->n_cells = l->cells.n_kept;
    t->n_cut = l->cells.n_cut;
    t->n_tokens = l->n.n_tokens;
    t->frequency = l->n.target;
    l->n.target = NULL;
    return OK;
}

status ttable_learn(struct ttable *t, const struct corpus *c,
                    const struct ttable_options *o, struct err *err)
{
    RELEASED_BY(release_learning)
    struct learning l = {.bitext = {c, o->is_reverse}};

    *t = (struct ttable){
        .vocab = c->vocab, .p_null = o->p_null, .n_iterations = o->iterations};
    TRY(check_options(o, err));
    if (learn(t, o, &l, err) == OK)
        return OK;
    ttable_release(t);
    return err->code;
}
