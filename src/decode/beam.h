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
 * Two rules of ours reject continuations. A hypothesis does not end before it has
 * min_length tokens with text. A run of BEAM_GRAM tokens does not occur more often in one
 * hypothesis than its sentence's limit says; a hypothesis that could go on only so goes
 * no further, and when no other lives or has finished, it is the result as it is.
 *
 * Of equal candidates the one of the better hypothesis comes first, then the lower id;
 * of equal finished scores the older. A sentence's result does not depend on which
 * others are searched with it; those that are over leave, and rows close up.
 *
 * Owns: histories and results. Threads: one search at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { BEAM_START = -1, BEAM_EOS = 1, BEAM_GRAM = 4 };

/* What the model is asked at one step: one row a living hypothesis. */
struct beam_rows {
    size_t n;
    const int32_t *token;    /* [n] the newest token; BEAM_START at step 0 */
    const int32_t *sentence; /* [n] ascending */
    const int32_t *physical; /* [n,t+1] which row the hypothesis was at each step */
};

/*
 * The model: at step t fill, for each row, the 2 * width likeliest next tokens, best
 * first: log-probabilities and ids. Where there are fewer, the rest have id -1.
 */
struct beam_source {
    status (*step)(void *ctx, size_t t, const struct beam_rows *rows, double *log_prob,
                   int32_t *id, struct err *err);
    void *ctx;
};

struct beam_options {
    size_t width;        /* 1 is greedy: the likeliest token that is not EOS goes on */
    size_t n_best;       /* results that must be exact, 1 .. width */
    double alpha;        /* >= 0 */
    size_t min_length;   /* tokens with text before EOS; 0: any */
    const bool *is_text; /* [n_ids] which tokens have text; larger ids have none */
    size_t n_ids;
};

struct beam_limit {
    size_t max_len;     /* generated tokens, > 0 */
    size_t max_repeats; /* times that a run of BEAM_GRAM tokens may occur; 0: any */
};

/* One result; its tokens live until the next search. */
struct beam_hypothesis {
    const int32_t *token; /* as generated: S first; EOS last when it finished */
    size_t n;
    double log_prob, score;
    bool is_finished;
};

/* What the rules changed in one sentence. */
struct beam_acts {
    bool min_length; /* a hypothesis without enough text would have been the best */
    bool repeats;    /* a continuation that would have been kept was one too many */
};

struct beam;

/* Room for n_sents sentences of up to max_len generated tokens. */
status beam_open(struct beam **b, size_t n_sents, size_t max_len, size_t width,
                 struct err *err);
void beam_close(struct beam *b); /* NULL is fine */

/* Search n sentences. ERR_NUMERIC when the source gives NaN, or no token at all before
 * anything finished. */
status beam_search(struct beam *b, const struct beam_source *source,
                   const struct beam_limit *limit, size_t n, struct beam_options options,
                   struct err *err);

/* Results of one sentence, at least one and at most n_best, best first. */
size_t beam_found(const struct beam *b, size_t sentence);
struct beam_hypothesis beam_get(const struct beam *b, size_t sentence, size_t rank);
struct beam_acts beam_acts(const struct beam *b, size_t sentence);

/* ((5 + n) / 6)^alpha */
double beam_penalty(size_t n, double alpha);
