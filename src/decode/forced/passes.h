/*
 * passes - given translations through the network: as many pairs as fit in one pass over
 * all their positions (infer/session.h). What a pair gives does not depend on the others.
 *
 * Owns: a session, taken for the lengths at hand and taken again for longer ones, and
 * threads. Borrows: the network, which outlives it. Threads: one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "infer/kernels.h"
#include "infer/network.h"

struct passes;

/* n_threads 0: one a core. */
status passes_open(struct passes **p, const struct network *net,
                   const struct infer_kernels *kernels, size_t n_threads,
                   struct err *err);
void passes_close(struct passes *p); /* NULL is fine */

/* Both sides are S, pieces, EOS. */
struct passes_pair {
    const int32_t *source, *target;
    size_t n_source, n_target;
};

/* What a pass tells of a pair; lives until the call returns. */
struct passes_found {
    const double *log_prob; /* [n_target] of each token after those before it */
    const float *attention; /* [n_target,n_source] of the positions that give them */
};

typedef status passes_done(void *ctx, size_t pair, struct passes_found found,
                           struct err *err);

enum { PASSES_LOG_PROB = -1 };

/* Tell of all n pairs, in any order: log-probabilities, or the attention to the source of
 * one layer of the decoder, the mean of its heads. */
status passes_run(struct passes *p, const struct passes_pair *pair, size_t n, int layer,
                  passes_done *done, void *ctx, struct err *err);
