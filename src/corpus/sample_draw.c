#include "corpus/sample_draw.h"

#include <string.h>

#include "base/err.h"
#include "corpus/sample_chances.h"

/* What the surroundings of a clause demand of it. */
struct demand {
    unsigned tenses;
    unsigned frames;                 /* bits; 0: any */
    const struct sample_np *subject; /* given; NULL: draw one */
    const struct sample_np *object;  /* given, with its classes below */
    unsigned subject_classes, object_classes;
    bool is_positive;
    bool is_short;    /* no times and places beside what the verb needs */
    bool is_question; /* nothing in front, no "never" */
    bool is_nested;   /* no relative clauses */
};

#define ANY_TENSE \
    (TENSE_PRESENT | TENSE_PROGRESSIVE | TENSE_PAST | TENSE_PERFECT | TENSE_FUTURE)
#define LIVING (CLASS_PERSON | CLASS_ANIMAL)

static unsigned bit(enum sample_frame frame)
{
    return 1u << frame;
}

static const unsigned frame_weights[N_FRAMES] = {[FRAME_ALONE] = WEIGHT_ALONE,
                                                 [FRAME_OBJECT] = WEIGHT_OBJECT,
                                                 [FRAME_RECIPIENT] = WEIGHT_RECIPIENT,
                                                 [FRAME_PREP] = WEIGHT_PREP,
                                                 [FRAME_GOAL] = WEIGHT_GOAL,
                                                 [FRAME_SPOT] = WEIGHT_AT,
                                                 [FRAME_PUT] = WEIGHT_PUT,
                                                 [FRAME_LIKE] = WEIGHT_LIKE,
                                                 [FRAME_BE] = WEIGHT_BE,
                                                 [FRAME_JOB] = WEIGHT_JOB,
                                                 [FRAME_EXIST] = WEIGHT_EXIST};

static const struct sample_verb *draw_verb(struct sample_pick *p, const struct demand *d)
{
    unsigned weights[N_FRAMES];
    const struct sample_verb *v;

    for (size_t i = 0; i < N_FRAMES; i++)
        weights[i] = !d->frames || (d->frames & 1u << i) ? frame_weights[i] : 0;
    do { /* some frames have no verb for a given noun; FRAME_BE has one for most */
        const size_t frame = sample_pick_weighted(p, weights, N_FRAMES);
        v = sample_pick_verb(p, (enum sample_frame)frame, d->subject_classes,
                             d->object_classes);
        if (!v)
            weights[frame] = 0;
    } while (!v);
    return v;
}

/* "They read it", "I put it on" could be either tense; so could "the shoes cost". */
static bool is_ambiguous(const struct sample_clause *c)
{
    const bool is_same =
        c->verb->en.past && strcmp(c->verb->en.past, c->verb->en.base) == 0;

    return is_same && !c->modal && c->subject &&
           (c->subject->kind == NP_PRONOUN ? c->subject->pronoun->person != PERSON_ER
                                           : sample_tree_plural(c->subject)) &&
           (c->tense == TENSE_PRESENT || c->tense == TENSE_PAST);
}

static bool is_modal_fit(const struct sample_clause *c)
{
    const unsigned frames =
        bit(FRAME_LIKE) | bit(FRAME_BE) | bit(FRAME_JOB) | bit(FRAME_EXIST);

    return !(frames & bit(c->verb->frame)) && (c->verb->subjects & LIVING);
}

static enum sample_tense draw_tense(struct sample_pick *p, const struct sample_verb *v,
                                    unsigned tenses)
{
    static const enum sample_tense tense[] = {TENSE_PRESENT, TENSE_PROGRESSIVE,
                                              TENSE_PAST, TENSE_PERFECT, TENSE_FUTURE};
    unsigned weights[] = {WEIGHT_PRESENT, WEIGHT_PROGRESSIVE, WEIGHT_PAST, WEIGHT_PERFECT,
                          WEIGHT_FUTURE};

    if (tenses == TENSE_PLUPERFECT)
        return TENSE_PLUPERFECT;
    if (v->is_state || v->frame == FRAME_WEATHER)
        weights[1] = 0;
    if (v->de.preterite) /* be, have: the past is war, hatte */
        weights[3] = 0;
    for (size_t i = 0; i < 5; i++)
        if (!(tense[i] & tenses))
            weights[i] = 0;
    return tense[sample_pick_weighted(p, weights, 5)];
}

static void draw_time_of_verb(struct sample_pick *p, struct sample_clause *c,
                              const struct demand *d)
{
    c->tense = draw_tense(p, c->verb, d->tenses);
    c->is_negated = !d->is_positive && c->tense != TENSE_PROGRESSIVE &&
                    sample_pick_chance(p, CHANCE_NEGATED);
    if (!is_modal_fit(c) || !(c->tense == TENSE_PRESENT || c->tense == TENSE_PAST) ||
        !sample_pick_chance(p, CHANCE_MODAL))
        return;
    const struct sample_modal *m =
        &sample_lexicon_modals[sample_pick_below(p, sample_lexicon_modals_n)];
    if ((c->tense == TENSE_PAST && !m->en_past) || (c->is_negated && !m->is_negatable))
        return;
    c->modal = m;
}

static void set_pp(struct sample_pick *p, struct sample_adverbial *a,
                   enum sample_prep_use use, const struct sample_np *np)
{
    a->prep = sample_pick_prep(p, use);
    a->np = np;
}

enum { PLACE_LIMITS = LIMIT_QUANTITY | LIMIT_NO | LIMIT_DEFINITE };

/* in the garden, behind the house, in Berlin, on the table */
static void draw_spot(struct sample_pick *p, struct sample_clause *c, unsigned classes)
{
    const struct sample_np *np = sample_pick_noun(p, classes, PLACE_LIMITS);

    if (np->noun->classes & CLASS_TOWN)
        set_pp(p, &c->spot, USE_SPOT_TOWN, np);
    else if (np->noun->classes & CLASS_SURFACE)
        set_pp(p, &c->spot, USE_SPOT_ON, np);
    else if (sample_pick_chance(p, 75))
        set_pp(p, &c->spot, USE_SPOT_IN, np);
    else
        set_pp(p, &c->spot, USE_SPOT_NEAR, np);
}

static void draw_goal(struct sample_pick *p, struct sample_clause *c, unsigned classes)
{
    const struct sample_np *np = sample_pick_noun(p, classes, PLACE_LIMITS);

    if (np->noun->classes & CLASS_TOWN)
        set_pp(p, &c->spot, USE_GOAL_TOWN, np);
    else if (np->noun->classes & (CLASS_PERSON | CLASS_STOP))
        set_pp(p, &c->spot, USE_GOAL_TO, np);
    else
        set_pp(p, &c->spot, USE_GOAL_IN, np);
}

static void draw_predicate(struct sample_pick *p, struct sample_clause *c)
{
    const struct sample_np *s = c->subject;
    const unsigned classes = s->kind == NP_PRONOUN && !s->noun ? CLASS_PERSON
                             : s->kind == NP_WHO               ? CLASS_PERSON
                                                               : s->noun->classes;

    if ((classes & CLASS_PERSON) && !c->is_negated && sample_pick_chance(p, CHANCE_AGE)) {
        struct sample_np *years = sample_pick_counted(p, CLASS_PERIOD, 99);
        years->noun = sample_lexicon_noun("year");
        c->measure = years;
        c->predicate = sample_lexicon_adjective("old");
        return;
    }
    c->predicate = sample_pick_adjective(p, classes);
    BUG_ON(!c->predicate);
    if (sample_pick_chance(p, CHANCE_DEGREE))
        c->degree = sample_pick_phrase(p, SLOT_DEGREE, c->tense);
}

/* There is a dog, there are no dogs. */
static const struct sample_np *draw_existing(struct sample_pick *p, unsigned classes)
{
    struct sample_np *np = sample_pick_noun(p, classes & ~(unsigned)CLASS_PERSON,
                                            LIMIT_PLAIN | LIMIT_QUANTITY);

    if (!np->number && !(np->noun->classes & CLASS_MASS)) {
        const char *one[] = {"a", "no"}, *several[] = {"many", "no", "few", "some"};
        np->det = np->is_plural ? sample_lexicon_det(several[sample_pick_below(p, 4)])
                                : sample_lexicon_det(one[sample_pick_below(p, 5) == 0]);
    }
    return np;
}

/* Object, recipient, place: what the frame needs. */
static void draw_arguments(struct sample_pick *p, struct sample_clause *c,
                           const struct demand *d)
{
    const struct sample_verb *v = c->verb;
    const unsigned limits = c->is_negated ? LIMIT_QUANTITY | LIMIT_NO : LIMIT_NO;

    c->object = d->object;
    switch (v->frame) {
    case FRAME_RECIPIENT:
        c->recipient = sample_pick_object(p, CLASS_PERSON, c->subject,
                                          LIMIT_DEFINITE | LIMIT_QUANTITY | LIMIT_PLAIN);
        /* fall through */
    case FRAME_OBJECT:
    case FRAME_PREP:
    case FRAME_LIKE:
        if (!c->object && v->frame == FRAME_LIKE)
            c->object = sample_pick_noun(p, v->objects, limits | LIMIT_DEFINITE);
        else if (!c->object)
            c->object = sample_pick_object(p, v->objects, c->subject, limits);
        break;
    case FRAME_PUT:
        c->object = c->object ? c->object : sample_pick_noun(p, v->objects, limits);
        set_pp(p, &c->spot, USE_GOAL_ON,
               sample_pick_noun(p, CLASS_SURFACE, PLACE_LIMITS));
        break;
    case FRAME_GOAL:
        draw_goal(p, c, v->objects);
        break;
    case FRAME_SPOT:
        draw_spot(p, c, v->objects);
        break;
    case FRAME_JOB: {
        struct sample_np *job =
            sample_pick_noun(p, v->objects, LIMIT_SINGULAR | LIMIT_PLAIN);
        job->det = sample_lexicon_det("a");
        job->adjective = NULL;
        c->object = job;
        break;
    }
    case FRAME_EXIST:
        c->object = draw_existing(p, v->objects);
        draw_spot(p, c, CLASS_PLACE);
        break;
    case FRAME_BE:
        draw_predicate(p, c);
        break;
    default:
        break;
    }
}

static void draw_time(struct sample_pick *p, struct sample_clause *c)
{
    /* "can help you tomorrow" */
    const unsigned tenses = c->modal && c->tense == TENSE_PRESENT
                                ? (unsigned)(TENSE_PRESENT | TENSE_FUTURE)
                                : (unsigned)c->tense;

    if (sample_pick_chance(p, CHANCE_TIME_COUNTED)) {
        if (c->tense == TENSE_PAST && !c->modal && sample_pick_chance(p, 60))
            set_pp(p, &c->time, USE_AGO, sample_pick_counted(p, CLASS_PERIOD, 12));
        else if (c->tense == TENSE_FUTURE && sample_pick_chance(p, 60))
            set_pp(p, &c->time, USE_SOON, sample_pick_counted(p, CLASS_PERIOD, 12));
        else if (c->tense & (TENSE_PRESENT | TENSE_PAST | TENSE_FUTURE))
            set_pp(p, &c->time, USE_CLOCK, sample_pick_counted(p, CLASS_HOUR, 12));
        return;
    }
    c->time.phrase = sample_pick_phrase(p, SLOT_TIME, tenses);
}

static bool is_place(const struct sample_np *np)
{
    return np && np->noun &&
           (np->noun->classes &
            (CLASS_PLACE | CLASS_BUILDING | CLASS_TOWN | CLASS_MONEY));
}

static void draw_free_spot(struct sample_pick *p, struct sample_clause *c)
{
    if (sample_pick_chance(p, 30))
        c->spot.phrase = sample_pick_phrase(p, SLOT_SPOT, c->tense);
    else
        draw_spot(p, c, CLASS_PLACE);
}

static bool is_person(const struct sample_np *np)
{
    return !np || np->kind == NP_PRONOUN ||
           (np->noun && np->noun->classes & CLASS_PERSON);
}

/* By bus, with my brother: only when the verb does something. */
static void draw_means(struct sample_pick *p, struct sample_clause *c)
{
    if (!is_person(c->subject))
        return;
    if (strcmp(c->verb->en.base, "travel") == 0 && sample_pick_chance(p, 50)) {
        c->means.phrase = sample_pick_phrase(p, SLOT_MEANS, c->tense);
    } else if ((bit(c->verb->frame) &
                (bit(FRAME_GOAL) | bit(FRAME_ALONE) | bit(FRAME_OBJECT))) &&
               !is_person(c->object ? c->object : c->spot.np) &&
               sample_pick_chance(p, CHANCE_MEANS)) {
        set_pp(p, &c->means, USE_WITH,
               sample_pick_noun(p, CLASS_PERSON,
                                LIMIT_DEFINITE | LIMIT_PLAIN | LIMIT_QUANTITY));
    }
}

static void draw_manner(struct sample_pick *p, struct sample_clause *c)
{
    if (c->is_negated || c->mid || !sample_pick_chance(p, CHANCE_MANNER))
        return;
    c->manner.phrase = sample_pick_phrase(p, SLOT_MANNER, c->tense);
}

/* Times, places and manners that the verb does not need. */
static void draw_extras(struct sample_pick *p, struct sample_clause *c,
                        const struct demand *d)
{
    const unsigned frame = bit(c->verb->frame);
    const unsigned with_spot = bit(FRAME_ALONE) | bit(FRAME_OBJECT) | bit(FRAME_PREP);
    const bool is_timed = !(frame & (bit(FRAME_LIKE) | bit(FRAME_JOB))) && !c->measure;

    if (is_timed && c->tense != TENSE_PROGRESSIVE && !d->is_question && !c->is_negated &&
        sample_pick_chance(p, CHANCE_MID))
        c->mid = sample_pick_phrase(p, SLOT_MID, c->tense);
    if (d->is_short)
        return;
    if (is_timed && !c->mid && c->tense != TENSE_PROGRESSIVE &&
        c->tense != TENSE_PERFECT && sample_pick_chance(p, CHANCE_TIME))
        draw_time(p, c);
    if ((frame & with_spot) && (c->verb->subjects & LIVING) && !is_place(c->object) &&
        sample_pick_chance(p, CHANCE_SPOT))
        draw_free_spot(p, c);
    if (c->verb->is_state || !(c->verb->subjects & LIVING))
        return;
    draw_manner(p, c);
    draw_means(p, c);
}

static void draw_front(struct sample_pick *p, struct sample_clause *c)
{
    const bool has_spot = sample_tree_has(&c->spot) && c->verb->frame != FRAME_GOAL &&
                          c->verb->frame != FRAME_PUT && c->verb->frame != FRAME_EXIST &&
                          !c->is_negated;

    if (sample_pick_chance(p, CHANCE_COMMENT)) {
        c->front = FRONT_COMMENT;
        c->comment = sample_pick_phrase(p, SLOT_COMMENT, c->tense);
    } else if (sample_tree_has(&c->time) && sample_pick_chance(p, CHANCE_FRONT)) {
        c->front = FRONT_TIME;
    } else if (has_spot && sample_pick_chance(p, CHANCE_FRONT / 2)) {
        c->front = FRONT_SPOT;
    }
}

static const struct sample_np *draw_subject(struct sample_pick *p,
                                            const struct sample_clause *c)
{
    unsigned limits = c->is_negated ? LIMIT_QUANTITY | LIMIT_NO : LIMIT_NONE;

    if (c->verb->frame == FRAME_EXIST) {
        struct sample_np *there = sample_pick_np(p);
        there->kind = NP_THERE;
        return there;
    }
    if (c->verb->frame == FRAME_JOB)
        limits |= LIMIT_SINGULAR | LIMIT_QUANTITY | LIMIT_NO | LIMIT_DEFINITE;
    if (c->verb->objects & CLASS_MONEY)
        limits |= LIMIT_SINGULAR | LIMIT_DEFINITE;
    return sample_pick_subject(p, c->verb->subjects, limits);
}

static void draw_relatives(struct sample_pick *p, struct sample_clause *c);

static struct sample_clause *draw_clause(struct sample_pick *p, const struct demand *d)
{
    struct sample_clause *c = sample_pick_clause(p);

    c->verb = draw_verb(p, d);
    draw_time_of_verb(p, c, d);
    c->subject = d->subject ? d->subject : draw_subject(p, c);
    draw_arguments(p, c, d);
    if (is_ambiguous(c) && d->subject)
        c->tense = TENSE_PERFECT;
    else if (is_ambiguous(c))
        c->subject =
            sample_pick_noun(p, c->verb->subjects, LIMIT_SINGULAR | LIMIT_DEFINITE);
    draw_extras(p, c, d);
    if (!d->is_nested)
        draw_relatives(p, c);
    return c;
}

/* who reads the book; that the man reads; whose dog is sick */
static const struct sample_clause *draw_relative(struct sample_pick *p,
                                                 const struct sample_np *head)
{
    struct sample_np *np = sample_pick_np(p);
    struct demand d = {
        .tenses = ANY_TENSE, .is_short = true, .is_nested = true, .is_positive = true};
    const unsigned which = (unsigned)sample_pick_below(p, 10);

    *np = (struct sample_np){
        .kind = NP_RELATIVE, .noun = head->noun, .is_plural = head->is_plural};
    if (which < 5) {
        d.subject = np;
        d.subject_classes = head->noun->classes;
        d.frames = ~(bit(FRAME_JOB) | bit(FRAME_EXIST));
    } else if (which < 9 || !(head->noun->classes & CLASS_PERSON)) {
        d.object = np;
        d.object_classes = head->noun->classes;
        d.frames = bit(FRAME_OBJECT) | bit(FRAME_PREP) | bit(FRAME_RECIPIENT);
    } else {
        struct sample_np *owned =
            sample_pick_noun(p, LIVING | CLASS_VEHICLE, LIMIT_PLAIN | LIMIT_NO);
        if (owned->noun->classes & CLASS_PROPER)
            owned->noun = sample_lexicon_noun("dog");
        owned->det = NULL;
        owned->number = 0;
        owned->owner = np;
        d.subject = owned;
        d.subject_classes = owned->noun->classes;
        d.frames = bit(FRAME_BE) | bit(FRAME_ALONE);
    }
    return draw_clause(p, &d);
}

/* The phrase as it can still be changed, if a relative clause may follow it. */
static struct sample_np *find_head(struct sample_pick *p, const struct sample_np *np)
{
    const bool is_head = np && np->kind == NP_NOUN && !np->partner && !np->owner &&
                         !np->number && np->det && np->det->is_head;

    return is_head ? &p->np[np - p->np] : NULL;
}

/* A German relative clause reads well when nothing of its own clause comes after it. */
static bool is_object_last(const struct sample_clause *c)
{
    const bool is_simple = c->tense == TENSE_PRESENT || c->tense == TENSE_PROGRESSIVE ||
                           (c->tense == TENSE_PAST && c->verb->de.preterite);

    return is_simple && !c->modal && !c->verb->prefix && !sample_tree_has(&c->spot) &&
           !sample_tree_has(&c->means) && !sample_tree_has(&c->manner) &&
           !c->is_negated && c->verb->frame != FRAME_JOB;
}

static void draw_relatives(struct sample_pick *p, struct sample_clause *c)
{
    struct sample_np *subject = find_head(p, c->subject),
                     *object = find_head(p, c->object);

    if (subject && sample_pick_chance(p, CHANCE_RELATIVE))
        subject->relative = draw_relative(p, subject);
    else if (object && is_object_last(c) && sample_pick_chance(p, 2 * CHANCE_RELATIVE))
        object->relative = draw_relative(p, object);
}

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
    c->tense = draw_tense(p, c->verb, tenses);
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
    struct demand d = {.tenses = tense,
                       .frames = bit(FRAME_OBJECT),
                       .object = thing,
                       .object_classes = thing->noun->classes,
                       .is_short = true,
                       .is_nested = true,
                       .subject_classes = CLASS_PERSON};
    s->main = draw_clause(p, &d);

    struct demand about = {.tenses = tense, .is_short = true, .is_nested = true};
    if (sample_pick_chance(p, 60)) {
        about.frames = bit(FRAME_BE);
        about.subject = draw_it(p, thing->noun);
        about.subject_classes = thing->noun->classes;
    } else {
        about.frames = bit(FRAME_OBJECT);
        about.object = draw_it(p, thing->noun);
        about.object_classes = thing->noun->classes;
        about.subject_classes = CLASS_PERSON;
    }
    s->other = draw_clause(p, &about);
}

static void draw_linked(struct sample_pick *p, struct sample_sentence *s)
{
    s->link = draw_link(p, false);
    const unsigned tense =
        s->link->main_tenses ? s->link->tenses : draw_one(p, s->link->tenses);
    struct demand first = {.tenses = s->link->main_tenses ? s->link->main_tenses : tense,
                           .is_short = sample_pick_chance(p, 70)};
    struct demand second = {.tenses = tense, .is_short = true, .is_nested = true};

    if (tense == TENSE_PLUPERFECT)
        second.frames = bit(FRAME_ALONE) | bit(FRAME_OBJECT) | bit(FRAME_RECIPIENT) |
                        bit(FRAME_GOAL) | bit(FRAME_PUT);
    s->main = draw_clause(p, &first);
    second.subject = draw_same_person(p, s->main->subject);
    if (second.subject)
        second.subject_classes = CLASS_PERSON;
    if (s->link->order == ORDER_LAST && tense != TENSE_PLUPERFECT &&
        sample_pick_chance(p, CHANCE_WEATHER))
        s->other = draw_weather(p, tense);
    else
        s->other = draw_clause(p, &second);
    s->is_other_first =
        s->link->is_frontable && sample_pick_chance(p, CHANCE_OTHER_FIRST);
}

/* A question word for an adverb, and the clause without that adverb. */
static bool ask_adverb(struct sample_pick *p, struct sample_clause *c)
{
    const unsigned frame = bit(c->verb->frame);
    const struct sample_phrase *ask = sample_pick_phrase(p, SLOT_ASK, c->tense);
    const bool is_where = strcmp(ask->en, "where") == 0;
    const bool is_whither = frame == bit(FRAME_GOAL);

    if (frame & (bit(FRAME_EXIST) | bit(FRAME_JOB) | bit(FRAME_LIKE)) || c->measure)
        return false;
    if (is_where && !(frame & (bit(FRAME_GOAL) | bit(FRAME_SPOT) | bit(FRAME_ALONE) |
                               bit(FRAME_OBJECT))))
        return false;
    if (is_where &&
        ((strcmp(ask->de, "wohin") == 0) != is_whither || is_place(c->object)))
        return false;
    if (strcmp(ask->en, "how") == 0 &&
        (c->verb->is_state || c->is_negated || !(c->verb->subjects & CLASS_PERSON)))
        return false;
    if (strcmp(ask->en, "when") == 0 && (c->is_negated || frame & bit(FRAME_BE)))
        return false;
    if (is_where) {
        c->spot = (struct sample_adverbial){0};
        c->is_negated = false;
    }
    if (strcmp(ask->en, "why") != 0)
        c->manner = c->means = (struct sample_adverbial){0};
    if (strcmp(ask->en, "when") == 0)
        c->time = (struct sample_adverbial){0};
    c->ask = ask;
    return true;
}

static struct sample_clause *draw_asking(struct sample_pick *p, struct demand *d)
{
    for (;;) {
        const size_t n_nps = p->n_nps, n_clauses = p->n_clauses;
        struct sample_clause *c = draw_clause(p, d);
        if (ask_adverb(p, c))
            return c;
        p->n_nps = n_nps;
        p->n_clauses = n_clauses;
    }
}

/* That, whether or a question word, after say, know, ask. */
static void draw_complement(struct sample_pick *p, struct sample_sentence *s)
{
    struct demand d = {.is_short = sample_pick_chance(p, 60), .is_nested = true};
    struct sample_clause *c = sample_pick_clause(p);
    const enum sample_frame frame =
        sample_pick_chance(p, 70) ? FRAME_THAT : FRAME_WHETHER;

    c->verb = sample_pick_verb(p, frame, 0, 0);
    const bool is_know = frame == FRAME_THAT && strcmp(c->verb->en.base, "know") == 0;
    c->tense = draw_tense(p, c->verb, TENSE_PRESENT | TENSE_PAST);
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
        c->complement = draw_clause(p, &d);
    }
    s->main = c;
}

static void draw_infinitive(struct sample_pick *p, struct sample_sentence *s)
{
    struct sample_clause *c = sample_pick_clause(p), *what;
    const struct demand d = {.tenses = TENSE_PRESENT,
                             .is_short = true,
                             .is_nested = true,
                             .is_positive = true,
                             .frames = bit(FRAME_ALONE) | bit(FRAME_OBJECT) |
                                       bit(FRAME_RECIPIENT) | bit(FRAME_PREP) |
                                       bit(FRAME_GOAL) | bit(FRAME_PUT),
                             .subject_classes = CLASS_PERSON};

    c->verb = sample_pick_verb(p, FRAME_INFINITIVE, 0, 0);
    c->tense = draw_tense(p, c->verb, ANY_TENSE);
    c->subject = sample_pick_subject(p, CLASS_PERSON, LIMIT_NO);
    what = draw_clause(p, &d);
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
    struct demand d = {.tenses = ANY_TENSE,
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
    d.frames = bit(FRAME_OBJECT) | bit(FRAME_PREP) | bit(FRAME_RECIPIENT);
    if (which < 7)
        d.frames |= bit(FRAME_ALONE) | bit(FRAME_GOAL) | bit(FRAME_SPOT);
    d.subject_classes = CLASS_PERSON;
    struct sample_clause *c = draw_clause(p, &d);
    if (which < 7)
        c->subject = draw_asked(p, CLASS_PERSON, true);
    else if (c->recipient && which == 7)
        c->recipient = draw_asked(p, CLASS_PERSON, true);
    else
        c->object = draw_asked(p, c->verb->objects,
                               c->verb->frame == FRAME_PREP ||
                                   c->verb->object_case == CASE_DATIVE);
    if (is_ambiguous(c))
        c->tense = TENSE_PERFECT;
    s->main = c;
}

static void draw_plain(struct sample_pick *p, struct sample_sentence *s, bool is_question)
{
    const struct demand d = {.tenses = ANY_TENSE, .is_question = is_question};
    struct sample_clause *c = draw_clause(p, &d);

    if (!is_question)
        draw_front(p, c);
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
