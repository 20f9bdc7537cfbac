/*
 * facts - what an update was: of this rank, then of all ranks as if one had made it.
 *
 * Ranks divide the pairs of an update. What each adds up travels with the gradient and is
 * summed before anything is divided, so that any number of ranks records the same.
 *
 * Threads: one at a time.
 */
#pragma once

#include "corpus/batch.h"
#include "recipe/flops.h"
#include "train/save/saving.h"

/* A micro-batch of this rank, after its backward pass; losses: room for its tokens. */
void facts_add(struct record_step *rec, struct flops_batch *work, struct model *m,
               float *losses, const struct batch *b);

/* The operations of all its micro-batches. */
void facts_count(struct record_step *rec, const struct model_config *c,
                 const struct flops_batch *work);

/* What this rank tells the others of itself; square: of its gradient. */
struct ranks_own facts_own(const struct record_step *rec, double square,
                           const struct saving *saving);

/* Add this rank's update to what p->mine holds for the next exchange. */
void facts_tell(struct peers *p, const struct record_step *rec,
                const struct ranks_own *mine, bool is_damaged);

/* Finish the exchange of gradients. With `mine` the facts travel too: p->sum and p->own
 * are those of all ranks, and rec is the record of all. */
status facts_exchange(struct peers *p, struct gradients *g, struct record_step *rec,
                      const struct ranks_own *mine, struct err *err) MUST_CHECK;
