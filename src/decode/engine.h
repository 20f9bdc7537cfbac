/*
 * engine - the search over packed weights on the processor (decode/search.h).
 *
 * A worker keeps a batch of sentences in flight (infer/session.h), each at its own
 * position. A sentence that ends leaves at once, and the next waiting one takes its rows;
 * sources are encoded a few at a time, so that the encoder's products are not narrow.
 * Workers take sentences from one list, share the weights and know nothing of each other:
 * several batches side by side. Or one worker's batch is shared by several threads, which
 * pays when there are few sentences. Which of the two is faster here is measured when the
 * first sentences come; no result depends on it.
 *
 * Owns: workers and their memory, taken for the sentences at hand and taken again when
 * they do not fit. Borrows: the network, which outlives it. Threads: one call at a time.
 */
#pragma once

#include "decode/search.h"
#include "infer/ensemble.h"
#include "infer/kernels.h"
#include "infer/network.h"

struct engine_options {
    const struct infer_kernels *kernels;
    size_t n_threads;                  /* of all workers; 0: one a core */
    size_t n_workers;                  /* batches side by side; 0: whatever is faster */
    const struct shortlist *shortlist; /* NULL: the whole vocabulary */
    struct ensemble_networks more;     /* of the same vocabulary; no shortlist then */
    size_t n_slots; /* most sentences of a batch; 0: as many as batch_tokens allows */
};

status engine_open(struct search **search, const struct network *net,
                   struct search_rules rules, struct engine_options options,
                   struct err *err);
