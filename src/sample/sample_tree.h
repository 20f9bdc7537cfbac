/*
 * sample_tree - what a sentence of the sample corpus means, before either language.
 *
 * sample_draw.c makes trees, sample_english.c and sample_german.c say them. A tree holds
 * only choices that can be seen in the English sentence, so that English determines
 * German. Trees own nothing: they point to rows of the lexicon and to one another, and
 * whoever made the nodes keeps them until both languages have been written.
 */
#pragma once

#include <stdbool.h>

#include "sample/sample_lexicon.h"

struct sample_clause;

enum sample_np_kind {
    NP_NOUN,
    NP_PRONOUN,
    NP_WHO,
    NP_WHAT,
    NP_RELATIVE,
    NP_WEATHER, /* "it" of "it rains" */
    NP_THERE    /* "there" of "there is" */
};

struct sample_np {
    enum sample_np_kind kind;
    const struct sample_noun *noun; /* NP_RELATIVE, "it": the noun it stands for */
    const struct sample_pronoun *pronoun;
    const struct sample_det *det;
    bool is_plural;
    unsigned number; /* "three"; 0: none */
    const struct sample_adjective *adjective;
    const struct sample_np *owner;   /* "my father's"; NP_RELATIVE: "whose" */
    const struct sample_np *partner; /* "and my sister" */
    const struct sample_clause *relative;
};

/* A fixed phrase, or a preposition with its noun phrase, or (zeroed) nothing. */
struct sample_adverbial {
    const struct sample_phrase *phrase;
    const struct sample_prep *prep;
    const struct sample_np *np;
};

enum sample_front { FRONT_SUBJECT, FRONT_TIME, FRONT_SPOT, FRONT_COMMENT };

struct sample_clause {
    const struct sample_verb *verb;
    enum sample_tense tense;
    const struct sample_modal *modal;
    bool is_negated;
    enum sample_front front;

    const struct sample_np *subject, *object, *recipient;
    struct sample_adverbial time, means, spot;
    const struct sample_phrase *mid, *manner, *comment, *ask;

    const struct sample_adjective *predicate; /* FRAME_BE */
    const struct sample_phrase *degree;
    const struct sample_np *measure; /* "three years" old */

    const struct sample_link *complement_link; /* NULL: a question word or "to" */
    const struct sample_clause *complement;
};

struct sample_sentence {
    const struct sample_clause *main;
    bool is_question;
    const struct sample_link *link; /* NULL: main stands alone */
    const struct sample_clause *other;
    bool is_other_first;
};

static inline bool sample_tree_has(const struct sample_adverbial *a)
{
    return a->phrase || a->prep;
}

/* A question word or relative pronoun stands in or is this phrase. */
static inline bool sample_tree_leads(const struct sample_np *np)
{
    return np && (np->kind == NP_WHO || np->kind == NP_WHAT || np->kind == NP_RELATIVE ||
                  (np->det && np->det->is_question) ||
                  (np->owner && np->owner->kind == NP_RELATIVE));
}

static inline bool sample_tree_plural(const struct sample_np *np)
{
    return np->partner || np->is_plural ||
           (np->kind == NP_PRONOUN && np->pronoun->person == PERSON_PLURAL);
}
