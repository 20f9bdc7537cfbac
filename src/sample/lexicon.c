/* The function words of the sample corpus: everything but nouns, verbs and adjectives. */
#include "sample/lexicon.h"

#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* clang-format off */
const struct modal lexicon_modals[] = {
    {"can", "can", "could", NULL, false, true, "kann", "können", "konnte"},
    {"must", "must", NULL, NULL, false, false, "muss", "müssen", NULL},
    {"have", "has", "had", "to", true, true, "muss", "müssen", "musste"},
    {"want", "wants", "wanted", "to", true, true, "will", "wollen", "wollte"},
    {"should", "should", NULL, NULL, false, true, "sollte", "sollten", NULL},
    {"may", "may", NULL, NULL, false, true, "darf", "dürfen", NULL},
    {"would", "would", NULL, "like to", false, true, "möchte", "möchten", NULL},
};
const size_t lexicon_modals_n = COUNT(lexicon_modals);

const struct pronoun lexicon_pronouns[] = {
    {"I", "me", {"ich", "mich", "mir"}, PERSON_ICH, 2},
    {"you", "you", {"du", "dich", "dir"}, PERSON_DU, 1},
    {"he", "him", {"er", "ihn", "ihm"}, PERSON_ER, 3},
    {"she", "her", {"sie", "sie", "ihr"}, PERSON_ER, 3},
    {"we", "us", {"wir", "uns", "uns"}, PERSON_PLURAL, 3},
    {"they", "them", {"sie", "sie", "ihnen"}, PERSON_PLURAL, 3},
    {"it", "it", {"es", "es", "ihm"}, PERSON_ER, 0, .is_it = true},
};
const size_t lexicon_pronouns_n = COUNT(lexicon_pronouns);

const struct det lexicon_dets[] = {
    {"the", "the", "d", DECLINE_DER, 44, .is_head = true},
    {"a", NULL, "ein", DECLINE_EIN, 22, .is_head = true},
    {NULL, "", "", DECLINE_NONE, 12},
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
const size_t lexicon_dets_n = COUNT(lexicon_dets);

#define NOW    TENSE_PRESENT
#define THEN   TENSE_PAST
#define LATER  TENSE_FUTURE
#define DONE   TENSE_PERFECT
#define EVER   (NOW | THEN | LATER)
#define ALWAYS (EVER | DONE | TENSE_PLUPERFECT | TENSE_PROGRESSIVE)

const struct phrase lexicon_phrases[] = {
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
const size_t lexicon_phrases_n = COUNT(lexicon_phrases);

const struct prep lexicon_preps[] = {
    {"in", "in", CASE_DATIVE, USE_SPOT_IN},
    {"on", "auf", CASE_DATIVE, USE_SPOT_ON},
    {"under", "unter", CASE_DATIVE, USE_SPOT_ON},
    {"next to", "neben", CASE_DATIVE, USE_SPOT_ON},
    {"behind", "hinter", CASE_DATIVE, USE_SPOT_NEAR},
    {"in front of", "vor", CASE_DATIVE, USE_SPOT_NEAR},
    {"next to", "neben", CASE_DATIVE, USE_SPOT_NEAR},
    {"to", "in", CASE_ACCUSATIVE, USE_GOAL_IN},
    {"to", "zu", CASE_DATIVE, USE_GOAL_TO},
    {"to", "nach", CASE_DATIVE, USE_GOAL_TOWN},
    {"in", "in", CASE_DATIVE, USE_SPOT_TOWN},
    {"on", "auf", CASE_ACCUSATIVE, USE_GOAL_ON},
    {"under", "unter", CASE_ACCUSATIVE, USE_GOAL_ON},
    {"next to", "neben", CASE_ACCUSATIVE, USE_GOAL_ON},
    {"with", "mit", CASE_DATIVE, USE_WITH},
    {"without", "ohne", CASE_ACCUSATIVE, USE_WITH},
    {"ago", "vor", CASE_DATIVE, USE_AGO, true},
    {"in", "in", CASE_DATIVE, USE_SOON},
    {"at", "um", CASE_ACCUSATIVE, USE_CLOCK},
};
const size_t lexicon_preps_n = COUNT(lexicon_preps);

const struct link lexicon_links[] = {
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
const size_t lexicon_links_n = COUNT(lexicon_links);
/* clang-format on */

const void *lexicon_find(const void *rows, size_t n, size_t row_bytes, const char *en)
{
    for (const char *row = rows; n > 0; n--, row += row_bytes) {
        const char *const *name = (const void *)row;
        if (*name && strcmp(*name, en) == 0)
            return row;
    }
    return NULL;
}

const struct det *lexicon_det(const char *en)
{
    for (const struct det *d = lexicon_dets; d < lexicon_dets + lexicon_dets_n; d++)
        if ((d->en && strcmp(d->en, en) == 0) ||
            (d->en_plural && strcmp(d->en_plural, en) == 0))
            return d;
    return NULL;
}
