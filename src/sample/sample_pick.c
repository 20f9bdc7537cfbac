#include "sample/sample_pick.h"

#include <string.h>

#include "base/err.h"
#include "sample/sample_chances.h"

void sample_pick_begin(struct sample_pick *p, uint64_t key)
{
    p->rng = rng_open(key);
    p->n_nps = p->n_clauses = 0;
}

size_t sample_pick_below(struct sample_pick *p, size_t n)
{
    return (size_t)rng_below(&p->rng, n);
}

bool sample_pick_chance(struct sample_pick *p, unsigned percent)
{
    return sample_pick_below(p, 100) < percent;
}

size_t sample_pick_weighted(struct sample_pick *p, const unsigned *weights, size_t n)
{
    size_t total = 0, i = 0;

    for (size_t k = 0; k < n; k++)
        total += weights[k];
    BUG_ON(total == 0);
    size_t at = sample_pick_below(p, total);
    while (i + 1 < n && at >= weights[i])
        at -= weights[i++];
    return i;
}

struct sample_np *sample_pick_np(struct sample_pick *p)
{
    BUG_ON(p->n_nps == SAMPLE_PICK_NPS);
    struct sample_np *np = &p->np[p->n_nps++];
    *np = (struct sample_np){0};
    return np;
}

struct sample_clause *sample_pick_clause(struct sample_pick *p)
{
    BUG_ON(p->n_clauses == SAMPLE_PICK_CLAUSES);
    struct sample_clause *c = &p->clause[p->n_clauses++];
    *c = (struct sample_clause){.tense = TENSE_PRESENT};
    return c;
}

/*
 * One of the rows that fit, all equally likely: reservoir sampling, where the k-th fit
 * replaces the choice with probability 1/k.
 */
#define PICK_ROW(p, table, fits)                            \
    size_t n_fits_ = 0, at_ = 0;                            \
    for (size_t i_ = 0; i_ < table##_n; i_++) {             \
        const __typeof__(*table) *row = &table[i_];         \
        if ((fits) && sample_pick_below(p, ++n_fits_) == 0) \
            at_ = i_;                                       \
    }                                                       \
    return n_fits_ ? &table[at_] : NULL

const struct sample_verb *sample_pick_verb(struct sample_pick *p, enum sample_frame frame,
                                           unsigned subject, unsigned object)
{
    PICK_ROW(p, sample_verbs,
             row->frame == frame && (!subject || (row->subjects & subject)) &&
                 (!object || (row->objects & object)));
}

const struct sample_phrase *sample_pick_phrase(struct sample_pick *p,
                                               enum sample_slot slot, unsigned tenses)
{
    PICK_ROW(p, sample_lexicon_phrases, row->slot == slot && (row->tenses & tenses));
}

const struct sample_prep *sample_pick_prep(struct sample_pick *p,
                                           enum sample_prep_use use)
{
    PICK_ROW(p, sample_lexicon_preps, row->use == use);
}

const struct sample_adjective *sample_pick_adjective(struct sample_pick *p,
                                                     unsigned classes)
{
    PICK_ROW(p, sample_lexicon_adjectives, row->classes & classes);
}

static const struct sample_noun *pick_row(struct sample_pick *p, unsigned classes)
{
    PICK_ROW(p, sample_nouns, row->classes & classes);
}

static bool is_allowed(const struct sample_det *d, bool is_plural, unsigned limits)
{
    if (d->is_question || !(is_plural ? d->en_plural : d->en))
        return false;
    if ((limits & (LIMIT_QUANTITY | LIMIT_DEFINITE)) && d->is_quantity)
        return false;
    if ((limits & LIMIT_NO) && strcmp(d->de, "kein") == 0)
        return false;
    if ((limits & LIMIT_DEFINITE) &&
        (d->declension == DECLINE_NONE || strcmp(d->de, "ein") == 0))
        return false;
    return true;
}

static const struct sample_det *pick_det(struct sample_pick *p, bool is_plural,
                                         unsigned limits)
{
    unsigned weights[32];

    BUG_ON(sample_lexicon_dets_n > 32);
    for (size_t i = 0; i < sample_lexicon_dets_n; i++) {
        const struct sample_det *d = &sample_lexicon_dets[i];
        weights[i] = is_allowed(d, is_plural, limits) ? d->weight : 0;
    }
    return &sample_lexicon_dets[sample_pick_weighted(p, weights, sample_lexicon_dets_n)];
}

/* A person in the singular, for "my father's". */
static struct sample_np *pick_owner(struct sample_pick *p)
{
    struct sample_np *np = sample_pick_np(p);

    np->noun = pick_row(p, CLASS_PERSON);
    if (!(np->noun->classes & CLASS_PROPER))
        np->det = pick_det(p, false, LIMIT_DEFINITE);
    return np;
}

static unsigned pick_number(struct sample_pick *p, unsigned most)
{
    enum { SMALL = 12 };

    if (most <= SMALL || sample_pick_chance(p, 50))
        return 2 + (unsigned)sample_pick_below(p, (most < SMALL ? most : SMALL) - 1);
    if (most >= 900 && sample_pick_chance(p, 20))
        return 100 * (2 + (unsigned)sample_pick_below(p, 8));
    return SMALL + 1 + (unsigned)sample_pick_below(p, 99 - SMALL);
}

struct sample_np *sample_pick_counted(struct sample_pick *p, unsigned class,
                                      unsigned most)
{
    struct sample_np *np = sample_pick_np(p);

    np->noun = pick_row(p, class);
    np->number = pick_number(p, most);
    np->is_plural = true;
    return np;
}

/* "coffee", "hot coffee", "the coffee", "my coffee" */
static void dress_mass(struct sample_pick *p, struct sample_np *np, unsigned limits)
{
    if (np->noun->classes & CLASS_LANGUAGE)
        return;
    if ((limits & LIMIT_DEFINITE) || sample_pick_chance(p, 35))
        np->det = pick_det(p, false, LIMIT_DEFINITE);
    if (sample_pick_chance(p, CHANCE_ADJECTIVE))
        np->adjective = sample_pick_adjective(p, np->noun->classes);
}

static void dress_count(struct sample_pick *p, struct sample_np *np, unsigned limits)
{
    np->is_plural = !(limits & LIMIT_SINGULAR) && sample_pick_chance(p, CHANCE_PLURAL);
    if (!(limits & LIMIT_PLAIN) && sample_pick_chance(p, CHANCE_OWNER))
        np->owner = pick_owner(p);
    else
        np->det = pick_det(p, np->is_plural, limits);
    if (np->is_plural && !np->owner && !(limits & (LIMIT_QUANTITY | LIMIT_DEFINITE)) &&
        !np->det->is_quantity && !np->det->is_owner &&
        sample_pick_chance(p, CHANCE_NUMBER))
        np->number = pick_number(p, 99);
    if (sample_pick_chance(p, CHANCE_ADJECTIVE))
        np->adjective = sample_pick_adjective(p, np->noun->classes);
}

struct sample_np *sample_pick_noun(struct sample_pick *p, unsigned classes,
                                   unsigned limits)
{
    if (classes & CLASS_MONEY)
        return sample_pick_counted(p, CLASS_MONEY, 900);

    struct sample_np *np = sample_pick_np(p);
    np->noun = pick_row(p, classes);
    if (np->noun->classes & CLASS_PROPER)
        return np;
    if (np->noun->classes & CLASS_MASS)
        dress_mass(p, np, limits);
    else
        dress_count(p, np, limits);
    return np;
}

/* The noun phrase, or two of them: "the man and his sister". */
static struct sample_np *with_partner(struct sample_pick *p, struct sample_np *np,
                                      unsigned classes, unsigned limits)
{
    const unsigned people = classes & np->noun->classes & CLASS_PERSON;

    if (people && !(limits & (LIMIT_PLAIN | LIMIT_SINGULAR)) && !np->owner &&
        sample_pick_chance(p, CHANCE_PARTNER)) {
        struct sample_np *partner =
            sample_pick_noun(p, people, LIMIT_DEFINITE | LIMIT_PLAIN | LIMIT_SINGULAR);
        if (partner->noun != np->noun && !(np->det && np->det->is_quantity))
            np->partner = partner;
    }
    return np;
}

/* I, you, he, she, we, they: each verb has forms of its own for the first two. */
static const struct sample_pronoun *pick_speaker(struct sample_pick *p)
{
    static const unsigned weights[] = {WEIGHT_I,     WEIGHT_YOU, WEIGHT_THIRD,
                                       WEIGHT_THIRD, WEIGHT_WE,  WEIGHT_THIRD};

    return &sample_lexicon_pronouns[sample_pick_weighted(p, weights, 6)];
}

struct sample_np *sample_pick_subject(struct sample_pick *p, unsigned classes,
                                      unsigned limits)
{
    if ((classes & CLASS_PERSON) && !(limits & LIMIT_SINGULAR) &&
        sample_pick_chance(p, CHANCE_PRONOUN)) {
        struct sample_np *np = sample_pick_np(p);
        np->kind = NP_PRONOUN;
        np->pronoun = pick_speaker(p);
        return np;
    }
    return with_partner(p, sample_pick_noun(p, classes, limits), classes, limits);
}

/* "I see me" and "I see us" need a reflexive or make no sense. */
static bool is_same_side(const struct sample_pronoun *a, const struct sample_pronoun *b)
{
    const bool is_a_we = strcmp(a->en, "I") == 0 || strcmp(a->en, "we") == 0;
    const bool is_b_we = strcmp(b->en, "I") == 0 || strcmp(b->en, "we") == 0;

    return a == b || (is_a_we && is_b_we);
}

struct sample_np *sample_pick_object(struct sample_pick *p, unsigned classes,
                                     const struct sample_np *subject, unsigned limits)
{
    if ((classes & CLASS_PERSON) && sample_pick_chance(p, CHANCE_PRONOUN_OBJECT)) {
        const struct sample_pronoun *it = pick_speaker(p);
        if (!subject || !subject->pronoun || !is_same_side(subject->pronoun, it)) {
            struct sample_np *np = sample_pick_np(p);
            np->kind = NP_PRONOUN;
            np->pronoun = it;
            return np;
        }
    }
    return with_partner(p, sample_pick_noun(p, classes, limits | LIMIT_NO), classes,
                        limits);
}
