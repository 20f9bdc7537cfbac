/*
 * step - one optimizer update.
 *
 * Threads: one at a time. Collective: all ranks make the same update.
 */
#pragma once

#include "corpus/prefetch.h"
#include "train/trainer.h"

/* *rec is filled; ERR_NUMERIC when the update had to be skipped. */
status train_step(struct trainer *t, struct record_step *rec, struct err *err) MUST_CHECK;

/* ---- parts of it ---- */

/* Whether a checkpoint of the state after this update may be written: then nothing of
 * the gradient may stay behind in a residual. */
bool step_is_saved(const struct trainer *t, const struct prefetch_item *item);

/* From the gradient of n_target tokens to the next weights. */
status step_apply(struct trainer *t, struct record_step *rec, double n_target,
                  struct err *err) MUST_CHECK;

/* An update of this node alone, with local SGD; square: of this rank's gradient. */
status step_alone(struct trainer *t, struct record_step *rec,
                  const struct prefetch_item *item, double square,
                  struct err *err) MUST_CHECK;
