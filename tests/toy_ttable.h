/* toy_ttable - translation tables that tests learn and compare. */
#pragma once

#include <string.h>

#include "align/ttable.h"
#include "base/pool.h"
#include "corpus/corpus.h"
#include "test.h"

static inline void toy_learn(struct ttable *t, const struct corpus *c,
                             const struct ttable_options *o)
{
    struct err err = {0};

    CHECK_OK(ttable_learn(t, c, o, &err), &err);
}

static inline void toy_learn_threads(struct ttable *t, const struct corpus *c,
                                     struct ttable_options o, size_t n_threads)
{
    struct err err = {0};

    CHECK_OK(pool_open(&o.pool, n_threads, false, &err), &err);
    toy_learn(t, c, &o);
    pool_close(o.pool);
}

static inline void toy_check_same(const struct ttable *a, const struct ttable *b)
{
    const size_t n = a->row_at[a->vocab + 1];

    CHECK(a->vocab == b->vocab && a->lambda == b->lambda && a->n_cut == b->n_cut);
    CHECK(memcmp(a->row_at, b->row_at, (a->vocab + 2) * sizeof *a->row_at) == 0);
    CHECK(memcmp(a->target, b->target, n * sizeof *a->target) == 0);
    CHECK(memcmp(a->prob, b->prob, n * sizeof *a->prob) == 0);
    CHECK(memcmp(a->frequency, b->frequency, a->vocab * sizeof *a->frequency) == 0);
    CHECK(memcmp(a->log_prob, b->log_prob, sizeof a->log_prob) == 0);
    CHECK_STR(a->note, b->note);
}
