/*
 * scorer - how likely a model finds given translations, token by token.
 *
 * Pairs are packed, as many as fit, and go through the network in one pass
 * (decode/forced/passes.h). A target's tokens are S, its pieces and EOS, as translation
 * generates them, so that the sum is what translation calls log P. Sides longer than
 * max_length are cut, and said to be.
 *
 * Owns: tokenizers' memory, a session, threads. Borrows: network and tokenizer, which
 * outlive it. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "infer/kernels.h"
#include "infer/network.h"
#include "text/subword/spm.h"

struct scorer;

struct scorer_options {
    const struct infer_kernels *kernels;
    size_t n_threads;  /* 0: one a core */
    size_t max_length; /* tokens of a side, S and EOS counted */
};

status scorer_open(struct scorer **s, const struct network *net, const struct spm *spm,
                   struct scorer_options options, struct err *err);
void scorer_close(struct scorer *s); /* NULL is fine */

/* One pair; the arrays live until the next call. */
struct scorer_pair {
    const int32_t *id;      /* [n] of the target */
    const double *log_prob; /* [n] */
    size_t n;
    double sum;
    bool is_cut;
};

/* Score n pairs of lines; pair i is scorer_get(s, i) then. */
status scorer_run(struct scorer *s, const struct line *source, const struct line *target,
                  size_t n, struct err *err);
struct scorer_pair scorer_get(const struct scorer *s, size_t i);

/* The same of token ids without specials, which are taken as they are. */
struct scorer_ids {
    const uint16_t *source, *target;
    size_t n_source, n_target;
};
status scorer_run_ids(struct scorer *s, const struct scorer_ids *pair, size_t n,
                      struct err *err);
