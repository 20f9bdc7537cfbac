#include "sample/clause.h"

#include <string.h>

#include "base/err.h"
#include "sample/chances.h"

/* Which frames of the verb go with what may stand beside it. */
enum {
    FRAMES_WITHOUT_MODAL =
        FRAME_BIT(LIKE) | FRAME_BIT(BE) | FRAME_BIT(JOB) | FRAME_BIT(EXIST),
    FRAMES_WITHOUT_TIME = FRAME_BIT(LIKE) | FRAME_BIT(JOB),
    FRAMES_WITH_SPOT = FRAME_BIT(ALONE) | FRAME_BIT(OBJECT) | FRAME_BIT(PREP),
    FRAMES_WITH_COMPANY = FRAME_BIT(GOAL) | FRAME_BIT(ALONE) | FRAME_BIT(OBJECT),
    FRAMES_SPOT_LAST = FRAME_BIT(GOAL) | FRAME_BIT(PUT) | FRAME_BIT(EXIST)
};

static bool is_frame(const struct clause *c, unsigned frames)
{
    return frames >> c->verb->frame & 1;
}

/* By weight, the place of one of the bits of the set. */
static unsigned draw_bit(struct pick *p, unsigned set, const unsigned *weights, size_t n)
{
    unsigned left[N_FRAMES] = {0};

    for (size_t i = 0; i < n; i++)
        left[i] = set >> i & 1 ? weights[i] : 0;
    return (unsigned)pick_weighted(p, left, n);
}

static const struct verb *draw_verb(struct pick *p, const struct demand *d)
{
    static const unsigned weights[N_FRAMES] = {
        [FRAME_ALONE] = 9, [FRAME_OBJECT] = 42, [FRAME_RECIPIENT] = 10, [FRAME_PREP] = 12,
        [FRAME_GOAL] = 7,  [FRAME_SPOT] = 6,    [FRAME_PUT] = 2,        [FRAME_LIKE] = 4,
        [FRAME_BE] = 11,   [FRAME_JOB] = 2,     [FRAME_EXIST] = 2};
    unsigned frames = d->frames ? d->frames : ~0u;

    for (;;) { /* some frames have no verb for a given noun; FRAME_BE has one for most */
        const unsigned frame = draw_bit(p, frames, weights, N_FRAMES);
        const struct verb *v =
            pick_verb(p, (enum frame)frame, d->subject_classes, d->object_classes);
        if (v)
            return v;
        frames &= ~(1u << frame);
    }
}

bool clause_is_ambiguous(const struct clause *c)
{
    const struct np *s = c->subject;

    return c->verb->en.past && strcmp(c->verb->en.past, c->verb->en.base) == 0 &&
           !c->modal && s &&
           (s->kind == NP_PRONOUN ? s->pronoun->person != PERSON_ER : tree_plural(s)) &&
           (c->tense & (TENSE_PRESENT | TENSE_PAST));
}

enum tense clause_tense(struct pick *p, const struct verb *v, unsigned tenses)
{
    /* present, progressive, past, perfect, pluperfect, future: as in enum tense */
    static const unsigned weights[] = {32, 10, 34, 12, 0, 12};

    if (tenses == TENSE_PLUPERFECT)
        return TENSE_PLUPERFECT;
    if (v->is_state || v->frame == FRAME_WEATHER)
        tenses &= ~(unsigned)TENSE_PROGRESSIVE;
    if (v->de.preterite) /* be, have: the past is war, hatte */
        tenses &= ~(unsigned)TENSE_PERFECT;
    return (enum tense)(1u << draw_bit(p, tenses, weights, 6));
}

static void draw_time_of_verb(struct pick *p, struct clause *c, const struct demand *d)
{
    c->tense = clause_tense(p, c->verb, d->tenses);
    c->is_negated = !d->is_positive && c->tense != TENSE_PROGRESSIVE &&
                    c->verb->frame != FRAME_EXIST && /* "there is no" */
                    !(c->verb->objects & CLASS_MONEY) && pick_chance(p, CHANCE_NEGATED);
    if (is_frame(c, FRAMES_WITHOUT_MODAL) || !(c->verb->subjects & CLASS_LIVING) ||
        c->verb->de.preterite || !(c->tense & (TENSE_PRESENT | TENSE_PAST)) ||
        !pick_chance(p, CHANCE_MODAL))
        return;
    const struct modal *m = &lexicon_modals[pick_below(p, lexicon_modals_n)];
    if ((c->tense != TENSE_PAST || m->en_past) && (!c->is_negated || m->is_negatable))
        c->modal = m;
}

static void set_pp(struct pick *p, struct adverbial *a, enum prep_use use,
                   const struct np *np)
{
    a->prep = pick_prep(p, use);
    a->np = np;
}

enum { PLACE_LIMITS = LIMIT_QUANTITY | LIMIT_NO | LIMIT_DEFINITE };

/* in the garden, behind the house, in Berlin, on the table */
static void draw_spot(struct pick *p, struct clause *c, unsigned classes)
{
    const struct np *np = pick_noun(p, classes, PLACE_LIMITS);

    set_pp(p, &c->spot,
           np->noun->classes & CLASS_TOWN      ? USE_SPOT_TOWN
           : np->noun->classes & CLASS_SURFACE ? USE_SPOT_ON
           : pick_chance(p, 75)                ? USE_SPOT_IN
                                               : USE_SPOT_NEAR,
           np);
}

static void draw_goal(struct pick *p, struct clause *c, unsigned classes)
{
    const struct np *np = pick_noun(p, classes, PLACE_LIMITS);

    set_pp(p, &c->spot,
           np->noun->classes & CLASS_TOWN                    ? USE_GOAL_TOWN
           : np->noun->classes & (CLASS_PERSON | CLASS_STOP) ? USE_GOAL_TO
                                                             : USE_GOAL_IN,
           np);
}

static void draw_predicate(struct pick *p, struct clause *c)
{
    const struct np *s = c->subject;
    const unsigned classes =
        s->kind == NP_WHO || !s->noun ? CLASS_PERSON : s->noun->classes;

    if ((classes & CLASS_PERSON) && !c->is_negated && pick_chance(p, CHANCE_AGE)) {
        struct np *years = pick_counted(p, CLASS_PERIOD, 99);
        years->noun = LEXICON_FIND(nouns, "year");
        c->measure = years;
        c->predicate = LEXICON_FIND(adjectives, "old");
        return;
    }
    do
        c->predicate = pick_adjective(p, classes);
    while (c->predicate && c->predicate == s->adjective); /* the old man is not "old" */
    BUG_ON(!c->predicate);
    if (pick_chance(p, CHANCE_DEGREE))
        c->degree = pick_phrase(p, SLOT_DEGREE, c->tense);
}

/* There is a dog, there are no dogs. */
static const struct np *draw_existing(struct pick *p, unsigned classes)
{
    static const char *const one[] = {"no", "a", "a", "a", "a"};
    static const char *const several[] = {"many", "no", "few", "some"};
    struct np *np =
        pick_noun(p, classes & ~(unsigned)CLASS_PERSON, LIMIT_PLAIN | LIMIT_QUANTITY);

    if (!np->number && !(np->noun->classes & CLASS_MASS))
        np->det = lexicon_det(np->is_plural ? several[pick_below(p, 4)]
                                            : one[pick_below(p, 5)]);
    return np;
}

static const struct np *draw_job(struct pick *p, unsigned classes)
{
    struct np *job = pick_noun(p, classes, LIMIT_SINGULAR | LIMIT_PLAIN);

    job->det = lexicon_det("a");
    job->adjective = NULL;
    return job;
}

/* Object, recipient, place: what the frame needs. */
static void draw_arguments(struct pick *p, struct clause *c, const struct demand *d)
{
    const struct verb *v = c->verb;
    const unsigned limits = c->is_negated ? LIMIT_QUANTITY | LIMIT_NO : LIMIT_NO;

    c->object = d->object;
    if (v->frame == FRAME_RECIPIENT)
        c->recipient = pick_object(p, CLASS_PERSON, c->subject,
                                   LIMIT_DEFINITE | LIMIT_QUANTITY | LIMIT_PLAIN);
    if (is_frame(c, FRAMES_OF_OBJECTS) && !c->object)
        c->object = pick_object(p, v->objects, c->subject, limits);
    if (is_frame(c, FRAME_BIT(LIKE) | FRAME_BIT(PUT)) && !c->object)
        c->object = pick_noun(p, v->objects,
                              limits | (v->frame == FRAME_LIKE ? LIMIT_DEFINITE : 0));
    switch (v->frame) {
    case FRAME_PUT:
        set_pp(p, &c->spot, USE_GOAL_ON, pick_noun(p, CLASS_SURFACE, PLACE_LIMITS));
        break;
    case FRAME_GOAL:
        draw_goal(p, c, v->objects);
        break;
    case FRAME_SPOT:
        draw_spot(p, c, v->objects);
        break;
    case FRAME_JOB:
        c->object = draw_job(p, v->objects);
        break;
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

static void draw_time(struct pick *p, struct clause *c)
{
    /* "can help you tomorrow" */
    const unsigned later = c->modal && c->tense == TENSE_PRESENT ? TENSE_FUTURE : 0;

    if (c->verb->is_state || !pick_chance(p, CHANCE_TIME_COUNTED))
        c->time.phrase = pick_phrase(p, SLOT_TIME, c->tense | later);
    else if (c->tense == TENSE_PAST && !c->modal && pick_chance(p, 60))
        set_pp(p, &c->time, USE_AGO, pick_counted(p, CLASS_PERIOD, 12));
    else if (c->tense == TENSE_FUTURE && pick_chance(p, 60))
        set_pp(p, &c->time, USE_SOON, pick_counted(p, CLASS_PERIOD, 12));
    else if (c->tense & TENSE_EVER)
        set_pp(p, &c->time, USE_CLOCK, pick_counted(p, CLASS_HOUR, 12));
}

bool clause_names_place(const struct np *np)
{
    return np && np->noun &&
           (np->noun->classes &
            (CLASS_PLACE | CLASS_BUILDING | CLASS_TOWN | CLASS_MONEY));
}

static bool is_person(const struct np *np)
{
    return !np || np->kind == NP_PRONOUN ||
           (np->noun && np->noun->classes & CLASS_PERSON);
}

/* By bus, with my brother: only when the verb does something. */
static void draw_means(struct pick *p, struct clause *c)
{
    if (!is_person(c->subject))
        return;
    if (strcmp(c->verb->en.base, "travel") == 0 && pick_chance(p, 50))
        c->means.phrase = pick_phrase(p, SLOT_MEANS, c->tense);
    else if (is_frame(c, FRAMES_WITH_COMPANY) &&
             !is_person(c->object ? c->object : c->spot.np) &&
             pick_chance(p, CHANCE_MEANS))
        set_pp(p, &c->means, USE_WITH,
               pick_noun(p, CLASS_PERSON, LIMIT_DEFINITE | LIMIT_PLAIN | LIMIT_QUANTITY));
}

static bool is_quantity(const struct np *np)
{
    return np && np->det && np->det->is_quantity;
}

/* Times, places and manners that the verb does not need. */
static void draw_extras(struct pick *p, struct clause *c, const struct demand *d)
{
    const struct verb *v = c->verb;
    const bool is_timed =
        !is_frame(c, FRAMES_WITHOUT_TIME) && !c->measure && c->tense != TENSE_PROGRESSIVE;
    /* slowly, alone: with what somebody does, not with what happens to him */
    const bool is_happening = v->frame == FRAME_ALONE && v->prefix;

    /* often, never: beside "every" and "no" they would say something else or nothing */
    if (is_timed && !d->is_question && !d->is_once && !c->is_negated && !c->degree &&
        !is_quantity(c->subject) && !is_quantity(c->object) && pick_chance(p, CHANCE_MID))
        c->mid = pick_phrase(p, SLOT_MID, c->tense);
    if (d->is_short)
        return;
    if (is_timed && !c->mid && c->tense != TENSE_PERFECT && pick_chance(p, CHANCE_TIME))
        draw_time(p, c);
    if (is_frame(c, FRAMES_WITH_SPOT) && (v->subjects & CLASS_LIVING) &&
        !(v->objects & CLASS_LANGUAGE) && !clause_names_place(c->object) &&
        pick_chance(p, CHANCE_SPOT)) {
        if (pick_chance(p, 30))
            c->spot.phrase = pick_phrase(p, SLOT_SPOT, c->tense);
        else
            draw_spot(p, c, CLASS_PLACE);
    }
    if (v->is_state || (v->objects & CLASS_LANGUAGE))
        return;
    if (!is_happening && !c->is_negated && !c->mid && pick_chance(p, CHANCE_MANNER))
        c->manner = pick_phrase(p, SLOT_MANNER, c->tense);
    draw_means(p, c);
}

void clause_front(struct pick *p, struct clause *c)
{
    const bool has_spot = tree_has(&c->spot) && !is_frame(c, FRAMES_SPOT_LAST) &&
                          !c->is_negated && c->tense != TENSE_PROGRESSIVE;

    if (pick_chance(p, CHANCE_COMMENT)) {
        c->front = FRONT_COMMENT;
        c->comment = pick_phrase(p, SLOT_COMMENT, c->tense);
    } else if (tree_has(&c->time) && pick_chance(p, CHANCE_FRONT)) {
        c->front = FRONT_TIME;
    } else if (has_spot && pick_chance(p, CHANCE_FRONT / 2)) {
        c->front = FRONT_SPOT;
    }
}

static const struct np *draw_subject(struct pick *p, const struct clause *c,
                                     const struct demand *d)
{
    unsigned limits = c->is_negated    ? LIMIT_QUANTITY | LIMIT_NO
                      : d->is_question ? LIMIT_NO
                                       : LIMIT_NONE;

    if (c->verb->frame == FRAME_EXIST)
        return pick_np(p, NP_THERE);
    if (c->verb->frame == FRAME_JOB)
        limits |= LIMIT_SINGULAR | LIMIT_QUANTITY | LIMIT_NO | LIMIT_DEFINITE;
    if (c->verb->objects & CLASS_MONEY)
        limits |= LIMIT_SINGULAR | LIMIT_DEFINITE;
    return pick_subject(p, c->verb->subjects, limits);
}

/* who reads the book; that the man reads; whose dog is sick */
static const struct clause *draw_relative(struct pick *p, const struct np *head)
{
    struct np *np = pick_np(p, NP_RELATIVE);
    struct demand d = {
        .tenses = TENSE_ANY, .is_short = true, .is_nested = true, .is_positive = true};
    const unsigned which = pick_below(p, 10);

    np->noun = head->noun;
    np->is_plural = head->is_plural;
    if (which < 5) {
        d.subject = np;
        d.subject_classes = head->noun->classes;
        d.frames = ~(FRAME_BIT(JOB) | FRAME_BIT(EXIST));
    } else if (which < 9 || !(head->noun->classes & CLASS_PERSON)) {
        d.object = np;
        d.object_classes = head->noun->classes;
        d.frames = FRAMES_OF_OBJECTS;
    } else {
        struct np *owned =
            pick_noun(p, CLASS_LIVING | CLASS_VEHICLE, LIMIT_PLAIN | LIMIT_NO);
        if (owned->noun->classes & CLASS_PROPER)
            owned->noun = LEXICON_FIND(nouns, "dog");
        owned->det = NULL;
        owned->number = 0;
        owned->owner = np;
        d.subject = owned;
        d.subject_classes = owned->noun->classes;
        d.frames = FRAME_BIT(BE) | FRAME_BIT(ALONE);
    }
    return clause_draw(p, &d);
}

/* The phrase as it can still be changed, if a relative clause may follow it. */
static struct np *find_head(struct pick *p, const struct np *np)
{
    const bool is_head = np && np->kind == NP_NOUN && !np->partner && !np->owner &&
                         !np->number && np->det && np->det->is_head;

    return is_head ? &p->np[np - p->np] : NULL;
}

/* A German relative clause reads well when nothing of its own clause comes after it. */
static bool is_object_last(const struct clause *c)
{
    const bool is_simple = (c->tense & (TENSE_PRESENT | TENSE_PROGRESSIVE)) ||
                           (c->tense == TENSE_PAST && c->verb->de.preterite);

    return is_simple && !c->modal && !c->verb->prefix && !tree_has(&c->spot) &&
           !tree_has(&c->means) && !c->manner && !tree_has(&c->time) && !c->is_negated &&
           c->verb->frame != FRAME_JOB;
}

static void draw_relatives(struct pick *p, struct clause *c)
{
    struct np *subject = find_head(p, c->subject), *object = find_head(p, c->object);

    if (subject && pick_chance(p, CHANCE_RELATIVE))
        subject->relative = draw_relative(p, subject);
    else if (object && is_object_last(c) && pick_chance(p, 2 * CHANCE_RELATIVE))
        object->relative = draw_relative(p, object);
}

struct clause *clause_draw(struct pick *p, const struct demand *d)
{
    struct clause *c = pick_clause(p);

    c->verb = draw_verb(p, d);
    draw_time_of_verb(p, c, d);
    c->subject = d->subject ? d->subject : draw_subject(p, c, d);
    draw_arguments(p, c, d);
    if (clause_is_ambiguous(c) && d->subject)
        c->tense = TENSE_PERFECT;
    else if (clause_is_ambiguous(c))
        c->subject = pick_noun(p, c->verb->subjects, LIMIT_SINGULAR | LIMIT_DEFINITE);
    draw_extras(p, c, d);
    if (!d->is_nested)
        draw_relatives(p, c);
    return c;
}
