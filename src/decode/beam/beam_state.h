/*
 * beam_state - what the files of this folder know of a search: its hypotheses, and how
 * they go on or end.
 */
#pragma once

#include "decode/beam/beam.h"
#include "decode/steer/guide.h"

/* The living hypotheses at one step, best first. */
struct beam_living {
    size_t n;
    int32_t *token;            /* [width] */
    double *log_prob;          /* [width] */
    size_t *n_text;            /* [width] tokens with text */
    int32_t *physical;         /* [width,t+1] */
    struct guide_state *state; /* [width] of what guides it, if anything does */
    size_t *sample;            /* [width] which one it is, if samples are drawn */
    int32_t *wanted;           /* [width,GUIDE_WANTED] tokens of required phrases */
    size_t *n_wanted;          /* [width] */
};

struct beam_candidate {
    double log_prob;
    size_t row;
    int32_t id;
    bool is_pending; /* what comes next decides whether it must not be */
    bool is_sure;    /* it is looked at however unlikely */
    uint16_t bank;   /* tokens of required phrases that it has */
    uint32_t order;  /* among equals the lower comes first */
};

enum { BEAM_NO_TOKEN = -1 };

struct beam {
    size_t max_len, width; /* room */
    struct beam_options options;
    struct beam_limit limit;
    size_t n_given;                /* tokens that are not searched for */
    size_t t;                      /* the step that is asked for */
    struct beam_hypothesis *found; /* [width] finished ones, or those of the end */
    size_t n_found;
    size_t n_stale;     /* steps since one of the n_best was found */
    size_t n_spare;     /* positions that are not for tokens beside required phrases */
    double short_score; /* the best that min_length rejected; -INFINITY: none */
    bool had_repeats;
    int32_t *token;               /* [width,max_len] of what was found */
    int32_t *fed;                 /* [max_len,width] the token of row r at step t */
    struct beam_living now, next; /* [width] */
    struct beam_candidate *best;  /* [2*width] */
    struct beam_candidate *all;   /* what a guide allows of a step */
    size_t n_all, cap_all;
    int32_t *history; /* [max_len] of one row */
};

/* The tokens that row `row` of this step has generated so far. */
void beam_copy_history(const struct beam *b, int32_t *to, size_t row);

/* Row `row` goes on with a token of log-probability p. */
struct beam_candidate beam_extend(const struct beam *b, size_t row, int32_t id, double p);

/* Are the tokens so far and the next enough for a run to occur too often? Occurrences
 * overlap. */
bool beam_may_repeat(const struct beam *b);

/* Does a rule forbid the candidate? Its row's tokens are in b->history. */
bool beam_is_rejected(struct beam *b, const struct beam_candidate *c);

/* Row `row` as it is. */
struct beam_candidate beam_stopped(const struct beam *b, size_t row);

/* Does the sentence's guide allow it? Sets what else the guide says of it. */
bool beam_guided_allows(const struct beam *b, struct beam_candidate *c);

/* Result `at` is what c's row has generated, and c's token unless it has none; its tokens
 * go to place `place`. A guide may cut off the end of one that has not ended. */
void beam_write(struct beam *b, size_t at, size_t place, const struct beam_candidate *c);

/* Enter a hypothesis into the list of results, if it is good enough. */
void beam_keep(struct beam *b, const struct beam_candidate *c);

/* Can a living hypothesis of log-probability p no longer become one of the n_best? */
bool beam_is_settled(const struct beam *b, double p);

/* The search ends: where nothing finished, the n_living in b->best are the result, or the
 * rows as they are when rules rejected their continuations. */
status beam_finish(struct beam *b, size_t n_living, bool was_rejected, struct err *err);

/* The n candidates in b->best are the rows of the next step. */
void beam_go_on(struct beam *b, size_t n);

status beam_not_a_number(const struct beam *b, struct err *err);
status beam_no_token(const struct beam *b, struct err *err);

/* beam_advance() where samples are drawn, and where a guide leads; in files of their own.
 */
status beam_guided_advance(struct beam *b, const struct beam_next *next, struct err *err);
status beam_sample_advance(struct beam *b, const struct beam_next *next, struct err *err);
