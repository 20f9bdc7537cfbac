/*
 * sample_clause - random clauses: a verb, what its frame needs, and what may stand
 * beside.
 *
 * The nodes belong to the sample_pick they were drawn with.
 */
#pragma once

#include "sample/sample_pick.h"

#define SAMPLE_ANY_TENSE \
    (TENSE_PRESENT | TENSE_PROGRESSIVE | TENSE_PAST | TENSE_PERFECT | TENSE_FUTURE)

/* What the surroundings of a clause demand of it. */
struct sample_demand {
    unsigned tenses;
    unsigned frames;                 /* FRAME_BIT of each; 0: any */
    const struct sample_np *subject; /* given; NULL: draw one */
    const struct sample_np *object;
    unsigned subject_classes, object_classes; /* that the verb must suit; 0: any */
    bool is_positive;
    bool is_short;    /* no times and places beside what the verb needs */
    bool is_question; /* nothing in front, no "never", no "no man" */
    bool is_nested;   /* no relative clauses */
    bool is_once;     /* no "often" */
};

struct sample_clause *sample_clause_draw(struct sample_pick *p,
                                         const struct sample_demand *d);
/* Move a time, a place or a comment of a main clause to its front, or nothing. */
void sample_clause_front(struct sample_pick *p, struct sample_clause *c);

/* One of the tenses that the verb can have. */
enum sample_tense sample_clause_tense(struct sample_pick *p, const struct sample_verb *v,
                                      unsigned tenses);
bool sample_clause_names_place(const struct sample_np *np);
/* "They read it", "I put it on" could be either tense. */
bool sample_clause_is_ambiguous(const struct sample_clause *c);
