/*
 * search - sentences in token ids to their likeliest translations: what translation asks
 * of whoever has the model.
 *
 * There are three: decode/device_search.h, which runs a model on any device in batches of
 * one position; decode/engine.h, which runs packed weights on the processor and keeps its
 * batches full; decode/hub.h, whose batches many callers share. All give each sentence a
 * beam (decode/beam/beam.h), whose result does not depend on the other sentences.
 *
 * Threads: one call at a time.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "decode/beam/beam.h"
#include "decode/beam/sampler.h"

/* One sentence; what it points to outlives the call. */
struct search_job {
    const int32_t *id; /* [n] S, pieces, EOS */
    size_t n;
    size_t max_len;            /* target tokens, given ones, S and EOS counted */
    const struct guide *guide; /* what its translation must say; NULL: anything */
};

/* What is the same for all sentences. */
struct search_rules {
    struct beam_options beam;
    size_t max_repeats;  /* of a run in a target, beyond the source's own; 0: any */
    size_t batch_tokens; /* sentences times target positions at once */
    bool wants_scores;   /* of a greedy search too, which can do without */
    bool has_guides;     /* jobs may have some; device_search.h takes none */
    bool samples;        /* draw beam.width samples of each; not device_search.h either */
    struct sampler_options sampling;
    uint64_t seed;                     /* of the random numbers */
    const struct shortlist *shortlist; /* of the network's vocabulary; NULL: none */
};

/* Called once a sentence, in any order, one call at a time; the result lives until it
 * returns. */
typedef status search_done(void *ctx, size_t job, const struct beam *found,
                           struct err *err);

struct search {
    struct search_rules rules;
    const atomic_bool *is_cancelled; /* run() fails with ERR_CANCELLED soon after it
                                        became true; NULL: never; not device_search.h */
    char note[160]; /* how the last sentences were divided among threads, and why; "" */
    status (*run)(struct search *s, const struct search_job *jobs, size_t n,
                  search_done *done, void *ctx, struct err *err);
    void (*close)(struct search *s);
};

/* All of n jobs; longest first is the best order. */
static inline status search_run(struct search *s, const struct search_job *jobs, size_t n,
                                search_done *done, void *ctx, struct err *err)
{
    return s->run(s, jobs, n, done, ctx, err);
}

static inline bool search_is_cancelled(const struct search *s)
{
    return s->is_cancelled && atomic_load_explicit(s->is_cancelled, memory_order_acquire);
}

static inline status search_cancelled(struct err *err)
{
    return err_set(err, ERR_CANCELLED, "the translation was cancelled");
}

/* Limits of a job: where its source repeats runs of BEAM_GRAM tokens itself, its target
 * may do so as many times more; and the key of its random numbers, which only the seed
 * and its ids decide. gram: room for job->n numbers. */
struct beam_limit search_limit(const struct search_rules *rules,
                               const struct search_job *job, uint64_t *gram);
