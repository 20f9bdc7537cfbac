/*
 * micro_batch - how much of an update a rank computes at once.
 *
 * The step's memory is measured by the code that lays it out, before the first update,
 * and the update is cut to what fits.
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
    size_t budget; /* bytes for a step and a copy of the run */
    float *losses; /* [limit.n_tgt at least] of the target tokens at hand */
};

/* Memory for micro-batches as large as the limit allows. n_sharing: ranks that compute in
 * the same memory, this one included. */
status micro_batch_reserve(struct micro_batch *b, int n_sharing, struct err *err);
void micro_batch_release(struct micro_batch *b);

/* A GPU without memory for a step: its sentence says what to set instead. */
status micro_batch_advise(const struct micro_batch *b, status result, struct err *err);
/* Whether so much more fits beside the memory of micro-batches of the wanted size. */
bool micro_batch_leaves(const struct micro_batch *b, size_t n_bytes);
