/*
 * tree - what a sentence of the sample corpus means, before either language.
 *
 * draw.c makes trees, english.c and german.c write them. A tree holds only choices that
 * can be seen in the English sentence, so that English determines German. Trees own
 * nothing: they point to rows of the lexicon and to one another, and whoever made the
 * nodes keeps them until both languages have been written.
 */
#pragma once

#include <stdbool.h>

#include "sample/lexicon.h"

struct clause;

enum np_kind {
    NP_NOUN,
    NP_PRONOUN,
    NP_WHO,
    NP_WHAT,
    NP_RELATIVE,
    NP_WEATHER, /* "it" of "it rains" */
    NP_THERE    /* "there" of "there is" */
};

struct np {
    enum np_kind kind;
    const struct noun *noun; /* NP_RELATIVE, "it": the noun it stands for */
    const struct pronoun *pronoun;
    const struct det *det;
    bool is_plural;
    unsigned number; /* "three"; 0: none */
    const struct adjective *adjective;
    const struct np *owner;   /* "my father's"; NP_RELATIVE: "whose" */
    const struct np *partner; /* "and my sister" */
    const struct clause *relative;
};

/* A fixed phrase, or a preposition with its noun phrase, or (zeroed) nothing. */
struct adverbial {
    const struct phrase *phrase;
    const struct prep *prep;
    const struct np *np;
};

enum front { FRONT_SUBJECT, FRONT_TIME, FRONT_SPOT, FRONT_COMMENT };

struct clause {
    const struct verb *verb;
    enum tense tense;
    const struct modal *modal;
    bool is_negated;
    enum front front;

    const struct np *subject, *object, *recipient;
    struct adverbial time, means, spot;
    const struct phrase *mid, *manner, *comment, *ask;

    const struct adjective *predicate; /* FRAME_BE */
    const struct phrase *degree;
    const struct np *measure; /* "three years" old */

    const struct link *complement_link; /* NULL: a question word or "to" */
    const struct clause *complement;
};

struct sentence {
    const struct clause *main;
    bool is_question;
    const struct link *link; /* NULL: main stands alone */
    const struct clause *other;
    bool is_other_first;
};

static inline bool tree_has(const struct adverbial *a)
{
    return a->phrase || a->prep;
}

/* A question word or relative pronoun stands in or is this phrase. */
static inline bool tree_leads(const struct np *np)
{
    return np && (np->kind == NP_WHO || np->kind == NP_WHAT || np->kind == NP_RELATIVE ||
                  (np->det && np->det->is_question) ||
                  (np->owner && np->owner->kind == NP_RELATIVE));
}

static inline bool tree_plural(const struct np *np)
{
    return np->partner || np->is_plural ||
           (np->kind == NP_PRONOUN && np->pronoun->person == PERSON_PLURAL);
}

static inline enum person tree_person(const struct np *np)
{
    if (np->kind == NP_PRONOUN && !np->partner)
        return np->pronoun->person;
    return tree_plural(np) ? PERSON_PLURAL : PERSON_ER;
}
