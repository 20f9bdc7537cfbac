/*
 * beam - the search for the likeliest sentences, knowing nothing of the model.
 *
 * The reference's search. Each sentence keeps up to `width` unfinished hypotheses; every
 * step looks at the 2 * width likeliest continuations of them all. Those that end in EOS
 * are finished, with the score
 *
 *   log P / ((5 + n) / 6)^alpha,   n generated tokens, S and EOS counted;
 *
 * of the others the best `width` live on. A sentence is over at its maximal length, or
 * when no living hypothesis can reach the n_best-th finished score any more: log P only
 * falls and the divisor is largest at the maximal length, so the best living log P over
 * that divisor bounds them all. What is found is therefore the same as with the
 * reference's rule, which waits for the worst finished score. When nothing finished, the
 * living are the result.
 *
 * The greedy search takes the likeliest token that the rules allow and ends with the
 * first EOS; a beam of width 1 may go on behind it, if what follows could score higher.
 *
 * Two rules of ours reject continuations. A hypothesis does not end before it has
 * min_length tokens with text. A run of BEAM_GRAM tokens does not occur more often in one
 * hypothesis than its sentence's limit says; a hypothesis that could go on only so goes
 * no further, and when no other lives or has finished, it is the result as it is.
 *
 * A sentence may have a guide (decode/steer/guide.h), which names tokens that come first
 * and letters behind them, whatever they cost: tokens that were given count neither in
 * log P nor in n. Where letters are given, all pieces that spell them compete. Phrases
 * that a guide forbids are never said, and those that it requires are
 * (decode/beam/beam_guided.c).
 *
 * Or it draws samples (decode/beam/sampler.h): n_best = width independent sentences, each
 * token by its probability among those that rules and guide allow. The number that draws
 * a token is a function of the sentence's key, the sample, the position, and how many
 * tokens were drawn there and refused, so that no sample depends on another.
 *
 * Of equal candidates the one of the better hypothesis comes first, then the lower id;
 * of equal finished scores the older.
 *
 * A beam is the search for one sentence. Whoever has the model asks it for the living
 * rows, feeds their newest tokens, and tells what may follow; sentences of many beams can
 * be fed together, each at its own position.
 *
 * Owns: histories and results, in memory that is taken once. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { BEAM_START = -1, BEAM_EOS = 1, BEAM_GRAM = 4 };

/* What the model is asked at step t: one row a living hypothesis, best first. */
struct beam_rows {
    size_t n, t;
    const int32_t *token;    /* [n] the newest token; BEAM_START at step 0 */
    const int32_t *physical; /* [n,t+1] which row the hypothesis was at each step */
};

struct guide;
struct sampler;

struct beam_options {
    size_t width;        /* hypotheses kept at each step */
    size_t n_best;       /* results that must be exact, 1 .. width */
    double alpha;        /* >= 0 */
    size_t min_length;   /* tokens with text before EOS; 0: any */
    const bool *is_text; /* [n_ids] which tokens have text; larger ids have none */
    size_t n_ids;
    bool is_greedy; /* width 1: the likeliest token each time, until EOS; what the model
                       gives may be logits, and then scores mean nothing */
    size_t n_extra; /* hypotheses beside them that guides have yet to judge */
    struct sampler *sampler; /* draws `width` samples instead; NULL: a search */
};

/* What is a sentence's own. */
struct beam_limit {
    size_t max_len;     /* tokens, > 0, and more than are given */
    size_t max_repeats; /* times that a run of BEAM_GRAM tokens may occur; 0: any */
    const struct guide *guide; /* what it must say, which outlives it; NULL: anything */
    uint64_t key;              /* of the random numbers of its samples */
};

/* One result; its tokens live until the next search. */
struct beam_hypothesis {
    const int32_t *token; /* as generated: S first; EOS last when it finished */
    size_t n, n_given;    /* tokens, and how many of them were not searched for */
    double log_prob, score;
    bool is_finished;
};

/* What the rules changed. */
struct beam_acts {
    bool min_length; /* a hypothesis without enough text would have been the best */
    bool repeats;    /* a continuation that would have been kept was one too many */
    bool unmet;      /* a result does not say all that its guide requires */
};

struct beam;

/* Room for up to max_len tokens and so many hypotheses at a step, extra ones counted. */
status beam_open(struct beam **b, size_t max_len, size_t width, struct err *err);
void beam_close(struct beam *b); /* NULL is fine */

/* A new search, within the room. */
void beam_begin(struct beam *b, struct beam_limit limit, struct beam_options options);

/* The rows to feed next; none when the search is over. */
struct beam_rows beam_rows(const struct beam *b);

/* What is asked of a row beside its likeliest tokens. */
struct beam_wish {
    bool wants_logits; /* of the whole vocabulary */
    const int32_t *id; /* [n] log-probabilities of these */
    size_t n;
};
struct beam_wish beam_wish(const struct beam *b, size_t row);

/* What was wished of a row. */
struct beam_more {
    const double *log_prob; /* [n] */
    const float *logit;     /* [n_logits] */
    size_t n_logits;
    double log_sum; /* log-probabilities are logits less this */
};

/* What may follow the rows: log-probabilities and ids of the likeliest next tokens of
 * each, best first; where there are fewer, the rest have id -1. */
struct beam_next {
    const double *log_prob; /* [n,n_top] */
    const int32_t *id;
    size_t n_top;                 /* 2 * width at least, unless samples are drawn */
    const struct beam_more *more; /* [n]; NULL when nothing was wished */
};

/* One step further. ERR_NUMERIC when a number is NaN, or no token is possible at all
 * before anything finished. */
status beam_advance(struct beam *b, const struct beam_next *next, struct err *err);

/* Results when it is over: at least one and at most n_best, best first; samples in their
 * order. */
size_t beam_found(const struct beam *b);
struct beam_hypothesis beam_get(const struct beam *b, size_t rank);
struct beam_acts beam_acts(const struct beam *b);

/* ((5 + n) / 6)^alpha */
double beam_penalty(size_t n, double alpha);
