/*
 * worker - one batch of sentences in flight, always as full as the queue allows.
 *
 * Sentences of a batch may belong to several callers, each with rules of its own: a
 * sentence takes rows and entries of the cache by its own rules, and what is found does
 * not depend on the others. What fails concerns the sentence that it befell.
 *
 * Room is taken for the sentences that the worker was told of. A sentence that needs more
 * waits until the batch is empty, and then gets a larger one; from then on a stream of
 * sentences like it takes no memory any more.
 *
 * Owns: a session, the beams of its slots, and the threads of its crew if it has more
 * than the caller. Borrows: the network. Threads: one caller at a time; several workers
 * share a queue.
 */
#pragma once

#include <stdatomic.h>

#include "decode/search.h"
#include "infer/ensemble.h"
#include "infer/kernels.h"
#include "infer/session.h"

/* A sentence as a queue hands it out; all of it outlives the call of done(). */
struct worker_job {
    struct search_job job;
    const struct search_rules *rules;
    const atomic_bool *is_cancelled; /* looked at once a step */
    void *owner;                     /* of the queue's own */
    size_t number;
};

/* Where sentences come from and go to; called by any worker. */
struct worker_queue {
    /* The next sentence that waits, for a worker that has n already; false: none does. A
     * worker that has none may be let wait for one; then false means that the queue has
     * closed. */
    bool (*take)(struct worker_queue *q, size_t n_have, struct worker_job *job);
    /* It is over: found, or NULL and why it failed, or NULL twice: it was cancelled. */
    void (*done)(struct worker_queue *q, const struct worker_job *job,
                 const struct beam *found, const struct err *err);
    /* A step of so many sentences was made. */
    void (*stepped)(struct worker_queue *q, size_t n_sentences);
};

/* The most that a worker has room for. */
struct worker_room {
    size_t n_slots;          /* sentences */
    size_t n_tokens;         /* sentences times target positions */
    size_t n_each;           /* rows of a sentence, when all are in flight */
    size_t max_src, max_len; /* of a sentence */
    size_t max_rows, max_top;
};

struct worker;

/* What sentences with these rules need: rows, and candidates of each. */
size_t worker_rows(const struct search_rules *rules);
size_t worker_top(const struct search_rules *rules);

/* `more`: networks whose mean with the first is searched, if there are any. */
status worker_open(struct worker **w, const struct network *net,
                   struct ensemble_networks more, const struct infer_kernels *k,
                   size_t n_threads, struct worker_room room, struct err *err);
void worker_close(struct worker *w); /* NULL is fine */

/* Work until none waits and none is in flight. */
void worker_run(struct worker *w, struct worker_queue *q);

/* Seconds of a step of n sentences of `width` rows, for choosing among workers; touches
 * no queue. */
double worker_time_step(struct worker *w, size_t n_sentences, size_t width);
