#include "sample/sample_clause.h"

#include <string.h>

#include "base/err.h"
#include "sample/sample_chances.h"

#define LIVING (CLASS_PERSON | CLASS_ANIMAL)

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

static const struct sample_verb *draw_verb(struct sample_pick *p,
                                           const struct sample_demand *d)
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
bool sample_clause_is_ambiguous(const struct sample_clause *c)
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
        FRAME_BIT(LIKE) | FRAME_BIT(BE) | FRAME_BIT(JOB) | FRAME_BIT(EXIST);

    return !(frames >> c->verb->frame & 1) && (c->verb->subjects & LIVING) &&
           !c->verb->de.preterite;
}

enum sample_tense sample_clause_tense(struct sample_pick *p, const struct sample_verb *v,
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
                              const struct sample_demand *d)
{
    c->tense = sample_clause_tense(p, c->verb, d->tenses);
    c->is_negated = !d->is_positive && c->tense != TENSE_PROGRESSIVE &&
                    c->verb->frame != FRAME_EXIST && /* "there is no" */
                    !(c->verb->objects & CLASS_MONEY) &&
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
    do
        c->predicate = sample_pick_adjective(p, classes);
    while (c->predicate && c->predicate == s->adjective); /* the old man is not "old" */
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
                           const struct sample_demand *d)
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

    if (!c->verb->is_state && sample_pick_chance(p, CHANCE_TIME_COUNTED)) {
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

bool sample_clause_names_place(const struct sample_np *np)
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
    } else if ((1u << c->verb->frame &
                (FRAME_BIT(GOAL) | FRAME_BIT(ALONE) | FRAME_BIT(OBJECT))) &&
               !is_person(c->object ? c->object : c->spot.np) &&
               sample_pick_chance(p, CHANCE_MEANS)) {
        set_pp(p, &c->means, USE_WITH,
               sample_pick_noun(p, CLASS_PERSON,
                                LIMIT_DEFINITE | LIMIT_PLAIN | LIMIT_QUANTITY));
    }
}

/* slowly, alone: with what somebody does, not with what happens to him */
static void draw_manner(struct sample_pick *p, struct sample_clause *c)
{
    const bool is_happening = c->verb->frame == FRAME_ALONE && c->verb->prefix;

    if (!is_happening && !c->is_negated && !c->mid &&
        sample_pick_chance(p, CHANCE_MANNER))
        c->manner = sample_pick_phrase(p, SLOT_MANNER, c->tense);
}

static bool is_quantity(const struct sample_np *np)
{
    return np && np->det && np->det->is_quantity;
}

/* often, never: beside "every" and "no" they would say something else or nothing */
static void draw_mid(struct sample_pick *p, struct sample_clause *c,
                     const struct sample_demand *d)
{
    if (!d->is_question && !d->is_once && !c->is_negated && !c->degree &&
        !is_quantity(c->subject) && !is_quantity(c->object) &&
        sample_pick_chance(p, CHANCE_MID))
        c->mid = sample_pick_phrase(p, SLOT_MID, c->tense);
}

/* Times, places and manners that the verb does not need. */
static void draw_extras(struct sample_pick *p, struct sample_clause *c,
                        const struct sample_demand *d)
{
    const unsigned frame = 1u << c->verb->frame;
    const unsigned with_spot = FRAME_BIT(ALONE) | FRAME_BIT(OBJECT) | FRAME_BIT(PREP);
    const bool is_timed = !(frame & (FRAME_BIT(LIKE) | FRAME_BIT(JOB))) && !c->measure &&
                          c->tense != TENSE_PROGRESSIVE;

    if (is_timed)
        draw_mid(p, c, d);
    if (d->is_short)
        return;
    if (is_timed && !c->mid && c->tense != TENSE_PERFECT &&
        sample_pick_chance(p, CHANCE_TIME))
        draw_time(p, c);
    if ((frame & with_spot) && (c->verb->subjects & LIVING) &&
        !(c->verb->objects & CLASS_LANGUAGE) && !sample_clause_names_place(c->object) &&
        sample_pick_chance(p, CHANCE_SPOT))
        draw_free_spot(p, c);
    if (c->verb->is_state || (c->verb->objects & CLASS_LANGUAGE))
        return;
    draw_manner(p, c);
    draw_means(p, c);
}

void sample_clause_front(struct sample_pick *p, struct sample_clause *c)
{
    const bool has_spot = sample_tree_has(&c->spot) && c->verb->frame != FRAME_GOAL &&
                          c->verb->frame != FRAME_PUT && c->verb->frame != FRAME_EXIST &&
                          !c->is_negated && c->tense != TENSE_PROGRESSIVE;

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
                                            const struct sample_clause *c,
                                            const struct sample_demand *d)
{
    unsigned limits = c->is_negated    ? LIMIT_QUANTITY | LIMIT_NO
                      : d->is_question ? LIMIT_NO
                                       : LIMIT_NONE;

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

struct sample_clause *sample_clause_draw(struct sample_pick *p,
                                         const struct sample_demand *d)
{
    struct sample_clause *c = sample_pick_clause(p);

    c->verb = draw_verb(p, d);
    draw_time_of_verb(p, c, d);
    c->subject = d->subject ? d->subject : draw_subject(p, c, d);
    draw_arguments(p, c, d);
    if (sample_clause_is_ambiguous(c) && d->subject)
        c->tense = TENSE_PERFECT;
    else if (sample_clause_is_ambiguous(c))
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
    struct sample_demand d = {.tenses = SAMPLE_ANY_TENSE,
                              .is_short = true,
                              .is_nested = true,
                              .is_positive = true};
    const unsigned which = (unsigned)sample_pick_below(p, 10);

    *np = (struct sample_np){
        .kind = NP_RELATIVE, .noun = head->noun, .is_plural = head->is_plural};
    if (which < 5) {
        d.subject = np;
        d.subject_classes = head->noun->classes;
        d.frames = ~(FRAME_BIT(JOB) | FRAME_BIT(EXIST));
    } else if (which < 9 || !(head->noun->classes & CLASS_PERSON)) {
        d.object = np;
        d.object_classes = head->noun->classes;
        d.frames = FRAME_BIT(OBJECT) | FRAME_BIT(PREP) | FRAME_BIT(RECIPIENT);
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
        d.frames = FRAME_BIT(BE) | FRAME_BIT(ALONE);
    }
    return sample_clause_draw(p, &d);
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
           !sample_tree_has(&c->means) && !c->manner && !sample_tree_has(&c->time) &&
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
