/*
 * clause - random clauses: a verb, what its frame needs, and what may stand beside.
 *
 * The nodes belong to the pick they were drawn with.
 */
#pragma once

#include "sample/pick.h"

/* Frames with an object that may become a relative pronoun or a question word. */
#define FRAMES_OF_OBJECTS (FRAME_BIT(OBJECT) | FRAME_BIT(PREP) | FRAME_BIT(RECIPIENT))

/* Frames of what somebody does. */
#define FRAMES_OF_DEEDS \
    (FRAMES_OF_OBJECTS | FRAME_BIT(ALONE) | FRAME_BIT(GOAL) | FRAME_BIT(PUT))

/* What the surroundings of a clause demand of it. */
struct demand {
    unsigned tenses;
    unsigned frames;          /* FRAME_BIT of each; 0: any */
    const struct np *subject; /* given; NULL: draw one */
    const struct np *object;
    unsigned subject_classes, object_classes; /* that the verb must suit; 0: any */
    bool is_positive;
    bool is_short;    /* no times and places beside what the verb needs */
    bool is_question; /* nothing in front, no "never", no "no man" */
    bool is_nested;   /* no relative clauses */
    bool is_once;     /* no "often" */
};

struct clause *clause_draw(struct pick *p, const struct demand *d);
/* Move a time, a place or a comment of a main clause to its front, or nothing. */
void clause_front(struct pick *p, struct clause *c);

/* One of the tenses that the verb can have. */
enum tense clause_tense(struct pick *p, const struct verb *v, unsigned tenses);
bool clause_names_place(const struct np *np);
/* "They read it", "I put it on" could be either tense. */
bool clause_is_ambiguous(const struct clause *c);

/* A sentence (draw.c), the same for the same key. It lives in *p until the next call. */
void sample_draw(struct pick *p, uint64_t key, struct sentence *s);
