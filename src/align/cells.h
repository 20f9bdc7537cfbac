/*
 * cells - the pairs of a source and a target id that stand in one sentence pair, each
 * with t(target | source) and the count that the next t is made of.
 *
 * A source id has a row: a hash table of its own with open addressing, four fifths full.
 * A cell is 16 bytes, so that finding it, reading t and adding to the count touch one
 * line of the cache. Counts are integers in a unit of the caller's: threads may add to
 * them in any order, with the same result. One more row behind the last id is the null
 * word's, which meets every target id.
 *
 * Where the cells of a corpus would take more than `most` bytes, those that matter least
 * are left out. D(e,f), the target tokens f beside a source id e, is the most that the
 * expected count of the cell can be, and N(e), the pairs with e, is about what all counts
 * of e add up to: D/N bounds t(f | e). So one lower bound of D/N holds for all rows, the
 * smallest with which the rest fits. The rows of rare ids, where every share is large,
 * stay whole. The row of the null word is never cut.
 *
 * Owns: the cells. Threads: counts may be added from any; the rest from one at a time.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "align/bitext.h"
#include "base/err.h"
#include "base/pool.h"

struct cell {
    _Atomic uint64_t count;
    float prob;   /* t(target | source) */
    uint32_t key; /* 1 + target id; 0: free */
};

struct cells {
    struct cell *cell;
    size_t *at;      /* [n_rows + 1] slots: row e is cell[at[e]] .. cell[at[e + 1] - 1] */
    size_t n_rows;   /* vocabulary + 1 */
    uint64_t n_kept; /* cells in all rows, without the null word's */
    uint64_t n_cut;  /* left out for want of memory */
    double share;    /* ... because D/N is below this; 0: none */
};

/*
 * Every cell of `b`, or those that fit into `most` bytes together with what is needed to
 * find them, but for 10 bytes an id and thread; t is uniform, counts are 0.
 * `n` is the count of the same pairs.
 * ERR_USAGE: even the least does not fit. Release *c also after a failure.
 */
status cells_open(struct cells *c, const struct bitext *b, const struct bitext_count *n,
                  size_t most, struct pool *pool, struct err *err);
void cells_release(struct cells *c);

/* fn(ctx, part, n_parts) on the threads of a pool, or here where there is none. */
void cells_run(struct pool *pool, pool_fn *fn, void *ctx);

struct cells_row {
    struct cell *cell;
    size_t n; /* slots, at least one of them free */
};

static inline struct cells_row cells_row(const struct cells *c, size_t source)
{
    return (struct cells_row){c->cell + c->at[source], c->at[source + 1] - c->at[source]};
}

/* Where the search of a target id begins. */
static inline size_t cells_slot(struct cells_row row, uint32_t target)
{
    return (size_t)((uint64_t)(target * 0x9E3779B1u) * row.n >> 32);
}

/* The cell of a target id, or NULL. */
static inline struct cell *cells_find(struct cells_row row, uint32_t target)
{
    size_t at = cells_slot(row, target);

    while (row.cell[at].key != target + 1) {
        if (!row.cell[at].key)
            return NULL;
        at = at + 1 < row.n ? at + 1 : 0;
    }
    return row.cell + at;
}
