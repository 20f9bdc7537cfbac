#include "sample/sample_english.h"

#include <stdio.h>
#include <string.h>

#include "sample/sample_line.h"

#define NO_WORD ((struct sample_english_word){""})

static void join3(struct sample_english_word *w, const char *a, const char *b,
                  const char *c)
{
    const int n = snprintf(w->text, sizeof w->text, "%s%s%s", a, b, c);
    BUG_ON(n < 0 || (size_t)n >= sizeof w->text);
}

static void join(struct sample_english_word *w, const char *a, const char *b)
{
    join3(w, a, b, "");
}

static bool ends_with(const char *word, const char *end)
{
    const size_t n = strlen(word), m = strlen(end);

    return n >= m && strcmp(word + n - m, end) == 0;
}

static bool is_vowel(char c)
{
    return c && strchr("aeiou", c) != NULL;
}

/* carry, story; but not play */
static bool ends_in_y(const char *word)
{
    const size_t n = strlen(word);

    return n > 1 && word[n - 1] == 'y' && !is_vowel(word[n - 2]);
}

/* The word without its last n letters, then the ending. */
static void replace_end(struct sample_english_word *w, const char *word, size_t n,
                        const char *ending)
{
    const int keep = (int)(strlen(word) - n);
    const int got = snprintf(w->text, sizeof w->text, "%.*s%s", keep, word, ending);
    BUG_ON(got < 0 || (size_t)got >= sizeof w->text);
}

/* -s of nouns and verbs */
static void add_s(struct sample_english_word *w, const char *word)
{
    static const char *const hissing[] = {"s", "x", "ch", "sh"};

    for (size_t i = 0; i < sizeof hissing / sizeof *hissing; i++)
        if (ends_with(word, hissing[i])) {
            join(w, word, "es");
            return;
        }
    if (ends_in_y(word))
        replace_end(w, word, 1, "ies");
    else if (strcmp(word, "go") == 0 || ends_with(word, "ato"))
        join(w, word, "es"); /* goes, potatoes; but radios, euros */
    else
        join(w, word, "s");
}

static void add_ed(struct sample_english_word *w, const char *word)
{
    if (ends_in_y(word))
        replace_end(w, word, 1, "ied");
    else
        join(w, word, ends_with(word, "e") ? "d" : "ed");
}

static void add_ing(struct sample_english_word *w, const char *word)
{
    if (ends_with(word, "e") && !ends_with(word, "ee"))
        replace_end(w, word, 1, "ing");
    else
        join(w, word, "ing");
}

void sample_english_verb(struct sample_english_word *w, const struct sample_verb *v,
                         enum sample_english_form form)
{
    const char *given[] = {v->en.base, NULL, v->en.past, v->en.participle, v->en.ing};

    if (strcmp(v->en.base, "have") == 0)
        given[FORM_THIRD] = "has";
    if (given[form])
        join(w, given[form], "");
    else if (form == FORM_THIRD)
        add_s(w, v->en.base);
    else if (form == FORM_ING)
        add_ing(w, v->en.base);
    else
        add_ed(w, v->en.base);
}

void sample_english_noun(struct sample_english_word *w, const struct sample_noun *n,
                         bool is_plural)
{
    if (!is_plural)
        join(w, n->en, "");
    else if (n->en_plural)
        join(w, n->en_plural, "");
    else
        add_s(w, n->en);
}

void sample_english_number(struct sample_english_word *w, unsigned n)
{
    static const char *const small[] = {
        "",         "one",     "two",     "three",     "four",     "five",    "six",
        "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
        "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
    static const char *const tens[] = {"",      "",      "twenty",  "thirty", "forty",
                                       "fifty", "sixty", "seventy", "eighty", "ninety"};
    struct sample_english_word rest = NO_WORD;

    BUG_ON(n == 0 || n > 999);
    if (n < 20) {
        join(w, small[n], "");
    } else if (n < 100) {
        join3(w, tens[n / 10], n % 10 ? "-" : "", small[n % 10]);
    } else {
        if (n % 100)
            sample_english_number(&rest, n % 100);
        join3(w, small[n / 100], n % 100 ? " hundred and " : " hundred", rest.text);
    }
}

static void say_clause(struct sample_line *l, const struct sample_clause *c,
                       bool is_question);
static void say_np(struct sample_line *l, const struct sample_np *np, bool is_object);

/* The word that will follow the determiner decides between a and an. */
static const char *a_or_an(const struct sample_np *np)
{
    const char *next = np->adjective ? np->adjective->en : np->noun->en;

    return is_vowel(next[0]) && strncmp(next, "uni", 3) != 0 &&
                   strncmp(next, "eur", 3) != 0
               ? "an"
               : "a";
}

/* "my father's", "whose" */
static void say_owner(struct sample_line *l, const struct sample_np *owner)
{
    if (owner->kind == NP_RELATIVE) {
        sample_line_word(l, "whose");
        return;
    }
    say_np(l, owner, false);
    str_puts(l->out, "'s");
}

/* `is_any`: "does not buy any books" */
static void say_det(struct sample_line *l, const struct sample_np *np, bool is_any)
{
    const char *text = NULL;

    if (np->owner) {
        say_owner(l, np->owner);
        return;
    }
    if (np->det)
        text = np->is_plural ? np->det->en_plural : np->det->en;
    if (text && strcmp(text, "a") == 0)
        text = a_or_an(np);
    if ((!text || !*text) && is_any &&
        !(np->noun->classes & (CLASS_LANGUAGE | CLASS_PROPER)))
        text = "any";
    if (text)
        sample_line_word(l, text);
}

static void say_full(struct sample_line *l, const struct sample_np *np, bool is_any)
{
    struct sample_english_word word;

    say_det(l, np, is_any && !np->number);
    if (np->number) {
        sample_english_number(&word, np->number);
        sample_line_word(l, word.text);
    }
    if (np->adjective)
        sample_line_word(l, np->adjective->en);
    sample_english_noun(&word, np->noun, np->is_plural);
    sample_line_word(l, word.text);
    if (np->relative)
        say_clause(l, np->relative, false);
}

static void say_np(struct sample_line *l, const struct sample_np *np, bool is_object)
{
    switch (np->kind) {
    case NP_NOUN:
        say_full(l, np, false);
        break;
    case NP_PRONOUN:
        sample_line_word(l, is_object ? np->pronoun->en_object : np->pronoun->en);
        break;
    case NP_WHO:
        sample_line_word(l, "who");
        break;
    case NP_WHAT:
        sample_line_word(l, "what");
        break;
    case NP_RELATIVE:
        sample_line_word(l, np->noun->classes & CLASS_PERSON ? "who" : "that");
        break;
    case NP_WEATHER:
        sample_line_word(l, "it");
        break;
    case NP_THERE:
        sample_line_word(l, "there");
        break;
    }
    if (np->partner) {
        sample_line_word(l, "and");
        say_np(l, np->partner, is_object);
    }
}

static void say_adverbial(struct sample_line *l, const struct sample_adverbial *a)
{
    if (a->phrase) {
        sample_line_word(l, a->phrase->en);
    } else if (a->prep) {
        if (!a->prep->is_after)
            sample_line_word(l, a->prep->en);
        say_np(l, a->np, true);
        if (a->prep->is_after)
            sample_line_word(l, a->prep->en);
    }
}

/* The verb of a clause: what changes places with the subject in a question, and the
 * rest. "does" + "see"; "" + "sees"; "is" + "". */
struct group {
    const char *aux;
    struct sample_english_word verb;
};

/* English persons: the German ones, except that "you" takes the plural's forms. */
static enum sample_person person_of(const struct sample_clause *c)
{
    const struct sample_np *np = c->subject->kind == NP_THERE ? c->object : c->subject;

    if (sample_tree_plural(np))
        return PERSON_PLURAL;
    if (np->kind != NP_PRONOUN)
        return PERSON_ER;
    return np->pronoun->person == PERSON_DU ? PERSON_PLURAL : np->pronoun->person;
}

static const char *be(enum sample_tense tense, enum sample_person person)
{
    if (tense == TENSE_PAST)
        return person == PERSON_PLURAL ? "were" : "was";
    return person == PERSON_ICH ? "am" : person == PERSON_ER ? "is" : "are";
}

static struct group modal_group(const struct sample_clause *c, enum sample_person person,
                                bool needs_aux)
{
    const struct sample_modal *m = c->modal;
    const bool is_past = c->tense == TENSE_PAST;
    const char *form = is_past               ? m->en_past
                       : person == PERSON_ER ? m->en_third
                                             : m->en_present;
    struct group g = {.aux = ""};
    struct sample_english_word lead = NO_WORD;

    if (m->en_lead)
        join(&lead, m->en_lead, " ");
    if (!m->is_lexical) {
        g.aux = form;
        join(&g.verb, lead.text, c->verb->en.base);
    } else if (needs_aux) {
        g.aux = is_past ? "did" : person == PERSON_ER ? "does" : "do";
        join3(&g.verb, m->en_present, " to ", c->verb->en.base);
    } else {
        join3(&g.verb, form, " to ", c->verb->en.base);
    }
    return g;
}

/* The simple present and past, which need "do" to negate and to ask. */
static struct group simple_group(const struct sample_clause *c, enum sample_person person,
                                 bool needs_aux)
{
    const bool is_past = c->tense == TENSE_PAST, is_third = person == PERSON_ER;
    struct group g = {.aux = ""};

    if (strcmp(c->verb->en.base, "be") == 0) {
        g.aux = be(c->tense, person);
    } else if (needs_aux) {
        g.aux = is_past ? "did" : is_third ? "does" : "do";
        sample_english_verb(&g.verb, c->verb, FORM_BASE);
    } else {
        sample_english_verb(&g.verb, c->verb,
                            is_past    ? FORM_PAST
                            : is_third ? FORM_THIRD
                                       : FORM_BASE);
    }
    return g;
}

static struct group verb_group(const struct sample_clause *c, bool needs_aux)
{
    const enum sample_person person = person_of(c);
    struct group g = {.aux = ""};

    if (c->modal)
        return modal_group(c, person, needs_aux);
    switch (c->tense) {
    case TENSE_PRESENT:
    case TENSE_PAST:
        return simple_group(c, person, needs_aux);
    case TENSE_PROGRESSIVE:
        g.aux = be(TENSE_PRESENT, person);
        sample_english_verb(&g.verb, c->verb, FORM_ING);
        break;
    case TENSE_PERFECT:
        g.aux = person == PERSON_ER ? "has" : "have";
        sample_english_verb(&g.verb, c->verb, FORM_PARTICIPLE);
        break;
    case TENSE_PLUPERFECT:
        g.aux = "had";
        sample_english_verb(&g.verb, c->verb, FORM_PARTICIPLE);
        break;
    case TENSE_FUTURE:
        g.aux = "will";
        sample_english_verb(&g.verb, c->verb, FORM_BASE);
        break;
    }
    return g;
}

/* The object with its "and"; negation turns "books" into "any books". */
static void say_one_object(struct sample_line *l, const struct sample_np *object,
                           bool is_negated)
{
    if (object->kind != NP_NOUN) {
        say_np(l, object, true);
        return;
    }
    say_full(l, object, is_negated);
    if (object->partner) {
        sample_line_word(l, "and");
        say_np(l, object->partner, true);
    }
}

/* "picks him up", "picks up the man", "looks for him"; NULL: it stands in front */
static void say_object(struct sample_line *l, const struct sample_verb *v,
                       const struct sample_np *object, bool is_negated)
{
    const bool is_late = v->particle && object && object->kind == NP_PRONOUN;

    if (v->particle && !is_late)
        sample_line_word(l, v->particle);
    if (v->en_prep)
        sample_line_word(l, v->en_prep);
    if (object)
        say_one_object(l, object, is_negated);
    if (is_late)
        sample_line_word(l, v->particle);
}

static void say_objects(struct sample_line *l, const struct sample_clause *c,
                        const struct sample_np *front)
{
    const struct sample_np *object = c->object == front ? NULL : c->object;
    const struct sample_np *recipient = c->recipient == front ? NULL : c->recipient;
    /* "gives it to him": a pronoun never follows another object; "who ... to?" */
    const bool is_to = c->recipient && (c->verb->is_to || !recipient || !object ||
                                        object->kind == NP_PRONOUN);

    if (recipient && !is_to)
        say_np(l, recipient, true);
    say_object(l, c->verb, object, c->is_negated);
    if (is_to)
        sample_line_word(l, "to");
    if (recipient && is_to)
        say_np(l, recipient, true);
}

static void say_predicate(struct sample_line *l, const struct sample_clause *c)
{
    if (!c->predicate)
        return;
    if (c->degree)
        sample_line_word(l, c->degree->en);
    if (c->measure)
        say_np(l, c->measure, true);
    sample_line_word(l, c->predicate->en);
}

/* Everything behind the verb. */
static void say_tail(struct sample_line *l, const struct sample_clause *c,
                     const struct sample_np *front, enum sample_front place)
{
    say_objects(l, c, front);
    say_predicate(l, c);
    if (c->manner)
        sample_line_word(l, c->manner->en);
    if (place != FRONT_SPOT)
        say_adverbial(l, &c->spot);
    say_adverbial(l, &c->means);
    if (place != FRONT_TIME)
        say_adverbial(l, &c->time);
}

static void say_complement(struct sample_line *l, const struct sample_clause *c)
{
    if (!c->complement)
        return;
    if (c->complement_link)
        sample_line_word(l, c->complement_link->en);
    say_clause(l, c->complement, false);
}

/* Question word or relative pronoun. */
static const struct sample_np *say_leader(struct sample_line *l,
                                          const struct sample_clause *c)
{
    const struct sample_np *np[] = {c->subject, c->object, c->recipient};

    if (c->ask)
        sample_line_word(l, c->ask->en);
    for (size_t i = 0; i < 3; i++)
        if (sample_tree_leads(np[i])) {
            say_np(l, np[i], i > 0);
            return np[i];
        }
    return NULL;
}

static enum sample_front say_front(struct sample_line *l, const struct sample_clause *c)
{
    switch (c->front) {
    case FRONT_TIME:
        say_adverbial(l, &c->time);
        break;
    case FRONT_SPOT:
        say_adverbial(l, &c->spot);
        break;
    case FRONT_COMMENT:
        sample_line_word(l, c->comment->en);
        break;
    case FRONT_SUBJECT:
        break;
    }
    return c->front;
}

/* "cannot", but "can we not" */
static void say_not(struct sample_line *l, const char *aux, bool is_inverted)
{
    if (!is_inverted && strcmp(aux, "can") == 0)
        str_puts(l->out, "not");
    else
        sample_line_word(l, "not");
}

static void say_clause(struct sample_line *l, const struct sample_clause *c,
                       bool is_question)
{
    const struct sample_np *leader = say_leader(l, c);
    const enum sample_front place = leader || c->ask ? FRONT_SUBJECT : say_front(l, c);

    if (!c->subject) {
        sample_line_word(l, "to");
        sample_line_word(l, c->verb->en.base);
    } else {
        const bool is_inverted = is_question && leader != c->subject;
        const struct group g = verb_group(c, is_inverted || c->is_negated);
        if (is_inverted)
            sample_line_word(l, g.aux);
        if (leader != c->subject)
            say_np(l, c->subject, false);
        if (!is_inverted)
            sample_line_word(l, g.aux);
        if (c->is_negated)
            say_not(l, g.aux, is_inverted);
        if (c->mid)
            sample_line_word(l, c->mid->en);
        sample_line_word(l, g.verb.text);
    }
    say_tail(l, c, leader, place);
    say_complement(l, c);
}

static void say_other(struct sample_line *l, const struct sample_sentence *s)
{
    sample_line_word(l, s->link->en);
    say_clause(l, s->other, false);
}

void sample_english_say(const struct sample_sentence *s, struct str *out)
{
    struct sample_line l = sample_line_begin(out);

    if (s->is_other_first) {
        say_other(&l, s);
        sample_line_comma(&l);
    }
    say_clause(&l, s->main, s->is_question);
    if (s->link && !s->is_other_first) {
        if (s->link->has_en_comma)
            sample_line_comma(&l);
        say_other(&l, s);
    }
    sample_line_end(&l, s->is_question ? '?' : '.');
}
