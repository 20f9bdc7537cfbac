#include "sample/pick.h"

#include <string.h>

#include "base/err.h"
#include "sample/chances.h"

void pick_begin(struct pick *p, uint64_t key)
{
    p->rng = rng_open(key);
    p->n_nps = p->n_clauses = 0;
}

unsigned pick_below(struct pick *p, size_t n)
{
    return (unsigned)rng_below(&p->rng, n);
}

bool pick_chance(struct pick *p, unsigned percent)
{
    return pick_below(p, 100) < percent;
}

size_t pick_weighted(struct pick *p, const unsigned *weights, size_t n)
{
    size_t total = 0, i = 0;

    for (size_t k = 0; k < n; k++)
        total += weights[k];
    BUG_ON(total == 0);
    size_t at = pick_below(p, total);
    while (i + 1 < n && at >= weights[i])
        at -= weights[i++];
    return i;
}

struct np *pick_np(struct pick *p, enum np_kind kind)
{
    BUG_ON(p->n_nps == PICK_NPS);
    struct np *np = &p->np[p->n_nps++];
    *np = (struct np){.kind = kind};
    return np;
}

struct np *pick_pronoun(struct pick *p, const struct pronoun *pronoun)
{
    struct np *np = pick_np(p, NP_PRONOUN);

    np->pronoun = pronoun;
    return np;
}

struct clause *pick_clause(struct pick *p)
{
    BUG_ON(p->n_clauses == PICK_CLAUSES);
    struct clause *c = &p->clause[p->n_clauses++];
    *c = (struct clause){.tense = TENSE_PRESENT};
    return c;
}

/*
 * One of the rows that fit, all equally likely: reservoir sampling, where the k-th fit
 * replaces the choice with probability 1/k.
 */
#define PICK_ROW(p, table, fits)                     \
    size_t n_fits_ = 0, at_ = 0;                     \
    for (size_t i_ = 0; i_ < table##_n; i_++) {      \
        const __typeof__(*table) *row = &table[i_];  \
        if ((fits) && pick_below(p, ++n_fits_) == 0) \
            at_ = i_;                                \
    }                                                \
    return n_fits_ ? &table[at_] : NULL

/* One of the rows that fit, by the weights that the table gives them. */
#define PICK_WEIGHTED(p, table, fits)               \
    unsigned weights_[32] = {0};                    \
    BUG_ON(table##_n > 32);                         \
    for (size_t i_ = 0; i_ < table##_n; i_++) {     \
        const __typeof__(*table) *row = &table[i_]; \
        weights_[i_] = (fits) ? row->weight : 0;    \
    }                                               \
    return &table[pick_weighted(p, weights_, table##_n)]

const struct verb *pick_verb(struct pick *p, enum frame frame, unsigned subject,
                             unsigned object)
{
    PICK_ROW(p, lexicon_verbs,
             row->frame == frame && (!subject || (row->subjects & subject)) &&
                 (!object || (row->objects & object)));
}

const struct phrase *pick_phrase(struct pick *p, enum slot slot, unsigned tenses)
{
    PICK_ROW(p, lexicon_phrases, row->slot == slot && (row->tenses & tenses));
}

const struct prep *pick_prep(struct pick *p, enum prep_use use)
{
    PICK_ROW(p, lexicon_preps, row->use == use);
}

const struct link *pick_link(struct pick *p, bool is_about_it)
{
    PICK_WEIGHTED(p, lexicon_links, !is_about_it || row->is_about_it);
}

const struct adjective *pick_adjective(struct pick *p, unsigned classes)
{
    PICK_ROW(p, lexicon_adjectives, row->classes & classes);
}

static const struct noun *pick_row(struct pick *p, unsigned classes)
{
    PICK_ROW(p, lexicon_nouns, row->classes & classes);
}

static bool is_allowed(const struct det *d, bool is_plural, unsigned limits)
{
    const bool is_vague =
        d->is_quantity || d->declension == DECLINE_NONE || strcmp(d->de, "ein") == 0;

    return !d->is_question && (is_plural ? d->en_plural : d->en) &&
           !((limits & LIMIT_QUANTITY) && d->is_quantity) &&
           !((limits & LIMIT_NO) && strcmp(d->de, "kein") == 0) &&
           !((limits & LIMIT_DEFINITE) && is_vague);
}

static const struct det *pick_det(struct pick *p, bool is_plural, unsigned limits)
{
    PICK_WEIGHTED(p, lexicon_dets, is_allowed(row, is_plural, limits));
}

/* A person in the singular, for "my father's". */
static struct np *pick_owner(struct pick *p)
{
    struct np *np = pick_np(p, NP_NOUN);

    np->noun = pick_row(p, CLASS_PERSON);
    if (!(np->noun->classes & CLASS_PROPER))
        np->det = pick_det(p, false, LIMIT_DEFINITE);
    return np;
}

static unsigned pick_number(struct pick *p, unsigned most)
{
    enum { SMALL = 12 };

    if (most <= SMALL || pick_chance(p, 50))
        return 2 + pick_below(p, (most < SMALL ? most : SMALL) - 1);
    if (most >= 900 && pick_chance(p, 20))
        return 100 * (2 + pick_below(p, 8));
    return SMALL + 1 + pick_below(p, 99 - SMALL);
}

struct np *pick_counted(struct pick *p, unsigned class, unsigned most)
{
    struct np *np = pick_np(p, NP_NOUN);

    np->noun = pick_row(p, class);
    np->number = pick_number(p, most);
    np->is_plural = true;
    return np;
}

/* "coffee", "hot coffee", "the coffee", "my coffee" */
static void dress_mass(struct pick *p, struct np *np, unsigned limits)
{
    if (np->noun->classes & CLASS_LANGUAGE)
        return;
    if ((limits & LIMIT_DEFINITE) || pick_chance(p, 35))
        np->det = pick_det(p, false, LIMIT_DEFINITE);
    if (pick_chance(p, CHANCE_ADJECTIVE))
        np->adjective = pick_adjective(p, np->noun->classes);
}

static void dress_count(struct pick *p, struct np *np, unsigned limits)
{
    np->is_plural = !(limits & LIMIT_SINGULAR) && pick_chance(p, CHANCE_PLURAL);
    if (!(limits & LIMIT_PLAIN) && pick_chance(p, CHANCE_OWNER))
        np->owner = pick_owner(p);
    else
        np->det = pick_det(p, np->is_plural, limits);
    if (np->is_plural && !np->owner && !(limits & (LIMIT_QUANTITY | LIMIT_DEFINITE)) &&
        !np->det->is_quantity && !np->det->is_owner && pick_chance(p, CHANCE_NUMBER))
        np->number = pick_number(p, 99);
    if (pick_chance(p, CHANCE_ADJECTIVE))
        np->adjective = pick_adjective(p, np->noun->classes);
}

struct np *pick_noun(struct pick *p, unsigned classes, unsigned limits)
{
    if (classes & CLASS_MONEY)
        return pick_counted(p, CLASS_MONEY, 900);

    struct np *np = pick_np(p, NP_NOUN);
    np->noun = pick_row(p, classes);
    if (np->noun->classes & CLASS_PROPER)
        return np;
    if (np->noun->classes & CLASS_MASS)
        dress_mass(p, np, limits);
    else
        dress_count(p, np, limits);
    return np;
}

/* A noun phrase, or two of them: "the man and his sister". */
static struct np *pick_nouns(struct pick *p, unsigned classes, unsigned limits)
{
    struct np *np = pick_noun(p, classes, limits);
    const unsigned people = classes & np->noun->classes & CLASS_PERSON;

    if (people && !(limits & (LIMIT_PLAIN | LIMIT_SINGULAR)) && !np->owner &&
        pick_chance(p, CHANCE_PARTNER)) {
        struct np *partner =
            pick_noun(p, people, LIMIT_DEFINITE | LIMIT_PLAIN | LIMIT_SINGULAR);
        if (partner->noun != np->noun && !(np->det && np->det->is_quantity))
            np->partner = partner;
    }
    return np;
}

/* I, you, he, she, we, they: each verb has forms of its own for the first two. */
static const struct pronoun *pick_speaker(struct pick *p)
{
    PICK_WEIGHTED(p, lexicon_pronouns, true);
}

struct np *pick_subject(struct pick *p, unsigned classes, unsigned limits)
{
    if ((classes & CLASS_PERSON) && !(limits & LIMIT_SINGULAR) &&
        pick_chance(p, CHANCE_PRONOUN))
        return pick_pronoun(p, pick_speaker(p));
    return pick_nouns(p, classes, limits);
}

/* "I see me" and "I see us" need a reflexive or make no sense. */
static bool is_same_side(const struct pronoun *a, const struct pronoun *b)
{
    const bool is_a_we = strcmp(a->en, "I") == 0 || strcmp(a->en, "we") == 0;
    const bool is_b_we = strcmp(b->en, "I") == 0 || strcmp(b->en, "we") == 0;

    return a == b || (is_a_we && is_b_we);
}

struct np *pick_object(struct pick *p, unsigned classes, const struct np *subject,
                       unsigned limits)
{
    if ((classes & CLASS_PERSON) && pick_chance(p, CHANCE_PRONOUN_OBJECT)) {
        const struct pronoun *it = pick_speaker(p);
        if (!subject || !subject->pronoun || !is_same_side(subject->pronoun, it))
            return pick_pronoun(p, it);
    }
    return pick_nouns(p, classes, limits | LIMIT_NO);
}
