/*
 * pick - random rows of the lexicon and random noun phrases.
 *
 * struct pick is the cursor of one sentence and holds the nodes of its tree:
 * they live until the next pick_begin. One thread at a time.
 */
#pragma once

#include <stdint.h>

#include "base/rng.h"
#include "sample/tree.h"

enum { PICK_NPS = 96, PICK_CLAUSES = 16 };

struct pick {
    struct rng rng;
    struct np np[PICK_NPS];
    struct clause clause[PICK_CLAUSES];
    size_t n_nps, n_clauses;
};

void pick_begin(struct pick *p, uint64_t key);

bool pick_chance(struct pick *p, unsigned percent);
/* An index below n, by weight; at least one weight is not 0. */
size_t pick_weighted(struct pick *p, const unsigned *weights, size_t n);
unsigned pick_below(struct pick *p, size_t n);

/* New nodes of the tree, otherwise zeroed. */
struct np *pick_np(struct pick *p, enum np_kind kind);
struct np *pick_pronoun(struct pick *p, const struct pronoun *pronoun);
struct clause *pick_clause(struct pick *p);

/* A verb of the frame that suits; 0 for classes that do not matter. NULL: none. */
const struct verb *pick_verb(struct pick *p, enum frame frame, unsigned subject,
                             unsigned object);
/* A phrase for the slot that goes with any of the tenses; NULL: none. */
const struct phrase *pick_phrase(struct pick *p, enum slot slot, unsigned tenses);
const struct prep *pick_prep(struct pick *p, enum prep_use use);
const struct link *pick_link(struct pick *p, bool is_about_it);
/* An adjective that describes every noun of the classes. */
const struct adjective *pick_adjective(struct pick *p, unsigned classes);

/* What a noun phrase must not have. */
enum limit {
    LIMIT_NONE = 0,
    LIMIT_QUANTITY = 1 << 0, /* every, many, three: not beside a negation */
    LIMIT_DEFINITE = 1 << 1, /* the, this, my only */
    LIMIT_SINGULAR = 1 << 2,
    LIMIT_PLAIN = 1 << 3, /* no owner, no partner */
    LIMIT_NO = 1 << 4     /* not "no man" */
};

struct np *pick_noun(struct pick *p, unsigned classes, unsigned limits);
/* A pronoun when the classes allow one, or a noun phrase. */
struct np *pick_subject(struct pick *p, unsigned classes, unsigned limits);
/* `subject` keeps "I see me" away; may be NULL. */
struct np *pick_object(struct pick *p, unsigned classes, const struct np *subject,
                       unsigned limits);
/* "forty-two euros", "three days", "nine o'clock" */
struct np *pick_counted(struct pick *p, unsigned class, unsigned most);
