#include "sample/sample_lexicon.h"

#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define COUNT(a) (sizeof(a) / sizeof *(a))

#define WHO     CLASS_PERSON
#define ANIMAL  CLASS_ANIMAL
#define LIVING  (CLASS_PERSON | CLASS_ANIMAL)
#define GOODS   (CLASS_THING | CLASS_SURFACE | CLASS_VEHICLE | CLASS_OPENABLE)
#define HOUSES  (CLASS_PLACE | CLASS_BUILDING)
#define WORDS   (CLASS_TEXT | CLASS_SPEECH)
#define EATABLE (CLASS_FOOD | CLASS_DRINK)

/* clang-format off */
const struct sample_adjective sample_lexicon_adjectives[] = {
    {"old", "alt", LIVING | GOODS | HOUSES | CLASS_TEXT, NULL},
    {"young", "jung", LIVING, NULL},
    {"new", "neu", GOODS | HOUSES | CLASS_TEXT, NULL},
    {"big", "groß", ANIMAL | GOODS | HOUSES, NULL},
    {"tall", "groß", WHO, NULL},
    {"small", "klein", LIVING | GOODS | HOUSES, NULL},
    {"long", "lang", WORDS, NULL},
    {"short", "kurz", WORDS, NULL},
    {"heavy", "schwer", CLASS_SURFACE | CLASS_THING, NULL},
    {"beautiful", "schön", HOUSES | CLASS_CLOTHES | CLASS_TEXT, NULL},
    {"good", "gut", WORDS | EATABLE, NULL},
    {"expensive", "teuer", GOODS | EATABLE, "teur"},
    {"cheap", "billig", GOODS | EATABLE, NULL},
    {"red", "rot", CLASS_CLOTHES | GOODS, NULL},
    {"blue", "blau", CLASS_CLOTHES | GOODS, NULL},
    {"green", "grün", CLASS_CLOTHES | GOODS, NULL},
    {"black", "schwarz", CLASS_CLOTHES | ANIMAL | GOODS, NULL},
    {"white", "weiß", CLASS_CLOTHES | ANIMAL | GOODS, NULL},
    {"dirty", "schmutzig", CLASS_CLOTHES | GOODS | CLASS_ROOM, NULL},
    {"empty", "leer", CLASS_PLACE, NULL},
    {"dark", "dunkel", CLASS_PLACE, "dunkl"},
    {"warm", "warm", EATABLE | CLASS_CLOTHES, NULL},
    {"cold", "kalt", EATABLE, NULL},
    {"hot", "heiß", EATABLE, NULL},
    {"happy", "glücklich", WHO, NULL},
    {"tired", "müde", LIVING, "müd"},
    {"sick", "krank", LIVING, NULL},
    {"famous", "berühmt", WHO | HOUSES | CLASS_TEXT, NULL},
    {"strong", "stark", LIVING, NULL},
    {"clever", "klug", LIVING, NULL},
    {"hungry", "hungrig", LIVING, NULL},
    {"rich", "reich", WHO, NULL},
    {"poor", "arm", WHO, NULL},
    {"dangerous", "gefährlich", ANIMAL, NULL},
    {"fast", "schnell", CLASS_VEHICLE, NULL},
    {"interesting", "interessant", WORDS | HOUSES, NULL},
    {"difficult", "schwierig", WORDS, NULL},
    {"important", "wichtig", WORDS, NULL},
};
const size_t sample_lexicon_adjectives_n = COUNT(sample_lexicon_adjectives);

const struct sample_modal sample_lexicon_modals[] = {
    {"can", "can", "could", NULL, false, true, "kann", "kannst", "können", "konnte"},
    {"must", "must", NULL, NULL, false, false, "muss", "musst", "müssen", NULL},
    {"have", "has", "had", "to", true, true, "muss", "musst", "müssen", "musste"},
    {"want", "wants", "wanted", "to", true, true, "will", "willst", "wollen", "wollte"},
    {"should", "should", NULL, NULL, false, true, "sollte", "solltest", "sollten", NULL},
    {"may", "may", NULL, NULL, false, true, "darf", "darfst", "dürfen", NULL},
    {"would", "would", NULL, "like to", false, true, "möchte", "möchtest", "möchten", NULL},
};
const size_t sample_lexicon_modals_n = COUNT(sample_lexicon_modals);

const struct sample_pronoun sample_lexicon_pronouns[] = {
    {"I", "me", {"ich", "mich", "mir"}, PERSON_ICH, false},
    {"you", "you", {"du", "dich", "dir"}, PERSON_DU, false},
    {"he", "him", {"er", "ihn", "ihm"}, PERSON_ER, false},
    {"she", "her", {"sie", "sie", "ihr"}, PERSON_ER, false},
    {"we", "us", {"wir", "uns", "uns"}, PERSON_PLURAL, false},
    {"they", "them", {"sie", "sie", "ihnen"}, PERSON_PLURAL, false},
    {"it", "it", {"es", "es", "ihm"}, PERSON_ER, true},
};
const size_t sample_lexicon_pronouns_n = COUNT(sample_lexicon_pronouns);

const struct sample_det sample_lexicon_dets[] = {
    {"the", "the", "d", DECLINE_DER, 44, .is_head = true},
    {"a", NULL, "ein", DECLINE_EIN, 22, .is_head = true},
    {NULL, "", "", DECLINE_NONE, 12, .is_question = false},
    {"this", "these", "dies", DECLINE_DIESER, 8, .is_head = true},
    {"my", "my", "mein", DECLINE_EIN, 4, .is_owner = true},
    {"your", "your", "dein", DECLINE_EIN, 2, .is_owner = true},
    {"his", "his", "sein", DECLINE_EIN, 4, .is_owner = true},
    {"her", "her", "ihr", DECLINE_EIN, 4, .is_owner = true},
    {"our", "our", "unser", DECLINE_EIN, 4, .is_owner = true},
    {"their", "their", "ihr", DECLINE_EIN, 3, .is_owner = true},
    {"every", NULL, "jed", DECLINE_DIESER, 3, .is_quantity = true},
    {"no", "no", "kein", DECLINE_EIN, 2, .is_quantity = true},
    {NULL, "all", "all", DECLINE_DIESER, 3, .is_quantity = true},
    {NULL, "many", "viel", DECLINE_VIELE, 4, .is_quantity = true},
    {NULL, "some", "einig", DECLINE_VIELE, 4, .is_quantity = true},
    {NULL, "few", "wenig", DECLINE_VIELE, 3, .is_quantity = true},
    {"which", "which", "welch", DECLINE_DIESER, 0, .is_question = true},
    {NULL, "how many", "wie viel", DECLINE_VIELE, 0, .is_question = true},
};
const size_t sample_lexicon_dets_n = COUNT(sample_lexicon_dets);

#define NOW    TENSE_PRESENT
#define THEN   TENSE_PAST
#define LATER  TENSE_FUTURE
#define DONE   TENSE_PERFECT
#define EVER   (NOW | THEN | LATER)
#define ALWAYS (EVER | DONE | TENSE_PLUPERFECT | TENSE_PROGRESSIVE)

const struct sample_phrase sample_lexicon_phrases[] = {
    {"yesterday", "gestern", SLOT_TIME, THEN},
    {"last week", "letzte Woche", SLOT_TIME, THEN},
    {"last year", "letztes Jahr", SLOT_TIME, THEN},
    {"last summer", "letzten Sommer", SLOT_TIME, THEN},
    {"last night", "letzte Nacht", SLOT_TIME, THEN},
    {"today", "heute", SLOT_TIME, EVER},
    {"now", "jetzt", SLOT_TIME, NOW},
    {"every day", "jeden Tag", SLOT_TIME, NOW},
    {"every week", "jede Woche", SLOT_TIME, NOW},
    {"every morning", "jeden Morgen", SLOT_TIME, NOW},
    {"every evening", "jeden Abend", SLOT_TIME, NOW},
    {"tomorrow", "morgen", SLOT_TIME, LATER},
    {"next week", "nächste Woche", SLOT_TIME, LATER},
    {"next year", "nächstes Jahr", SLOT_TIME, LATER},
    {"next summer", "nächsten Sommer", SLOT_TIME, LATER},
    {"soon", "bald", SLOT_TIME, LATER},
    {"tonight", "heute Abend", SLOT_TIME, LATER},
    {"on Monday", "am Montag", SLOT_TIME, EVER},
    {"on Tuesday", "am Dienstag", SLOT_TIME, EVER},
    {"on Wednesday", "am Mittwoch", SLOT_TIME, EVER},
    {"on Thursday", "am Donnerstag", SLOT_TIME, EVER},
    {"on Friday", "am Freitag", SLOT_TIME, EVER},
    {"on Saturday", "am Samstag", SLOT_TIME, EVER},
    {"on Sunday", "am Sonntag", SLOT_TIME, EVER},
    {"in the morning", "am Morgen", SLOT_TIME, EVER},
    {"in the evening", "am Abend", SLOT_TIME, EVER},
    {"at night", "in der Nacht", SLOT_TIME, NOW | THEN},
    {"in the spring", "im Frühling", SLOT_TIME, EVER},
    {"in the summer", "im Sommer", SLOT_TIME, EVER},
    {"in the autumn", "im Herbst", SLOT_TIME, EVER},
    {"in the winter", "im Winter", SLOT_TIME, EVER},

    {"often", "oft", SLOT_MID, NOW | THEN | DONE},
    {"always", "immer", SLOT_MID, NOW | THEN | LATER},
    {"sometimes", "manchmal", SLOT_MID, NOW | THEN},
    {"usually", "meistens", SLOT_MID, NOW},
    {"never", "nie", SLOT_MID, NOW | THEN | DONE, .is_late = true},
    {"already", "schon", SLOT_MID, DONE, .is_late = true},
    {"just", "gerade", SLOT_MID, DONE},

    {"slowly", "langsam", SLOT_MANNER, EVER | DONE},
    {"quickly", "schnell", SLOT_MANNER, EVER | DONE},
    {"quietly", "leise", SLOT_MANNER, EVER | DONE},
    {"carefully", "vorsichtig", SLOT_MANNER, EVER | DONE},
    {"secretly", "heimlich", SLOT_MANNER, EVER | DONE},
    {"alone", "allein", SLOT_MANNER, EVER | DONE},

    {"by bus", "mit dem Bus", SLOT_MEANS, ALWAYS},
    {"by train", "mit dem Zug", SLOT_MEANS, ALWAYS},
    {"by car", "mit dem Auto", SLOT_MEANS, ALWAYS},
    {"by ship", "mit dem Schiff", SLOT_MEANS, ALWAYS},

    {"here", "hier", SLOT_SPOT, ALWAYS},
    {"there", "dort", SLOT_SPOT, ALWAYS},
    {"at home", "zu Hause", SLOT_SPOT, ALWAYS},
    {"outside", "draußen", SLOT_SPOT, ALWAYS},

    {"unfortunately", "leider", SLOT_COMMENT, ALWAYS},
    {"perhaps", "vielleicht", SLOT_COMMENT, ALWAYS},
    {"of course", "natürlich", SLOT_COMMENT, ALWAYS},

    {"very", "sehr", SLOT_DEGREE, ALWAYS},
    {"too", "zu", SLOT_DEGREE, ALWAYS},
    {"quite", "ziemlich", SLOT_DEGREE, ALWAYS},
    {"really", "wirklich", SLOT_DEGREE, ALWAYS},

    {"when", "wann", SLOT_ASK, EVER},
    {"why", "warum", SLOT_ASK, ALWAYS},
    {"how", "wie", SLOT_ASK, EVER},
    {"where", "wo", SLOT_ASK, ALWAYS},
    {"where", "wohin", SLOT_ASK, ALWAYS},
};
const size_t sample_lexicon_phrases_n = COUNT(sample_lexicon_phrases);

const struct sample_prep sample_lexicon_preps[] = {
    {"in", "in", CASE_DATIVE, USE_SPOT_IN, false},
    {"on", "auf", CASE_DATIVE, USE_SPOT_ON, false},
    {"under", "unter", CASE_DATIVE, USE_SPOT_ON, false},
    {"next to", "neben", CASE_DATIVE, USE_SPOT_ON, false},
    {"behind", "hinter", CASE_DATIVE, USE_SPOT_NEAR, false},
    {"in front of", "vor", CASE_DATIVE, USE_SPOT_NEAR, false},
    {"next to", "neben", CASE_DATIVE, USE_SPOT_NEAR, false},
    {"to", "in", CASE_ACCUSATIVE, USE_GOAL_IN, false},
    {"to", "zu", CASE_DATIVE, USE_GOAL_TO, false},
    {"to", "nach", CASE_DATIVE, USE_GOAL_TOWN, false},
    {"in", "in", CASE_DATIVE, USE_SPOT_TOWN, false},
    {"on", "auf", CASE_ACCUSATIVE, USE_GOAL_ON, false},
    {"under", "unter", CASE_ACCUSATIVE, USE_GOAL_ON, false},
    {"next to", "neben", CASE_ACCUSATIVE, USE_GOAL_ON, false},
    {"with", "mit", CASE_DATIVE, USE_WITH, false},
    {"without", "ohne", CASE_ACCUSATIVE, USE_WITH, false},
    {"ago", "vor", CASE_DATIVE, USE_AGO, true},
    {"in", "in", CASE_DATIVE, USE_SOON, false},
    {"at", "um", CASE_ACCUSATIVE, USE_CLOCK, false},
};
const size_t sample_lexicon_preps_n = COUNT(sample_lexicon_preps);

const struct sample_link sample_lexicon_links[] = {
    {"because", "weil", ORDER_LAST, EVER, 0, 24, true, true, false, true},
    {"although", "obwohl", ORDER_LAST, NOW | THEN, 0, 8, true, true, false, true},
    {"if", "wenn", ORDER_LAST, NOW, NOW | LATER, 12, true, false, false, true},
    {"when", "wenn", ORDER_LAST, NOW, NOW, 6, true, false, false, true},
    {"when", "als", ORDER_LAST, THEN, THEN, 12, true, false, false, true},
    {"before", "bevor", ORDER_LAST, NOW | THEN, 0, 6, true, false, false, true},
    {"after", "nachdem", ORDER_LAST, TENSE_PLUPERFECT, THEN, 8, true, false, false, true},
    {"while", "während", ORDER_LAST, NOW | THEN, 0, 6, true, false, false, true},
    {"but", "aber", ORDER_SECOND, EVER, EVER, 12, false, true, true, true},
    {"and", "und", ORDER_SECOND, EVER, EVER, 10, false, false, false, false},
    {"so", "deshalb", ORDER_FIRST, NOW | THEN, 0, 8, false, false, true, true},
    {"that", "dass", ORDER_LAST, EVER, 0, 0, false, false, false, true},
    {"whether", "ob", ORDER_LAST, EVER, 0, 0, false, false, false, true},
};
const size_t sample_lexicon_links_n = COUNT(sample_lexicon_links);
/* clang-format on */

static bool same(const char *a, const char *b)
{
    return a && strcmp(a, b) == 0;
}

const struct sample_noun *sample_lexicon_noun(const char *en)
{
    for (size_t i = 0; i < sample_nouns_n; i++)
        if (same(sample_nouns[i].en, en))
            return &sample_nouns[i];
    return NULL;
}

const struct sample_adjective *sample_lexicon_adjective(const char *en)
{
    for (size_t i = 0; i < sample_lexicon_adjectives_n; i++)
        if (same(sample_lexicon_adjectives[i].en, en))
            return &sample_lexicon_adjectives[i];
    return NULL;
}

/* "pick up" is "pick" and its particle. */
static bool is_named(const struct sample_verb *v, const char *name)
{
    const size_t n = strlen(v->en.base);
    const char *tail = v->particle ? v->particle : v->en_prep;

    if (strncmp(name, v->en.base, n) != 0)
        return false;
    return tail ? name[n] == ' ' && strcmp(name + n + 1, tail) == 0 : !name[n];
}

const struct sample_verb *sample_lexicon_verb(const char *en, enum sample_frame frame)
{
    for (size_t i = 0; i < sample_verbs_n; i++)
        if (sample_verbs[i].frame == frame && is_named(&sample_verbs[i], en))
            return &sample_verbs[i];
    return NULL;
}

const struct sample_modal *sample_lexicon_modal(const char *en_present)
{
    for (size_t i = 0; i < sample_lexicon_modals_n; i++)
        if (same(sample_lexicon_modals[i].en_present, en_present))
            return &sample_lexicon_modals[i];
    return NULL;
}

const struct sample_pronoun *sample_lexicon_pronoun(const char *en)
{
    for (size_t i = 0; i < sample_lexicon_pronouns_n; i++)
        if (same(sample_lexicon_pronouns[i].en, en))
            return &sample_lexicon_pronouns[i];
    return NULL;
}

const struct sample_det *sample_lexicon_det(const char *en)
{
    for (size_t i = 0; i < sample_lexicon_dets_n; i++) {
        const struct sample_det *d = &sample_lexicon_dets[i];
        if (same(d->en, en) || same(d->en_plural, en))
            return d;
    }
    return NULL;
}

const struct sample_phrase *sample_lexicon_phrase(const char *en, enum sample_slot slot)
{
    for (size_t i = 0; i < sample_lexicon_phrases_n; i++) {
        const struct sample_phrase *p = &sample_lexicon_phrases[i];
        if (p->slot == slot && same(p->en, en))
            return p;
    }
    return NULL;
}

const struct sample_prep *sample_lexicon_prep(const char *en, const char *de,
                                              enum sample_case object_case)
{
    for (size_t i = 0; i < sample_lexicon_preps_n; i++) {
        const struct sample_prep *p = &sample_lexicon_preps[i];
        if (p->object_case == object_case && same(p->en, en) && same(p->de, de))
            return p;
    }
    return NULL;
}

const struct sample_link *sample_lexicon_link(const char *en, const char *de)
{
    for (size_t i = 0; i < sample_lexicon_links_n; i++) {
        const struct sample_link *l = &sample_lexicon_links[i];
        if (same(l->en, en) && same(l->de, de))
            return l;
    }
    return NULL;
}
