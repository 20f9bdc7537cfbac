#include "sample/sample_draw.h"

#include <string.h>

#include "base/err.h"
#include "sample/sample_chances.h"
#include "sample/sample_clause.h"

static const struct sample_link *draw_link(struct sample_pick *p, bool is_about_it)
{
    unsigned weights[32] = {0};

    BUG_ON(sample_lexicon_links_n > 32);
    for (size_t i = 0; i < sample_lexicon_links_n; i++) {
        const struct sample_link *l = &sample_lexicon_links[i];
        weights[i] = is_about_it && !l->is_about_it ? 0 : l->weight;
    }
    return &sample_lexicon_links[sample_pick_weighted(p, weights,
                                                      sample_lexicon_links_n)];
}

/* "he" or "she" for the man or the woman of the main clause, else somebody new. */
static const struct sample_np *draw_same_person(struct sample_pick *p,
                                                const struct sample_np *first)
{
    if (first->kind != NP_NOUN || first->partner || first->is_plural ||
        !(first->noun->classes & CLASS_PERSON) || first->noun->gender == GENDER_NEUTER ||
        (first->det && first->det->is_quantity) || !sample_pick_chance(p, 50))
        return NULL;
    struct sample_np *np = sample_pick_np(p);
    np->kind = NP_PRONOUN;
    np->pronoun =
        sample_lexicon_pronoun(first->noun->gender == GENDER_MASCULINE ? "he" : "she");
    return np;
}

static const struct sample_clause *draw_weather(struct sample_pick *p, unsigned tenses)
{
    struct sample_clause *c = sample_pick_clause(p);
    struct sample_np *it = sample_pick_np(p);

    it->kind = NP_WEATHER;
    c->subject = it;
    c->verb = sample_pick_verb(p, FRAME_WEATHER, 0, 0);
    c->tense = sample_clause_tense(p, c->verb, tenses);
    return c;
}

/* One of the tenses of the set. */
static unsigned draw_one(struct sample_pick *p, unsigned tenses)
{
    unsigned one;

    do
        one = 1u << sample_pick_below(p, 6);
    while (!(one & tenses));
    return one;
}

static const struct sample_np *draw_it(struct sample_pick *p,
                                       const struct sample_noun *noun)
{
    struct sample_np *np = sample_pick_np(p);

    *np = (struct sample_np){
        .kind = NP_PRONOUN, .pronoun = sample_lexicon_pronoun("it"), .noun = noun};
    return np;
}

/* The man sold the table because it was old: German "it" has the table's gender. */
static void draw_about_it(struct sample_pick *p, struct sample_sentence *s)
{
    struct sample_np *thing =
        sample_pick_noun(p, CLASS_THING | CLASS_VEHICLE | CLASS_SURFACE,
                         LIMIT_SINGULAR | LIMIT_PLAIN | LIMIT_QUANTITY | LIMIT_NO);

    s->link = draw_link(p, true);
    const unsigned tense = draw_one(p, s->link->tenses);
    struct sample_demand d = {.tenses = tense,
                              .frames = FRAME_BIT(OBJECT),
                              .object = thing,
                              .object_classes = thing->noun->classes,
                              .is_short = true,
                              .is_nested = true,
                              .subject_classes = CLASS_PERSON};
    s->main = sample_clause_draw(p, &d);

    struct sample_demand about = {.tenses = tense, .is_short = true, .is_nested = true};
    if (sample_pick_chance(p, 60)) {
        about.frames = FRAME_BIT(BE);
        about.subject = draw_it(p, thing->noun);
        about.subject_classes = thing->noun->classes;
    } else {
        about.frames = FRAME_BIT(OBJECT);
        about.object = draw_it(p, thing->noun);
        about.object_classes = thing->noun->classes;
        about.subject_classes = CLASS_PERSON;
    }
    s->other = sample_clause_draw(p, &about);
}

static void draw_linked(struct sample_pick *p, struct sample_sentence *s)
{
    s->link = draw_link(p, false);
    const unsigned tense =
        s->link->main_tenses ? s->link->tenses : draw_one(p, s->link->tenses);
    const bool is_once = strcmp(s->link->de, "als") == 0;
    struct sample_demand first = {.tenses =
                                      s->link->main_tenses ? s->link->main_tenses : tense,
                                  .is_short = sample_pick_chance(p, 70),
                                  .is_once = is_once};
    struct sample_demand second = {
        .tenses = tense, .is_short = true, .is_nested = true, .is_once = is_once};

    if (tense == TENSE_PLUPERFECT)
        second.frames = FRAME_BIT(ALONE) | FRAME_BIT(OBJECT) | FRAME_BIT(RECIPIENT) |
                        FRAME_BIT(GOAL) | FRAME_BIT(PUT);
    s->main = sample_clause_draw(p, &first);
    second.subject = draw_same_person(p, s->main->subject);
    if (second.subject)
        second.subject_classes = CLASS_PERSON;
    if (s->link->order == ORDER_LAST && tense != TENSE_PLUPERFECT &&
        sample_pick_chance(p, CHANCE_WEATHER))
        s->other = draw_weather(p, tense);
    else
        s->other = sample_clause_draw(p, &second);
    s->is_other_first =
        s->link->is_frontable && sample_pick_chance(p, CHANCE_OTHER_FIRST);
}

/* Whether one can ask the clause this, without talking nonsense. */
static bool is_askable(const struct sample_clause *c, const struct sample_phrase *ask)
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
           !sample_clause_names_place(c->object);
}

/* A question word for an adverb, and the clause without that adverb. */
static bool ask_adverb(struct sample_pick *p, struct sample_clause *c)
{
    const struct sample_phrase *ask = sample_pick_phrase(p, SLOT_ASK, c->tense);
    const struct sample_adverbial none = {0};

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

static struct sample_clause *draw_asking(struct sample_pick *p, struct sample_demand *d)
{
    for (;;) {
        const size_t n_nps = p->n_nps, n_clauses = p->n_clauses;
        struct sample_clause *c = sample_clause_draw(p, d);
        if (ask_adverb(p, c))
            return c;
        p->n_nps = n_nps;
        p->n_clauses = n_clauses;
    }
}

/* That, whether or a question word, after say, know, ask. */
static void draw_complement(struct sample_pick *p, struct sample_sentence *s)
{
    struct sample_demand d = {.is_short = sample_pick_chance(p, 60), .is_nested = true};
    struct sample_clause *c = sample_pick_clause(p);
    const enum sample_frame frame =
        sample_pick_chance(p, 70) ? FRAME_THAT : FRAME_WHETHER;

    c->verb = sample_pick_verb(p, frame, 0, 0);
    const bool is_know = frame == FRAME_THAT && strcmp(c->verb->en.base, "know") == 0;
    c->tense = sample_clause_tense(p, c->verb, TENSE_PRESENT | TENSE_PAST);
    c->is_negated = is_know && sample_pick_chance(p, 60);
    c->subject = sample_pick_subject(p, CLASS_PERSON, LIMIT_QUANTITY | LIMIT_NO);
    s->is_question = is_know && !c->is_negated && sample_pick_chance(p, 60);
    d.tenses =
        c->tense == TENSE_PAST ? TENSE_PAST : TENSE_PRESENT | TENSE_PAST | TENSE_FUTURE;
    const bool is_open = frame == FRAME_WHETHER || c->is_negated || s->is_question;
    if (is_open && sample_pick_chance(p, 50)) {
        d.is_question = true;
        c->complement = draw_asking(p, &d);
    } else {
        c->complement_link = is_open ? sample_lexicon_link("whether", "ob")
                                     : sample_lexicon_link("that", "dass");
        c->complement = sample_clause_draw(p, &d);
    }
    s->main = c;
}

static void draw_infinitive(struct sample_pick *p, struct sample_sentence *s)
{
    struct sample_clause *c = sample_pick_clause(p), *what;
    const struct sample_demand d = {.tenses = TENSE_PRESENT,
                                    .is_short = true,
                                    .is_nested = true,
                                    .is_positive = true,
                                    .frames = FRAME_BIT(ALONE) | FRAME_BIT(OBJECT) |
                                              FRAME_BIT(RECIPIENT) | FRAME_BIT(PREP) |
                                              FRAME_BIT(GOAL) | FRAME_BIT(PUT),
                                    .subject_classes = CLASS_PERSON};

    c->verb = sample_pick_verb(p, FRAME_INFINITIVE, 0, 0);
    c->tense = sample_clause_tense(p, c->verb, SAMPLE_ANY_TENSE);
    c->subject = sample_pick_subject(p, CLASS_PERSON, LIMIT_NO);
    what = sample_clause_draw(p, &d);
    what->subject = NULL;
    what->modal = NULL;
    what->mid = NULL;
    c->complement = what;
    s->main = c;
}

/* who, what, which book, how many books */
static struct sample_np *draw_asked(struct sample_pick *p, unsigned classes, bool is_prep)
{
    struct sample_np *np;

    if (sample_pick_chance(p, 60) ||
        (classes & (CLASS_LANGUAGE | CLASS_MONEY | CLASS_DRINK))) {
        np = sample_pick_np(p);
        np->kind = classes & CLASS_PERSON && (is_prep || sample_pick_chance(p, 50))
                       ? NP_WHO
                       : NP_WHAT;
        if (np->kind == NP_WHO || !is_prep)
            return np;
        p->n_nps--; /* "worauf" is not in the grammar */
    }
    np = sample_pick_noun(p, classes & ~(unsigned)CLASS_TOWN,
                          LIMIT_PLAIN | LIMIT_QUANTITY);
    if (np->noun->classes & (CLASS_PROPER | CLASS_MASS)) {
        *np = (struct sample_np){.kind =
                                     np->noun->classes & CLASS_PERSON ? NP_WHO : NP_WHAT};
        return np;
    }
    np->det = sample_lexicon_det(np->is_plural && sample_pick_chance(p, 50) ? "how many"
                                                                            : "which");
    return np;
}

static void draw_word_question(struct sample_pick *p, struct sample_sentence *s)
{
    struct sample_demand d = {.tenses = SAMPLE_ANY_TENSE,
                              .is_question = true,
                              .is_nested = true,
                              .is_short = sample_pick_chance(p, 50)};
    const unsigned which = (unsigned)sample_pick_below(p, 10);

    s->is_question = true;
    if (which < 5) {
        s->main = draw_asking(p, &d);
        return;
    }
    d.is_positive = true;
    d.frames = FRAME_BIT(OBJECT) | FRAME_BIT(PREP) | FRAME_BIT(RECIPIENT);
    if (which < 7)
        d.frames |= FRAME_BIT(ALONE) | FRAME_BIT(GOAL) | FRAME_BIT(SPOT);
    d.subject_classes = CLASS_PERSON;
    struct sample_clause *c = sample_clause_draw(p, &d);
    if (which < 7)
        c->subject = draw_asked(p, CLASS_PERSON, true);
    else if (c->recipient && which == 7)
        c->recipient = draw_asked(p, CLASS_PERSON, true);
    else
        c->object = draw_asked(p, c->verb->objects,
                               c->verb->frame == FRAME_PREP || c->verb->is_dative);
    if (sample_clause_is_ambiguous(c))
        c->tense = TENSE_PERFECT;
    s->main = c;
}

static void draw_plain(struct sample_pick *p, struct sample_sentence *s, bool is_question)
{
    const struct sample_demand d = {.tenses = SAMPLE_ANY_TENSE,
                                    .is_question = is_question};
    struct sample_clause *c = sample_clause_draw(p, &d);

    if (!is_question)
        sample_clause_front(p, c);
    s->is_question = is_question;
    s->main = c;
}

void sample_draw_sentence(struct sample_pick *p, uint64_t key, struct sample_sentence *s)
{
    static const unsigned weights[] = {CHANCE_LINKED,
                                       CHANCE_COMPLEMENT,
                                       CHANCE_INFINITIVE,
                                       CHANCE_YES_NO,
                                       CHANCE_QUESTION,
                                       100 - CHANCE_LINKED - CHANCE_COMPLEMENT -
                                           CHANCE_INFINITIVE - CHANCE_YES_NO -
                                           CHANCE_QUESTION};

    *s = (struct sample_sentence){0};
    sample_pick_begin(p, key);
    switch (sample_pick_weighted(p, weights, sizeof weights / sizeof *weights)) {
    case 0:
        if (sample_pick_chance(p, CHANCE_IT))
            draw_about_it(p, s);
        else
            draw_linked(p, s);
        break;
    case 1:
        draw_complement(p, s);
        break;
    case 2:
        draw_infinitive(p, s);
        break;
    case 3:
        draw_plain(p, s, true);
        break;
    case 4:
        draw_word_question(p, s);
        break;
    default:
        draw_plain(p, s, false);
    }
}
