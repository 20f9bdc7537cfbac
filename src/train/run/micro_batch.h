/*
 * micro_batch - how much of an update a rank computes at once.
 *
 * The step's memory is measured by the code that lays it out, before the first update,
 * and the update is cut to what fits. Where it is cut decides the order in which floats
 * are added, so all ranks cut alike, the cut is part of a run's state, and a run that is
 * resumed keeps it as long as it fits. Its tokens are the text's: with two views of every
 * pair (simcut, rdrop) the model has twice as many rows.
 *
 * Owns: losses. Borrows: configuration and model, set by the caller. Threads: one at a
 * time.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "corpus/batch.h"
#include "model/model.h"
#include "train/run/config.h"

struct micro_batch {
    const struct train_config *config;
    struct model *model;
    struct batch_limit limit;
    size_t before; /* limit.n_tgt of the run that is resumed; 0: none */
    size_t budget; /* bytes for a step and a copy of the run */
    float *losses; /* of the target tokens at hand, of each view */
};

/* How many target tokens fit, at most as many as are wanted: micro_tokens, or else those
 * of the run `before` the stop, or else what is fast. n_sharing: ranks that compute in
 * the same memory, this one included. */
status micro_batch_choose(struct micro_batch *b, int n_sharing, size_t before,
                          size_t *n_tgt, struct err *err);
/* Set the limit and reserve the memory for it. */
status micro_batch_reserve(struct micro_batch *b, size_t n_tgt, struct err *err);
void micro_batch_release(struct micro_batch *b);

/* Whether the cut is another than before the stop, with a sentence about it. */
enum { MICRO_BATCH_TEXT = 320 };
bool micro_batch_compare(const struct micro_batch *b, char text[MICRO_BATCH_TEXT]);

/* A GPU without memory for a step: its sentence says what to set instead. */
status micro_batch_advise(const struct micro_batch *b, status result, struct err *err);
/* Whether so much more fits beside the memory of micro-batches of the wanted size. */
bool micro_batch_leaves(const struct micro_batch *b, size_t n_bytes);
