/*
 * device_search - the search over a model on any device (decode/search.h).
 *
 * A batch of sources is encoded at once; then the decoder feeds all living hypotheses
 * together, one position a step, until the batch has ended. Training translates so with
 * its live model, and so do GPUs.
 *
 * Owns: the decoder and the beams, opened for the shape of a batch and opened again when
 * one does not fit. Borrows: the model, which outlives it and whose step memory it uses
 * (model_reserve only grows). Threads: one at a time.
 */
#pragma once

#include "decode/search.h"
#include "model/model.h"

/* Takes no memory for sentences before the first call; search->close releases it. */
status device_search_open(struct search **search, struct model *m,
                          struct search_rules rules, struct err *err);
