/*
 * draw - held-out pairs drawn at random from the training text, in bounded memory.
 *
 * Every pair has a random key, a function of the seed and its text: the pairs with the
 * lowest keys are drawn, the test set first. So the sets depend neither on the order of
 * the pairs nor on how often one is repeated, and a test set stays when the validation
 * set changes its size. A pair that shares a side with one drawn before is passed over.
 * Only a few candidates for each pair wanted are kept; should too many of them be passed
 * over, all pairs are offered again and those with the next higher keys are kept.
 *
 * Owns: the candidates and the text of what was drawn. Threads: one.
 */
#pragma once

#include "base/str.h"
#include "prepare/overlap.h"

struct draw_candidate {
    uint64_t key, pair; /* random; number of the pair in the cleaned text, from 0 */
    struct overlap_key overlap;
};

struct draw {
    uint64_t wanted[N_PREPARE_SETS]; /* pairs; 0: the set is not drawn */
    uint64_t key;                    /* of the seed */
    uint64_t from, limit;            /* the lowest and the highest key to keep */
    struct draw_candidate *candidate;
    size_t n, n_keep; /* at most twice n_keep until the next cut */
    /* Those drawn, in the order of the cleaned text; text and place in their set. */
    struct draw_pair {
        uint64_t pair, rank; /* rank by key, from 0 */
        enum prepare_set set;
        size_t at[PAIRS_SIDES], n_bytes[PAIRS_SIDES];
    } * drawn;
    size_t n_drawn, next; /* next: the first that draw_take has not met yet */
    struct str text;
};

/* A zeroed one wants nothing and may be released. */
status draw_open(struct draw *d, const struct prepare_config *c, struct err *err);
void draw_release(struct draw *d);
bool draw_is_wanted(const struct draw *d);

/* A pair that may be drawn; all of them, in the order of the cleaned text. */
void draw_offer(struct draw *d, uint64_t pair, struct overlap_key key);

/*
 * Choose among those offered whose bit in left_out is not set, n_left of them in all, and
 * add them to the sets. Unless *is_done, offer all pairs again and call this again; pairs
 * that are left out, or share a side with one of the sets, need not be offered. ERR_USAGE
 * when so many are wanted that too little is left, or the pairs are too much alike.
 */
status draw_choose(struct draw *d, struct overlap set[N_PREPARE_SETS],
                   const unsigned char *left_out, uint64_t n_left, bool *is_done,
                   struct err *err);

/* Whether a pair, met in order, was drawn; its text is kept then. */
bool draw_take(struct draw *d, uint64_t pair, const struct line side[PAIRS_SIDES]);

/* Once all pairs were met: d->drawn by set and rank, and whether all text was kept. */
status draw_finish(struct draw *d, struct err *err);
struct line draw_line(const struct draw *d, const struct draw_pair *p, int side);
