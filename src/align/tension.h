/*
 * tension - the lambda of the diagonal (align/diagonal.h) that fits the posteriors of a
 * pass over the corpus best.
 *
 * Let m_j be the posterior probability that target word j does not come of the null word,
 * and D the sum of posterior distances |i/S - j/T| over all words. The expected
 * log-likelihood has in lambda the concave part
 *
 *     Q(lambda) = -lambda D - sum_j m_j log Z_lambda(j, S, T),
 *     Q'(lambda) = sum_j m_j E_lambda[|i/S - j/T|] - D,
 *     Q''(lambda) = -sum_j m_j Var_lambda[|i/S - j/T|].
 *
 * Z depends on (S, T, j) alone, so m_j is summed for each of these; then Q' costs the
 * number of different shapes of pairs, not the size of the corpus. The sums are integers
 * in units of the caller's, so that threads may add in any order.
 *
 * Owns: the sums. Threads: tension_add() from any; the others from one at a time.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "align/bitext.h"
#include "base/err.h"

#define TENSION_LEAST 0.1
#define TENSION_MOST  20.0

struct tension {
    uint32_t *at; /* [BITEXT_LONGEST^2] 1 + where the sums of a shape begin; 0: none */
    _Atomic uint64_t *mass; /* [n] of all shapes, T for each */
    size_t n;
};

/* Room for the shapes of the pairs of `b`. Release *t also after a failure. */
status tension_open(struct tension *t, const struct bitext *b, struct err *err);
void tension_release(struct tension *t);
size_t tension_bytes(const struct tension *t); /* of memory that it takes */

/* Add m_j, as an integer, of target word j of a pair of lengths S, T. */
static inline void tension_add(struct tension *t, size_t S, size_t T, size_t j,
                               uint64_t mass)
{
    const size_t at = t->at[(S - 1) * BITEXT_LONGEST + T - 1] - 1;

    atomic_fetch_add_explicit(&t->mass[at + j], mass, memory_order_relaxed);
}

/*
 * The best lambda in [TENSION_LEAST, TENSION_MOST], searched from `lambda`. `distance` is
 * D in words, `unit` how many units a word is. The sums are zero afterwards.
 */
double tension_solve(struct tension *t, double lambda, double distance, double unit);
