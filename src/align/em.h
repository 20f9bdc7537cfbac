/*
 * em - one iteration of expectation maximisation over a bitext.
 *
 * With the prior p(i | j, S, T) of align/diagonal.h, i = 0 being the null word,
 *
 *     p(f_j | e, S, T) = sum_i p(i | j, S, T) t(f_j | e_i),
 *     posterior  q_ij  = p(i | j, S, T) t(f_j | e_i) / p(f_j | e, S, T),
 *     count c(e, f)    = sum of q_ij over all places with e_i = e and f_j = f,
 *     t(f | e)         = c(e, f) / sum_f' c(e, f'),
 *
 * or, with a Dirichlet prior of weight alpha on each of the n cells of a row, the
 * variational estimate, which discourages cells that are used little,
 *
 *     t(f | e) = exp(psi(c(e, f) + alpha) - psi(sum_f' c(e, f') + n alpha)).
 *
 * lambda is chosen by align/tension.h. p_null is constant. Without a prior no iteration
 * lowers the likelihood.
 *
 * Posteriors are added as integers, so that the order of threads does not matter; what is
 * added in doubles is added for each block of pairs and then over blocks in their order.
 *
 * Borrows: everything. Threads: its functions from one at a time; they use the pool.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "align/bitext.h"
#include "align/cells.h"
#include "align/tension.h"
#include "base/pool.h"
#include "base/progress.h"

/* What a block of pairs adds in doubles. */
struct em_sums {
    double log_prob; /* of the target tokens */
    double distance; /* posterior, from the diagonal */
};

struct em {
    const struct bitext *bitext;
    struct cells *cells;
    struct tension *tension;
    struct pool *pool;
    struct progress *progress;
    double p_null, lambda, alpha;
    double unit;                 /* a posterior of 1, as an integer count */
    struct em_sums *block;       /* [em_blocks()] */
    struct pool_queue left;      /* blocks, or rows */
    atomic_uint_fast64_t n_done; /* pairs, of all iterations */
};

/* Blocks of a bitext. */
size_t em_blocks(const struct bitext *b);

/* The largest unit with which counts of n target tokens cannot overflow. */
double em_unit(uint64_t n_tokens);

/* One iteration. Returns the log-likelihood before it. */
double em_iterate(struct em *em);
