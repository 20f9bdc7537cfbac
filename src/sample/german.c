/*
 * The German of a tree.
 *
 * A clause is written in its fields: front, finite verb, middle, the rest of the verb,
 * and the clauses behind it. Main clauses have the finite verb second, questions first,
 * subordinate clauses last; everything else about German order follows from that and
 * from one fixed order of the middle field: subject, pronouns (accusative, dative), time,
 * dative, accusative, nicht, manner, means, place, predicate.
 */
#include <string.h>

#include "sample/inflect.h"
#include "sample/say.h"

/* Who stands in which case of one clause, once the frame has been looked at. */
struct roles {
    const struct np *np[3], *prep_object; /* np: nominative, accusative, dative */
    bool is_kein;                         /* the object's determiner is the negation */
    enum front front;
};

static void say_clause(struct say *l, const struct clause *c, enum order order);
static void say_np(struct say *l, const struct np *np, enum casus casus);

/* "dessen" and "Annas" stand before the noun in place of the article. */
static bool is_owner_first(const struct np *np)
{
    return np->owner && (np->owner->kind == NP_RELATIVE ||
                         (np->owner->noun->classes & CLASS_PROPER) != 0);
}

static void say_owner(struct say *l, const struct np *owner)
{
    const bool is_deren = owner->is_plural || owner->noun->gender == GENDER_FEMININE;

    if (owner->kind == NP_RELATIVE)
        say_word(l, is_deren ? "deren" : "dessen");
    else
        say_word(l, inflect_join(owner->noun->de, "s", "").text);
}

static const struct det *article(const struct np *np, bool is_kein)
{
    if (is_kein)
        return lexicon_det("no");
    if (np->owner)
        return is_owner_first(np) ? NULL : lexicon_det("the");
    return np->det;
}

/* Everything of a noun phrase behind its determiner. */
static void say_noun(struct say *l, const struct np *np, enum casus casus,
                     enum declension declension)
{
    const enum column column = inflect_column(np->noun, np->is_plural);

    if (np->number)
        say_word(l, inflect_number(np->number).text);
    if (np->adjective)
        say_word(l, inflect_adjective(np->adjective, declension, casus, column).text);
    say_word(l, inflect_noun(np->noun, casus, np->is_plural).text);
    if (np->owner && !is_owner_first(np))
        say_np(l, np->owner, CASE_GENITIVE);
    if (np->relative) {
        say_comma(l);
        say_clause(l, np->relative, ORDER_LAST);
        say_comma(l);
    }
}

static void say_full(struct say *l, const struct np *np, enum casus casus, bool is_kein)
{
    const struct det *det = article(np, is_kein);
    const enum column column = inflect_column(np->noun, np->is_plural);

    if (is_owner_first(np))
        say_owner(l, np->owner);
    if (det)
        say_word(l, inflect_det(det, casus, column).text);
    say_noun(l, np, casus, det ? det->declension : DECLINE_NONE);
}

static void say_np(struct say *l, const struct np *np, enum casus casus)
{
    static const char *const who[] = {"wer", "wen", "wem"};

    if (np->kind == NP_NOUN)
        say_full(l, np, casus, false);
    else if (np->kind == NP_PRONOUN)
        say_word(l, inflect_pronoun(np->pronoun, np->noun, casus));
    else if (np->kind == NP_RELATIVE)
        say_word(l, inflect_relative(inflect_column(np->noun, np->is_plural), casus));
    else if (np->kind == NP_WHO)
        say_word(l, who[casus]);
    else /* what; it rains, there is */
        say_word(l, np->kind == NP_WHAT ? "was" : "es");
    if (np->partner) {
        say_word(l, "und");
        say_np(l, np->partner, casus);
    }
}

static void say_prepositional(struct say *l, const char *prep, const struct np *np,
                              enum casus casus)
{
    const struct det *det = np->kind == NP_NOUN ? article(np, false) : NULL;
    const char *merged = NULL;

    if (det && det->declension == DECLINE_DER && !np->is_plural)
        merged = inflect_contract(prep, np->noun->gender, casus);
    say_word(l, merged ? merged : prep);
    if (merged)
        say_noun(l, np, casus, DECLINE_DER);
    else
        say_np(l, np, casus);
}

static void say_pp(struct say *l, const struct prep *prep, const struct np *np)
{
    say_prepositional(l, prep->de, np, prep->object_case);
}

static void say_prep_object(struct say *l, const struct verb *v, const struct np *np)
{
    say_prepositional(l, v->de_prep, np, v->is_dative ? CASE_DATIVE : CASE_ACCUSATIVE);
}

/* "ein", nothing, "viele", "drei": what is new to the hearer and stands late. */
static bool is_new(const struct np *np)
{
    if (!np || np->kind != NP_NOUN || np->owner || (np->noun->classes & CLASS_PROPER))
        return false;
    return !np->det || np->det->declension == DECLINE_NONE || np->det->is_quantity ||
           strcmp(np->det->de, "ein") == 0;
}

/* What "kein" can negate: "ein Hund", "Hunde", but not "drei Hunde". */
static bool is_indefinite(const struct np *np)
{
    return np && is_new(np) && !np->number && !(np->det && np->det->is_quantity);
}

static struct roles assign(const struct clause *c)
{
    const bool is_like = c->verb->frame == FRAME_LIKE;
    struct roles r = {.np = {is_like ? c->object : c->subject, NULL,
                             is_like ? c->subject : c->recipient}};

    if (c->verb->frame == FRAME_PREP)
        r.prep_object = c->object;
    else if (!is_like && c->verb->frame != FRAME_JOB)
        r.np[c->verb->is_dative ? CASE_DATIVE : CASE_ACCUSATIVE] = c->object;
    r.is_kein = c->is_negated && !is_like && !r.prep_object && is_indefinite(c->object);
    return r;
}

static void say_time(struct say *l, const struct clause *c, const struct roles *r)
{
    if (c->tense == TENSE_PROGRESSIVE)
        say_word(l, "gerade");
    if (r->front != FRONT_TIME)
        say_adverbial(l, &c->time);
    if (c->mid && !c->mid->is_late)
        say_phrase(l, c->mid);
}

/* Dative before accusative; "schon", "nie" and the manner stand before what is new to the
 * hearer and behind what is not: "schnell ein Buch", "das Buch schnell". */
static void say_objects(struct say *l, const struct clause *c, bool is_kein,
                        const struct np *dat, const struct np *acc)
{
    const struct phrase *late = c->mid && c->mid->is_late ? c->mid : c->manner;
    const struct np *last = acc ? acc : dat;

    if (dat && acc)
        say_np(l, dat, CASE_DATIVE);
    if (is_new(last))
        say_phrase(l, late);
    if (last && is_kein && last == c->object)
        say_full(l, last, acc ? CASE_ACCUSATIVE : CASE_DATIVE, true);
    else if (last)
        say_np(l, last, acc ? CASE_ACCUSATIVE : CASE_DATIVE);
    if (!is_new(last))
        say_phrase(l, late);
}

/* "ist Bäcker", "ist kein Bäcker" */
static void say_job(struct say *l, const struct clause *c, bool is_kein)
{
    if (is_kein)
        say_full(l, c->object, CASE_NOMINATIVE, true);
    else
        say_noun(l, c->object, CASE_NOMINATIVE, DECLINE_NONE);
}

/* Subject and pronouns, which open the middle field; "gefällt mir das Buch". */
static void say_opening(struct say *l, const struct clause *c,
                        const struct np *const np[3])
{
    static const enum casus usual[] = {CASE_NOMINATIVE, CASE_ACCUSATIVE, CASE_DATIVE};
    static const enum casus liking[] = {CASE_DATIVE, CASE_NOMINATIVE, CASE_ACCUSATIVE};
    const enum casus *order = c->verb->frame == FRAME_LIKE ? liking : usual;

    for (size_t i = 0; i < 3; i++)
        if (np[order[i]])
            say_np(l, np[order[i]], order[i]);
}

/* The middle field; `front` is what already stands before it. */
static void say_middle(struct say *l, const struct clause *c, const struct roles *r,
                       const struct np *front)
{
    const struct np *opening[3] = {NULL}, *full[3] = {NULL};

    for (enum casus k = CASE_NOMINATIVE; k <= CASE_DATIVE; k++) {
        const struct np *np = r->np[k] == front ? NULL : r->np[k];
        const bool is_short = k == CASE_NOMINATIVE || (np && np->kind == NP_PRONOUN);
        (is_short ? opening : full)[k] = np;
    }
    say_opening(l, c, opening);
    say_time(l, c, r);
    say_objects(l, c, r->is_kein, full[CASE_DATIVE], full[CASE_ACCUSATIVE]);
    if (c->is_negated && !r->is_kein)
        say_word(l, "nicht");
    say_adverbial(l, &c->means);
    if (r->front != FRONT_SPOT)
        say_adverbial(l, &c->spot);
    if (r->prep_object && r->prep_object != front)
        say_prep_object(l, c->verb, r->prep_object);
    if (c->verb->frame == FRAME_JOB)
        say_job(l, c, r->is_kein);
    say_predicate(l, c);
}

/* A question word or relative pronoun, with its preposition; NULL if there is none. */
static const struct np *say_leader(struct say *l, const struct clause *c,
                                   const struct roles *r)
{
    say_phrase(l, c->ask);
    for (enum casus casus = CASE_NOMINATIVE; casus <= CASE_DATIVE; casus++)
        if (tree_leads(r->np[casus])) {
            say_np(l, r->np[casus], casus);
            return r->np[casus];
        }
    if (!tree_leads(r->prep_object))
        return NULL;
    say_prep_object(l, c->verb, r->prep_object);
    return r->prep_object;
}

static void say_clause(struct say *l, const struct clause *c, enum order order)
{
    struct roles r = assign(c);
    const struct np *front = say_leader(l, c, &r);
    const struct verb_group verb = /* no subject: "zu" and the infinitive */
        c->subject ? inflect_verb(c->verb, c->modal, c->tense, tree_person(r.np[0]))
                   : inflect_infinitive(c->verb);

    if (!front && !c->ask && order == ORDER_SECOND) {
        r.front = c->front;
        say_front(l, c);
        if (r.front == FRONT_SUBJECT) {
            front = r.np[CASE_NOMINATIVE];
            say_np(l, front, CASE_NOMINATIVE);
        }
    }
    if (order != ORDER_LAST)
        say_word(l, verb.finite.text);
    say_middle(l, c, &r, front);
    say_word(l, order == ORDER_LAST ? verb.last.text : verb.rest.text);
    say_complement(l, c);
}

const struct language sample_german = {SIDE_DE, say_clause, say_np, say_pp};
