/*
 * The English of a tree.
 *
 * Subject, auxiliary, not, adverb, verb, objects, manner, place, means, time; with
 * do-support, a/an and third person -s.
 */
#include <string.h>

#include "sample/inflect.h"
#include "sample/say.h"

static void say_clause(struct say *l, const struct clause *c, enum order order);
static void say_np(struct say *l, const struct np *np, enum casus casus);

/* The word that will follow the determiner decides between a and an. */
static const char *a_or_an(const struct np *np)
{
    const char *next = np->adjective ? np->adjective->en : np->noun->en;
    const bool is_vowel = strchr("aeiou", next[0]) && strncmp(next, "uni", 3) != 0 &&
                          strncmp(next, "eur", 3) != 0;

    return is_vowel ? "an" : "a";
}

/* "my father's", "whose" */
static void say_owner(struct say *l, const struct np *owner)
{
    if (owner->kind == NP_RELATIVE) {
        say_word(l, "whose");
        return;
    }
    say_np(l, owner, CASE_NOMINATIVE);
    str_puts(l->out, "'s");
}

/* `is_any`: "does not buy any books" */
static void say_det(struct say *l, const struct np *np, bool is_any)
{
    const char *text = np->det ? np->is_plural ? np->det->en_plural : np->det->en : "";

    if (np->owner)
        say_owner(l, np->owner);
    else if (text && *text)
        say_word(l, strcmp(text, "a") == 0 ? a_or_an(np) : text);
    else if (is_any && !(np->noun->classes & (CLASS_LANGUAGE | CLASS_PROPER)))
        say_word(l, "any");
}

static void say_noun(struct say *l, const struct np *np, bool is_any)
{
    say_det(l, np, is_any && !np->number);
    if (np->number)
        say_word(l, inflect_en_number(np->number).text);
    if (np->adjective)
        say_word(l, np->adjective->en);
    say_word(l, inflect_en_noun(np->noun, np->is_plural).text);
    if (np->relative)
        say_clause(l, np->relative, ORDER_LAST);
}

/* The phrase with its "and"; negation turns "books" into "any books". */
static void say_full(struct say *l, const struct np *np, enum casus casus, bool is_any)
{
    static const char *const words[] = {
        [NP_WHO] = "who", [NP_WHAT] = "what", [NP_WEATHER] = "it", [NP_THERE] = "there"};

    if (np->kind == NP_NOUN)
        say_noun(l, np, is_any);
    else if (np->kind == NP_PRONOUN)
        say_word(l, casus == CASE_NOMINATIVE ? np->pronoun->en : np->pronoun->en_object);
    else if (np->kind == NP_RELATIVE)
        say_word(l, np->noun->classes & CLASS_PERSON ? "who" : "that");
    else
        say_word(l, words[np->kind]);
    if (np->partner) {
        say_word(l, "and");
        say_np(l, np->partner, casus);
    }
}

static void say_np(struct say *l, const struct np *np, enum casus casus)
{
    say_full(l, np, casus, false);
}

static void say_pp(struct say *l, const struct prep *prep, const struct np *np)
{
    if (!prep->is_after)
        say_word(l, prep->en);
    say_np(l, np, prep->object_case);
    if (prep->is_after)
        say_word(l, prep->en);
}

/* The verb of a clause: what changes places with the subject in a question, and the
 * rest. "does" + "see"; "" + "sees"; "is" + "". */
struct group {
    const char *aux;
    struct word verb;
};

/* English persons: the German ones, except that "you" takes the plural's forms. */
static enum person person_of(const struct clause *c)
{
    const struct np *np = c->subject->kind == NP_THERE ? c->object : c->subject;
    const enum person person = tree_person(np);

    return person == PERSON_DU ? PERSON_PLURAL : person;
}

enum { BE_PRESENT, BE_PAST, DO_PRESENT, DO_PAST, HAVE };
static const char *const auxiliaries[][4] = {
    [BE_PRESENT] = {"am", "are", "is", "are"}, [BE_PAST] = {"was", "were", "was", "were"},
    [DO_PRESENT] = {"do", "do", "does", "do"}, [DO_PAST] = {"did", "did", "did", "did"},
    [HAVE] = {"have", "have", "has", "have"},
};

static struct group modal_group(const struct clause *c, enum person person, bool needs_do)
{
    const struct modal *m = c->modal;
    const bool is_past = c->tense == TENSE_PAST;
    const char *form = is_past ? m->en_past : person == PERSON_ER ? m->en_third : m->en;
    const struct word lead = inflect_join(m->en_lead ? m->en_lead : "",
                                          m->en_lead ? " " : "", c->verb->en.base);

    if (!m->is_lexical)
        return (struct group){form, lead};
    if (needs_do)
        return (struct group){auxiliaries[DO_PRESENT + is_past][person],
                              inflect_join(m->en, " ", lead.text)};
    return (struct group){"", inflect_join(form, " ", lead.text)};
}

/* The simple present and past, which need "do" to negate and to ask. */
static struct group simple_group(const struct clause *c, enum person person,
                                 bool needs_do)
{
    const bool is_past = c->tense == TENSE_PAST;

    if (strcmp(c->verb->en.base, "be") == 0)
        return (struct group){.aux = auxiliaries[BE_PRESENT + is_past][person]};
    if (needs_do)
        return (struct group){auxiliaries[DO_PRESENT + is_past][person],
                              inflect_en_verb(c->verb, FORM_BASE)};
    return (struct group){"",
                          inflect_en_verb(c->verb, is_past               ? FORM_PAST
                                                   : person == PERSON_ER ? FORM_THIRD
                                                                         : FORM_BASE)};
}

static struct group verb_group(const struct clause *c, bool needs_do)
{
    const enum person person = person_of(c);

    if (c->modal)
        return modal_group(c, person, needs_do);
    switch (c->tense) {
    case TENSE_PROGRESSIVE:
        return (struct group){auxiliaries[BE_PRESENT][person],
                              inflect_en_verb(c->verb, FORM_ING)};
    case TENSE_PERFECT:
        return (struct group){auxiliaries[HAVE][person],
                              inflect_en_verb(c->verb, FORM_PARTICIPLE)};
    case TENSE_PLUPERFECT:
        return (struct group){"had", inflect_en_verb(c->verb, FORM_PARTICIPLE)};
    case TENSE_FUTURE:
        return (struct group){"will", inflect_en_verb(c->verb, FORM_BASE)};
    case TENSE_PRESENT:
    case TENSE_PAST:
        break;
    }
    return simple_group(c, person, needs_do);
}

/* "picks him up", "picks up the man", "looks for him"; NULL: it stands in front */
static void say_object(struct say *l, const struct verb *v, const struct np *object,
                       bool is_negated)
{
    const bool is_late = v->particle && object && object->kind == NP_PRONOUN;

    if (!is_late)
        say_word(l, v->particle);
    say_word(l, v->en_prep);
    if (object)
        say_full(l, object, CASE_ACCUSATIVE, is_negated);
    if (is_late)
        say_word(l, v->particle);
}

static void say_objects(struct say *l, const struct clause *c, const struct np *front)
{
    const struct np *object = c->object == front ? NULL : c->object;
    const struct np *recipient = c->recipient == front ? NULL : c->recipient;
    /* "gives it to him": a pronoun never follows another object; "who ... to?" */
    const bool is_to = c->recipient && (c->verb->is_to || !recipient || !object ||
                                        object->kind == NP_PRONOUN);

    if (recipient && !is_to)
        say_np(l, recipient, CASE_DATIVE);
    say_object(l, c->verb, object, c->is_negated);
    say_word(l, is_to ? "to" : "");
    if (recipient && is_to)
        say_np(l, recipient, CASE_DATIVE);
}

/* Question word or relative pronoun. */
static const struct np *say_leader(struct say *l, const struct clause *c)
{
    const struct np *np[] = {c->subject, c->object, c->recipient};

    say_phrase(l, c->ask);
    for (size_t i = 0; i < 3; i++)
        if (tree_leads(np[i])) {
            say_np(l, np[i], i > 0 ? CASE_ACCUSATIVE : CASE_NOMINATIVE);
            return np[i];
        }
    return NULL;
}

/* Subject and verb, "cannot" as one word; but "can we not". */
static void say_core(struct say *l, const struct clause *c, bool is_inverted, bool is_led)
{
    const struct group g = verb_group(c, is_inverted || c->is_negated);

    if (is_inverted)
        say_word(l, g.aux);
    if (!is_led)
        say_np(l, c->subject, CASE_NOMINATIVE);
    if (!is_inverted)
        say_word(l, g.aux);
    if (c->is_negated && !is_inverted && strcmp(g.aux, "can") == 0)
        str_puts(l->out, "not");
    else if (c->is_negated)
        say_word(l, "not");
    say_phrase(l, c->mid);
    say_word(l, g.verb.text);
}

static void say_clause(struct say *l, const struct clause *c, enum order order)
{
    const struct np *leader = say_leader(l, c);
    const bool has_front = !leader && !c->ask, is_led = leader && leader == c->subject;

    if (has_front)
        say_front(l, c);
    if (c->subject) {
        say_core(l, c, order == ORDER_QUESTION && !is_led, is_led);
    } else {
        say_word(l, "to");
        say_word(l, c->verb->en.base);
    }
    say_objects(l, c, leader);
    say_predicate(l, c);
    say_phrase(l, c->manner);
    if (!has_front || c->front != FRONT_SPOT)
        say_adverbial(l, &c->spot);
    say_adverbial(l, &c->means);
    if (!has_front || c->front != FRONT_TIME)
        say_adverbial(l, &c->time);
    say_complement(l, c);
}

const struct language sample_english = {SIDE_EN, say_clause, say_np, say_pp};
