/*
 * varied - pairs of an update in other words, as a small corpus in memory.
 *
 * Whoever knows the text (train/run/variation.h) gives a function that makes the ids of a
 * pair anew for an epoch. Which pairs an update has, in which order, and which of them a
 * rank gets, stays a function of the stored corpus, so that a cursor and the ranks'
 * shares mean what they meant; what is cut into micro-batches and trained on are the
 * sentences made here, whatever their lengths.
 *
 * Owns:    the tokens made, memory which grows and is then reused.
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "corpus/corpus.h"

enum { VARIED_SOURCE, VARIED_TARGET, VARIED_SIDES };

/*
 * The ids that pair `pair` has in `epoch`: of each side `in` becomes `out`, which is
 * valid until the next call. A pure function of its arguments; called by the prefetching
 * thread alone.
 */
typedef status vary_fn(void *ctx, uint64_t epoch, uint32_t pair,
                       const struct sentence in[VARIED_SIDES],
                       struct sentence out[VARIED_SIDES], struct err *err);

struct vary {
    vary_fn *make;
    void *ctx;
    bool is_for_node; /* also pairs of the node's other ranks, to count their tokens */
};

struct varied {
    struct corpus corpus; /* of the pairs at hand, in the order given */
    uint32_t *pair;       /* 0, 1, ...: their numbers in it */
    uint16_t *token;
    uint64_t *start;
    float *weight;
    size_t cap_pairs, cap_tokens, cap_starts, cap_weights;
};

/* n pairs of `from`, named by `pair`, which must stay as long as v->corpus is used.
 * ERR_FORMAT where the corpus is damaged. */
status varied_make(struct varied *v, const struct corpus *from, const uint32_t *pair,
                   size_t n, uint64_t epoch, struct vary how, struct err *err);
/* Target tokens of the pairs at hand that the model sees. */
size_t varied_tgt(const struct varied *v, size_t max_length);
/* A zeroed one is fine. */
void varied_release(struct varied *v);
