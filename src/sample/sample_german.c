#include "sample/sample_german.h"

#include <string.h>

#include "sample/sample_line.h"
#include "sample/sample_morph.h"

/* What stands where in one clause, once the frame has been looked at. */
struct roles {
    const struct sample_np *nominative, *accusative, *dative, *prep_object;
    bool is_kein; /* the negation is in the determiner of the object */
    enum sample_front front;
};

static void say_clause(struct sample_line *l, const struct sample_clause *c,
                       enum sample_order order);

static void say_owner(struct sample_line *l, const struct sample_np *owner)
{
    struct sample_morph_word word;

    if (owner->kind == NP_RELATIVE) {
        const bool is_deren = owner->is_plural || owner->noun->gender == GENDER_FEMININE;
        sample_line_word(l, is_deren ? "deren" : "dessen");
        return;
    }
    sample_morph_join(&word, owner->noun->de, "s");
    sample_line_word(l, word.text);
}

/* "dessen" and "Annas" stand before the noun in place of the article. */
static bool is_owner_first(const struct sample_np *np)
{
    return np->owner && (np->owner->kind == NP_RELATIVE ||
                         (np->owner->noun->classes & CLASS_PROPER) != 0);
}

static const struct sample_det *article(const struct sample_np *np, bool is_kein)
{
    if (is_kein)
        return sample_lexicon_det("no");
    if (np->owner)
        return is_owner_first(np) ? NULL : sample_lexicon_det("the");
    return np->det;
}

static void say_np(struct sample_line *l, const struct sample_np *np,
                   enum sample_case casus);

/* Everything of a noun phrase behind its determiner. */
static void say_noun(struct sample_line *l, const struct sample_np *np,
                     enum sample_case casus, enum sample_declension declension)
{
    const enum sample_column column =
        sample_morph_column(np->noun->gender, np->is_plural);
    struct sample_morph_word word;

    if (np->number) {
        sample_morph_number(&word, np->number);
        sample_line_word(l, word.text);
    }
    if (np->adjective) {
        sample_morph_adjective(&word, np->adjective, declension, casus, column);
        sample_line_word(l, word.text);
    }
    sample_morph_noun(&word, np->noun, casus, np->is_plural);
    sample_line_word(l, word.text);
    if (np->owner && !is_owner_first(np))
        say_np(l, np->owner, CASE_GENITIVE);
    if (np->relative) {
        sample_line_comma(l);
        say_clause(l, np->relative, ORDER_LAST);
        sample_line_comma(l);
    }
}

static void say_full(struct sample_line *l, const struct sample_np *np,
                     enum sample_case casus, bool is_kein)
{
    const struct sample_det *det = article(np, is_kein);
    struct sample_morph_word word;

    if (is_owner_first(np))
        say_owner(l, np->owner);
    if (det) {
        sample_morph_det(&word, det, casus,
                         sample_morph_column(np->noun->gender, np->is_plural));
        sample_line_word(l, word.text);
    }
    say_noun(l, np, casus, det ? det->declension : DECLINE_NONE);
}

static void say_np(struct sample_line *l, const struct sample_np *np,
                   enum sample_case casus)
{
    static const char *const who[] = {"wer", "wen", "wem"};

    switch (np->kind) {
    case NP_NOUN:
        say_full(l, np, casus, false);
        break;
    case NP_PRONOUN:
        sample_line_word(l, sample_morph_pronoun(np->pronoun, np->noun, casus));
        break;
    case NP_WHO:
        sample_line_word(l, who[casus]);
        break;
    case NP_WHAT:
        sample_line_word(l, "was");
        break;
    case NP_RELATIVE:
        sample_line_word(l,
                         sample_morph_relative(np->noun->gender, np->is_plural, casus));
        break;
    case NP_WEATHER:
    case NP_THERE:
        sample_line_word(l, "es");
        break;
    }
    if (np->partner) {
        sample_line_word(l, "und");
        say_np(l, np->partner, casus);
    }
}

static void say_pp(struct sample_line *l, const char *prep, const struct sample_np *np,
                   enum sample_case casus)
{
    const struct sample_det *det = np->kind == NP_NOUN ? article(np, false) : NULL;
    const char *merged = NULL;

    if (det && det->declension == DECLINE_DER && !np->is_plural)
        merged = sample_morph_contract(prep, np->noun->gender, casus);
    if (merged) {
        sample_line_word(l, merged);
        say_noun(l, np, casus, DECLINE_DER);
        return;
    }
    sample_line_word(l, prep);
    say_np(l, np, casus);
}

static void say_prep_object(struct sample_line *l, const struct sample_verb *v,
                            const struct sample_np *np)
{
    say_pp(l, v->de_prep, np, v->is_dative ? CASE_DATIVE : CASE_ACCUSATIVE);
}

static void say_adverbial(struct sample_line *l, const struct sample_adverbial *a)
{
    if (a->phrase)
        sample_line_word(l, a->phrase->de);
    else if (a->prep)
        say_pp(l, a->prep->de, a->np, a->prep->object_case);
}

/* "ein", nothing, "viele", "drei": what is new to the hearer and stands late. */
static bool is_new(const struct sample_np *np)
{
    if (!np || np->kind != NP_NOUN || np->owner || (np->noun->classes & CLASS_PROPER))
        return false;
    return !np->det || np->det->declension == DECLINE_NONE || np->det->is_quantity ||
           strcmp(np->det->de, "ein") == 0;
}

/* What "kein" can negate: "ein Hund", "Hunde", but not "drei Hunde". */
static bool is_indefinite(const struct sample_np *np)
{
    return is_new(np) && !np->number && !(np->det && np->det->is_quantity);
}

static struct roles assign(const struct sample_clause *c)
{
    struct roles r = {.nominative = c->subject, .dative = c->recipient};

    switch (c->verb->frame) {
    case FRAME_LIKE:
        r.nominative = c->object;
        r.dative = c->subject;
        break;
    case FRAME_PREP:
        r.prep_object = c->object;
        break;
    case FRAME_JOB:
        break;
    default:
        if (c->verb->is_dative)
            r.dative = c->object;
        else
            r.accusative = c->object;
    }
    if (c->is_negated && c->verb->frame != FRAME_LIKE && c->verb->frame != FRAME_PREP)
        r.is_kein = is_indefinite(c->object);
    return r;
}

static bool is_pronoun(const struct sample_np *np)
{
    return np->kind == NP_PRONOUN;
}

static void say_object(struct sample_line *l, const struct sample_clause *c,
                       const struct roles *r, const struct sample_np *np,
                       enum sample_case casus)
{
    if (r->is_kein && np == c->object)
        say_full(l, np, casus, true);
    else
        say_np(l, np, casus);
}

static void say_time(struct sample_line *l, const struct sample_clause *c,
                     const struct roles *r)
{
    if (c->tense == TENSE_PROGRESSIVE)
        sample_line_word(l, "gerade");
    if (r->front != FRONT_TIME)
        say_adverbial(l, &c->time);
    if (c->mid && !c->mid->is_late)
        sample_line_word(l, c->mid->de);
}

/* Dative before accusative; "schon", "nie" and the manner stand before what is new to the
 * hearer and behind what is not: "schnell ein Buch", "das Buch schnell". */
static void say_objects(struct sample_line *l, const struct sample_clause *c,
                        const struct roles *r, const struct sample_np *dat,
                        const struct sample_np *acc)
{
    const char *late = c->mid && c->mid->is_late ? c->mid->de
                       : c->manner               ? c->manner->de
                                                 : "";

    if (dat && !acc && is_new(dat)) {
        sample_line_word(l, late);
        late = "";
    }
    if (dat)
        say_object(l, c, r, dat, CASE_DATIVE);
    if (acc && is_new(acc)) {
        sample_line_word(l, late);
        late = "";
    }
    if (acc)
        say_object(l, c, r, acc, CASE_ACCUSATIVE);
    sample_line_word(l, late);
}

static void say_predicate(struct sample_line *l, const struct sample_clause *c,
                          const struct roles *r)
{
    if (c->verb->frame == FRAME_JOB) {
        if (r->is_kein)
            say_full(l, c->object, CASE_NOMINATIVE, true);
        else
            say_noun(l, c->object, CASE_NOMINATIVE, DECLINE_NONE);
    }
    if (!c->predicate)
        return;
    if (c->degree)
        sample_line_word(l, c->degree->de);
    if (c->measure)
        say_np(l, c->measure, CASE_ACCUSATIVE);
    sample_line_word(l, c->predicate->de);
}

/* Subject and pronouns, which open the middle field. */
static void say_opening(struct sample_line *l, const struct sample_clause *c,
                        const struct sample_np *nom, const struct sample_np *acc,
                        const struct sample_np *dat)
{
    /* "gefällt mir das Buch" */
    const bool is_dative_first = c->verb->frame == FRAME_LIKE && dat && nom;

    if (is_dative_first)
        say_np(l, dat, CASE_DATIVE);
    if (nom)
        say_np(l, nom, CASE_NOMINATIVE);
    if (acc)
        say_np(l, acc, CASE_ACCUSATIVE);
    if (dat && !is_dative_first)
        say_np(l, dat, CASE_DATIVE);
}

static const struct sample_np *only(const struct sample_np *np, bool is_wanted)
{
    return is_wanted ? np : NULL;
}

/* The middle field; `front` is what already stands before it. */
static void say_middle(struct sample_line *l, const struct sample_clause *c,
                       const struct roles *r, const struct sample_np *front)
{
    const struct sample_np *nom = only(r->nominative, r->nominative != front);
    const struct sample_np *acc = only(r->accusative, r->accusative != front);
    const struct sample_np *dat = only(r->dative, r->dative != front);
    const bool is_acc_short = acc && is_pronoun(acc),
               is_dat_short = dat && is_pronoun(dat);

    say_opening(l, c, nom, only(acc, is_acc_short), only(dat, is_dat_short));
    say_time(l, c, r);
    say_objects(l, c, r, only(dat, !is_dat_short), only(acc, !is_acc_short));
    if (c->is_negated && !r->is_kein)
        sample_line_word(l, "nicht");
    say_adverbial(l, &c->means);
    if (r->front != FRONT_SPOT)
        say_adverbial(l, &c->spot);
    if (r->prep_object && r->prep_object != front)
        say_prep_object(l, c->verb, r->prep_object);
    say_predicate(l, c, r);
}

/* A question word or relative pronoun, with its preposition; NULL if there is none. */
static const struct sample_np *say_leader(struct sample_line *l,
                                          const struct sample_clause *c,
                                          const struct roles *r)
{
    const struct sample_np *np[] = {r->nominative, r->accusative, r->dative};

    if (c->ask)
        sample_line_word(l, c->ask->de);
    for (enum sample_case casus = CASE_NOMINATIVE; casus <= CASE_DATIVE; casus++)
        if (sample_tree_leads(np[casus])) {
            say_np(l, np[casus], casus);
            return np[casus];
        }
    if (!sample_tree_leads(r->prep_object))
        return NULL;
    say_prep_object(l, c->verb, r->prep_object);
    return r->prep_object;
}

/* What stands before the finite verb of a statement. */
static const struct sample_np *say_front(struct sample_line *l,
                                         const struct sample_clause *c,
                                         const struct roles *r)
{
    switch (r->front) {
    case FRONT_TIME:
        say_adverbial(l, &c->time);
        return NULL;
    case FRONT_SPOT:
        say_adverbial(l, &c->spot);
        return NULL;
    case FRONT_COMMENT:
        sample_line_word(l, c->comment->de);
        return NULL;
    case FRONT_SUBJECT:
        break;
    }
    say_np(l, r->nominative, CASE_NOMINATIVE);
    return r->nominative;
}

static enum sample_person person_of(const struct sample_np *np)
{
    if (np->kind == NP_PRONOUN && !np->partner)
        return np->pronoun->person;
    return sample_tree_plural(np) ? PERSON_PLURAL : PERSON_ER;
}

static void say_complement(struct sample_line *l, const struct sample_clause *c)
{
    sample_line_comma(l);
    if (c->complement_link)
        sample_line_word(l, c->complement_link->de);
    say_clause(l, c->complement, ORDER_LAST);
    sample_line_comma(l);
}

static void say_clause(struct sample_line *l, const struct sample_clause *c,
                       enum sample_order order)
{
    struct roles r = assign(c);
    struct sample_morph_group verb;
    const struct sample_np *front = say_leader(l, c, &r);

    if (c->subject) /* none: "zu" and the infinitive */
        sample_morph_verb(&verb, c->verb, c->modal, c->tense, person_of(r.nominative));
    else
        sample_morph_infinitive(&verb, c->verb);
    if (!front && !c->ask && order == ORDER_SECOND) {
        r.front = c->front;
        front = say_front(l, c, &r);
    }
    if (order != ORDER_LAST)
        sample_line_word(l, verb.finite.text);
    say_middle(l, c, &r, front);
    sample_line_word(l, order == ORDER_LAST ? verb.last.text : verb.rest.text);
    if (c->complement)
        say_complement(l, c);
}

static void say_other(struct sample_line *l, const struct sample_sentence *s)
{
    sample_line_word(l, s->link->de);
    say_clause(l, s->other, s->link->order);
}

void sample_german_say(const struct sample_sentence *s, struct str *out)
{
    struct sample_line l = sample_line_begin(out);

    if (s->is_other_first) {
        say_other(&l, s);
        sample_line_comma(&l);
    }
    say_clause(&l, s->main,
               s->is_other_first || s->is_question ? ORDER_FIRST : ORDER_SECOND);
    if (s->link && !s->is_other_first) {
        if (s->link->has_de_comma)
            sample_line_comma(&l);
        say_other(&l, s);
    }
    sample_line_end(&l, s->is_question ? '?' : '.');
}
