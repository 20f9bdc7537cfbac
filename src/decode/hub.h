/*
 * hub - many callers, one network, the same batches.
 *
 * A hub has a worker (decode/worker.h) a thread, which sleep while nothing waits. Each
 * caller has a search of its own, with its own rules; its run() hands sentences in and
 * sleeps until they are done, taken back or failed. Sentences of all callers are in
 * flight together. Callers take turns: one with ten thousand sentences does not keep one
 * with a single sentence waiting. What is found is what the engine (decode/engine.h)
 * finds, byte for byte, whatever else is in flight; what fails concerns its caller alone.
 *
 * A caller may take back what it asked for by a flag that is looked at once a step, by
 * whichever worker makes one: its sentences leave their batches at once.
 *
 * A sentence that waits takes no memory of the hub. Those in flight do, and room for long
 * ones or wide beams stays once it was needed; max_len says how long a sentence may be.
 *
 * Owns: threads and workers. Borrows: the network, which outlives it. Threads: any may
 * open searches and run them, each search one thread at a time; hub_close() when all
 * searches are closed.
 */
#pragma once

#include "decode/search.h"
#include "infer/ensemble.h"
#include "infer/kernels.h"
#include "infer/network.h"

struct hub;

struct hub_options {
    const struct infer_kernels *kernels;
    struct ensemble_networks more; /* of the same vocabulary; no shortlist then */
    size_t n_threads;              /* a worker each; 0: one a core */
    size_t n_slots;                /* sentences of a batch; 0: 64 */
    size_t batch_tokens; /* sentences times target positions of a batch; 0: 4,096 */
    size_t max_len;      /* tokens of a sentence, source or target; 0: 2,048 */
};

status hub_open(struct hub **h, const struct network *net, struct hub_options options,
                struct err *err);
void hub_close(struct hub *h); /* NULL is fine; no thread is left */

/* A search for one caller; `is_cancelled` may be NULL. Its rules' batch_tokens mean
 * nothing here. */
status hub_search(struct search **search, struct hub *h, struct search_rules rules,
                  const atomic_bool *is_cancelled, struct err *err);

/* How busy it is now, and what it has done so far. */
struct hub_counts {
    size_t n_callers; /* in run() */
    size_t n_waiting, n_in_flight, n_slots;
    uint64_t n_sentences;       /* that were over, in whatever way */
    uint64_t n_steps, n_tokens; /* of batches; sentences times target positions */
};
struct hub_counts hub_counts(struct hub *h);
