/*
 * sample_pick - random rows of the lexicon and random noun phrases.
 *
 * struct sample_pick is the cursor of one sentence and holds the nodes of its tree:
 * they live until the next sample_pick_begin. One thread at a time.
 */
#pragma once

#include <stdint.h>

#include "base/rng.h"
#include "sample/sample_tree.h"

enum { SAMPLE_PICK_NPS = 96, SAMPLE_PICK_CLAUSES = 16 };

struct sample_pick {
    struct rng rng;
    struct sample_np np[SAMPLE_PICK_NPS];
    struct sample_clause clause[SAMPLE_PICK_CLAUSES];
    size_t n_nps, n_clauses;
};

void sample_pick_begin(struct sample_pick *p, uint64_t key);

bool sample_pick_chance(struct sample_pick *p, unsigned percent);
/* An index below n, by weight; at least one weight is not 0. */
size_t sample_pick_weighted(struct sample_pick *p, const unsigned *weights, size_t n);
size_t sample_pick_below(struct sample_pick *p, size_t n);

/* Zeroed nodes of the tree. */
struct sample_np *sample_pick_np(struct sample_pick *p);
struct sample_clause *sample_pick_clause(struct sample_pick *p);

/* A verb of the frame that suits; 0 for classes that do not matter. NULL: none. */
const struct sample_verb *sample_pick_verb(struct sample_pick *p, enum sample_frame frame,
                                           unsigned subject, unsigned object);
/* A phrase for the slot that goes with any of the tenses; NULL: none. */
const struct sample_phrase *sample_pick_phrase(struct sample_pick *p,
                                               enum sample_slot slot, unsigned tenses);
const struct sample_prep *sample_pick_prep(struct sample_pick *p,
                                           enum sample_prep_use use);
/* An adjective that describes every noun of the classes. */
const struct sample_adjective *sample_pick_adjective(struct sample_pick *p,
                                                     unsigned classes);

/* What a noun phrase must not have. */
enum sample_limit {
    LIMIT_NONE = 0,
    LIMIT_QUANTITY = 1 << 0, /* every, many, three: not beside a negation */
    LIMIT_DEFINITE = 1 << 1, /* the, this, my only */
    LIMIT_SINGULAR = 1 << 2,
    LIMIT_PLAIN = 1 << 3, /* no owner, no partner */
    LIMIT_NO = 1 << 4     /* not "no man" */
};

struct sample_np *sample_pick_noun(struct sample_pick *p, unsigned classes,
                                   unsigned limits);
/* A pronoun when the classes allow one, or a noun phrase. */
struct sample_np *sample_pick_subject(struct sample_pick *p, unsigned classes,
                                      unsigned limits);
/* `subject` keeps "I see me" away; may be NULL. */
struct sample_np *sample_pick_object(struct sample_pick *p, unsigned classes,
                                     const struct sample_np *subject, unsigned limits);
/* "forty-two euros", "three days", "nine o'clock" */
struct sample_np *sample_pick_counted(struct sample_pick *p, unsigned class,
                                      unsigned most);
