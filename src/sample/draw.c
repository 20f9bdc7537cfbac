/* Random sentences: which kinds of clauses, and how they are linked. */
#include <string.h>

#include "sample/chances.h"
#include "sample/clause.h"

/* "he" or "she" for the man or the woman of the main clause, or NULL for somebody new. */
static const struct np *draw_same_person(struct pick *p, const struct np *first)
{
    if (first->kind != NP_NOUN || first->partner || first->is_plural ||
        !(first->noun->classes & CLASS_PERSON) || first->noun->gender == GENDER_NEUTER ||
        (first->det && first->det->is_quantity) || !pick_chance(p, 50))
        return NULL;
    const bool is_he = first->noun->gender == GENDER_MASCULINE;
    return pick_pronoun(p, LEXICON_FIND(pronouns, is_he ? "he" : "she"));
}

static const struct clause *draw_weather(struct pick *p, unsigned tenses)
{
    struct clause *c = pick_clause(p);

    c->subject = pick_np(p, NP_WEATHER);
    c->verb = pick_verb(p, FRAME_WEATHER, 0, 0);
    c->tense = clause_tense(p, c->verb, tenses);
    return c;
}

/* One of the tenses of the set. */
static unsigned draw_one(struct pick *p, unsigned tenses)
{
    unsigned one;

    do
        one = 1u << pick_below(p, 6);
    while (!(one & tenses));
    return one;
}

/* The man sold the table because it was old: German "it" has the table's gender. */
static void draw_about_it(struct pick *p, struct sentence *s)
{
    struct np *thing =
        pick_noun(p, CLASS_THING | CLASS_VEHICLE | CLASS_SURFACE,
                  LIMIT_SINGULAR | LIMIT_PLAIN | LIMIT_QUANTITY | LIMIT_NO);

    s->link = pick_link(p, true);
    struct demand d = {.tenses = draw_one(p, s->link->tenses),
                       .frames = FRAME_BIT(OBJECT),
                       .object = thing,
                       .object_classes = thing->noun->classes,
                       .is_short = true,
                       .is_nested = true,
                       .subject_classes = CLASS_PERSON};
    s->main = clause_draw(p, &d);

    const bool is_subject = pick_chance(p, 60);
    struct np *it = pick_pronoun(p, LEXICON_FIND(pronouns, "it"));
    it->noun = thing->noun;
    d.object = it;
    if (is_subject)
        d = (struct demand){.tenses = d.tenses,
                            .frames = FRAME_BIT(BE),
                            .subject = it,
                            .subject_classes = thing->noun->classes,
                            .is_short = true,
                            .is_nested = true};
    s->other = clause_draw(p, &d);
}

static void draw_linked(struct pick *p, struct sentence *s)
{
    const struct link *link = s->link = pick_link(p, false);
    const unsigned tense = link->main_tenses ? link->tenses : draw_one(p, link->tenses);
    const bool is_once = strcmp(link->de, "als") == 0;
    const struct demand first = {.tenses = link->main_tenses ? link->main_tenses : tense,
                                 .is_short = pick_chance(p, 70),
                                 .is_once = is_once};
    struct demand second = {
        .tenses = tense, .is_short = true, .is_nested = true, .is_once = is_once};

    if (tense == TENSE_PLUPERFECT)
        second.frames = FRAMES_OF_DEEDS & ~FRAME_BIT(PREP);
    s->main = clause_draw(p, &first);
    second.subject = draw_same_person(p, s->main->subject);
    second.subject_classes = second.subject ? CLASS_PERSON : 0;
    if (link->order == ORDER_LAST && tense != TENSE_PLUPERFECT &&
        pick_chance(p, CHANCE_WEATHER))
        s->other = draw_weather(p, tense);
    else
        s->other = clause_draw(p, &second);
    s->is_other_first = link->is_frontable && pick_chance(p, CHANCE_OTHER_FIRST);
}

/* Whether one can ask the clause this, without talking nonsense. */
static bool is_askable(const struct clause *c, const struct phrase *ask)
{
    const unsigned frame = 1u << c->verb->frame;
    const bool is_whither = strcmp(ask->de, "wohin") == 0;

    if (strcmp(ask->en, "why") == 0)
        return !c->measure && !(frame & FRAME_BIT(EXIST));
    if (c->is_negated || (c->verb->is_state && !(frame & FRAME_BIT(SPOT))) ||
        (frame & (FRAME_BIT(EXIST) | FRAME_BIT(JOB) | FRAME_BIT(BE))))
        return false;
    if (strcmp(ask->en, "where") != 0)
        return true;
    if (frame & (FRAME_BIT(RECIPIENT) | FRAME_BIT(PREP) | FRAME_BIT(PUT)))
        return false;
    return is_whither == ((frame & FRAME_BIT(GOAL)) != 0) &&
           !clause_names_place(c->object);
}

/* A question word for an adverb, and the clause without that adverb. */
static bool ask_adverb(struct pick *p, struct clause *c)
{
    const struct phrase *ask = pick_phrase(p, SLOT_ASK, c->tense);
    const struct adverbial none = {0};

    if (!is_askable(c, ask))
        return false;
    if (strcmp(ask->en, "where") == 0)
        c->spot = none;
    if (strcmp(ask->en, "when") == 0)
        c->time = none;
    if (strcmp(ask->en, "why") != 0) {
        c->manner = NULL;
        c->means = none;
    }
    c->ask = ask;
    return true;
}

static struct clause *draw_asking(struct pick *p, const struct demand *d)
{
    for (;;) {
        const size_t n_nps = p->n_nps, n_clauses = p->n_clauses;
        struct clause *c = clause_draw(p, d);
        if (ask_adverb(p, c))
            return c;
        p->n_nps = n_nps;
        p->n_clauses = n_clauses;
    }
}

/* That, whether or a question word, after say, know, ask. */
static void draw_complement(struct pick *p, struct sentence *s)
{
    struct demand d = {.is_short = pick_chance(p, 60), .is_nested = true};
    struct clause *c = pick_clause(p);
    const enum frame frame = pick_chance(p, 70) ? FRAME_THAT : FRAME_WHETHER;

    s->main = c;
    c->verb = pick_verb(p, frame, 0, 0);
    const bool is_know = frame == FRAME_THAT && strcmp(c->verb->en.base, "know") == 0;
    c->tense = clause_tense(p, c->verb, TENSE_PRESENT | TENSE_PAST);
    c->is_negated = is_know && pick_chance(p, 60);
    c->subject = pick_subject(p, CLASS_PERSON, LIMIT_QUANTITY | LIMIT_NO);
    s->is_question = is_know && !c->is_negated && pick_chance(p, 60);
    d.tenses = c->tense == TENSE_PAST ? TENSE_PAST : TENSE_EVER;
    const bool is_open = frame == FRAME_WHETHER || c->is_negated || s->is_question;
    if (is_open && pick_chance(p, 50)) {
        d.is_question = true;
        c->complement = draw_asking(p, &d);
    } else {
        c->complement_link = LEXICON_FIND(links, is_open ? "whether" : "that");
        c->complement = clause_draw(p, &d);
    }
}

static void draw_infinitive(struct pick *p, struct sentence *s)
{
    struct clause *c = pick_clause(p);
    const struct demand d = {.tenses = TENSE_PRESENT,
                             .is_short = true,
                             .is_nested = true,
                             .is_positive = true,
                             .frames = FRAMES_OF_DEEDS,
                             .subject_classes = CLASS_PERSON};

    s->main = c;
    c->verb = pick_verb(p, FRAME_INFINITIVE, 0, 0);
    c->tense = clause_tense(p, c->verb, TENSE_ANY);
    c->subject = pick_subject(p, CLASS_PERSON, LIMIT_NO);
    struct clause *what = clause_draw(p, &d);
    what->subject = NULL;
    what->modal = NULL;
    what->mid = NULL;
    c->complement = what;
}

/* who, what, which book, how many books */
static struct np *draw_asked(struct pick *p, unsigned classes, bool is_prep)
{
    if (pick_chance(p, 60) || (classes & (CLASS_LANGUAGE | CLASS_MONEY | CLASS_DRINK))) {
        const bool is_who = classes & CLASS_PERSON && (is_prep || pick_chance(p, 50));
        if (is_who || !is_prep) /* "worauf" is not in the grammar */
            return pick_np(p, is_who ? NP_WHO : NP_WHAT);
    }
    struct np *np =
        pick_noun(p, classes & ~(unsigned)CLASS_TOWN, LIMIT_PLAIN | LIMIT_QUANTITY);
    if (np->noun->classes & (CLASS_PROPER | CLASS_MASS)) {
        *np = (struct np){.kind = np->noun->classes & CLASS_PERSON ? NP_WHO : NP_WHAT};
        return np;
    }
    np->det = lexicon_det(np->is_plural && pick_chance(p, 50) ? "how many" : "which");
    return np;
}

static void draw_word_question(struct pick *p, struct sentence *s)
{
    struct demand d = {.tenses = TENSE_ANY,
                       .is_question = true,
                       .is_nested = true,
                       .is_short = pick_chance(p, 50)};
    const unsigned which = pick_below(p, 10);

    s->is_question = true;
    if (which < 5) {
        s->main = draw_asking(p, &d);
        return;
    }
    d.is_positive = true;
    d.frames = FRAMES_OF_OBJECTS;
    if (which < 7)
        d.frames |= FRAME_BIT(ALONE) | FRAME_BIT(GOAL) | FRAME_BIT(SPOT);
    d.subject_classes = CLASS_PERSON;
    struct clause *c = clause_draw(p, &d);
    if (which < 7)
        c->subject = draw_asked(p, CLASS_PERSON, true);
    else if (c->recipient && which == 7)
        c->recipient = draw_asked(p, CLASS_PERSON, true);
    else
        c->object = draw_asked(p, c->verb->objects,
                               c->verb->frame == FRAME_PREP || c->verb->is_dative);
    if (clause_is_ambiguous(c))
        c->tense = TENSE_PERFECT;
    s->main = c;
}

static void draw_yes_no(struct pick *p, struct sentence *s)
{
    const struct demand d = {.tenses = TENSE_ANY, .is_question = true};

    s->is_question = true;
    s->main = clause_draw(p, &d);
}

static void draw_statement(struct pick *p, struct sentence *s)
{
    const struct demand d = {.tenses = TENSE_ANY};
    struct clause *c = clause_draw(p, &d);

    clause_front(p, c);
    s->main = c;
}

static void draw_two(struct pick *p, struct sentence *s)
{
    if (pick_chance(p, CHANCE_IT))
        draw_about_it(p, s);
    else
        draw_linked(p, s);
}

void sample_draw(struct pick *p, uint64_t key, struct sentence *s)
{
    static void (*const kinds[])(struct pick *, struct sentence *) = {
        draw_two,    draw_complement,    draw_infinitive,
        draw_yes_no, draw_word_question, draw_statement};
    static const unsigned weights[] = {CHANCE_LINKED,     CHANCE_COMPLEMENT,
                                       CHANCE_INFINITIVE, CHANCE_YES_NO,
                                       CHANCE_QUESTION,   CHANCE_STATEMENT};

    *s = (struct sentence){0};
    pick_begin(p, key);
    kinds[pick_weighted(p, weights, sizeof weights / sizeof *weights)](p, s);
}
