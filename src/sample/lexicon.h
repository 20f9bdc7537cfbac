/*
 * lexicon - the words of the sample corpus, English beside German.
 *
 * The rows are data, a file of configs/sample for each table (cmake/lexicon.cmake). A row
 * says everything that the two grammars need to inflect its word: what no rule of
 * inflect.c predicts is spelled out, what is left NULL is regular. An English word form
 * together with its place in the sentence picks one German word, because the corpus is
 * for training from English to German.
 *
 * The tables are constants; everything here may be used from any thread. What is drawn
 * depends on the order of the rows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum sample_side { SIDE_EN, SIDE_DE, N_SIDES };

enum gender { GENDER_MASCULINE, GENDER_FEMININE, GENDER_NEUTER };
enum casus { CASE_NOMINATIVE, CASE_ACCUSATIVE, CASE_DATIVE, CASE_GENITIVE };

/* The columns of every German verb table. */
enum person { PERSON_ICH, PERSON_DU, PERSON_ER, PERSON_PLURAL };

/* What a noun is good for; verbs and adjectives name the classes they go with. */
enum class {
    CLASS_PERSON = 1 << 0,
    CLASS_JOB = 1 << 1,  /* "He is a baker." */
    CLASS_MALE = 1 << 2, /* may be the subject of that */
    CLASS_ANIMAL = 1 << 3,
    CLASS_THING = 1 << 4, /* can be carried, lost and given */
    CLASS_TEXT = 1 << 5,
    CLASS_SPEECH = 1 << 6, /* told and explained */
    CLASS_CLOTHES = 1 << 7,
    CLASS_DEVICE = 1 << 8,
    CLASS_OPENABLE = 1 << 9,
    CLASS_SURFACE = 1 << 10,
    CLASS_FOOD = 1 << 11,
    CLASS_DRINK = 1 << 12,
    CLASS_VEHICLE = 1 << 13,
    CLASS_PLACE = 1 << 14,
    CLASS_ROOM = 1 << 15,
    CLASS_BUILDING = 1 << 16,
    CLASS_LANGUAGE = 1 << 17,
    CLASS_MONEY = 1 << 18,
    CLASS_PERIOD = 1 << 19,  /* days, weeks, years */
    CLASS_HOUR = 1 << 20,    /* o'clock */
    CLASS_TOWN = 1 << 21,    /* "to Berlin" is "nach Berlin" */
    CLASS_TRANSIT = 1 << 26, /* boarded and waited for */
    CLASS_TALE = 1 << 27,
    CLASS_WRITTEN = 1 << 28, /* what one person writes */
    /* How the noun inflects. */
    CLASS_MASS = 1 << 22,   /* no plural, no "a" */
    CLASS_PROPER = 1 << 23, /* a name: no determiner */
    CLASS_WEAK = 1 << 24,   /* der Student, den Studenten: oblique = plural */
    CLASS_STOP = 1 << 25,   /* "to the station" is "zum", not "in den" */
    /* Several at once. */
    CLASS_LIVING = CLASS_PERSON | CLASS_ANIMAL,
    CLASS_WARES = CLASS_THING | CLASS_VEHICLE | CLASS_FOOD | CLASS_SURFACE,
    CLASS_GOODS = CLASS_THING | CLASS_SURFACE | CLASS_VEHICLE | CLASS_OPENABLE,
    CLASS_HOUSES = CLASS_PLACE | CLASS_BUILDING,
    CLASS_WORDS = CLASS_TEXT | CLASS_SPEECH,
    CLASS_EATABLE = CLASS_FOOD | CLASS_DRINK
};

struct noun {
    const char *en, *de, *de_plural; /* de_plural NULL: same as de */
    enum gender gender;
    unsigned classes;
    const char *de_genitive; /* NULL: de + "s" unless feminine or weak */
    const char *en_plural;   /* NULL: regular */
};

struct adjective {
    const char *en, *de;
    unsigned classes;    /* of the nouns it describes */
    const char *de_stem; /* before an ending; NULL: de */
};

/* What follows the verb, and so what the German clause looks like. */
enum frame {
    FRAME_ALONE,      /* sleep */
    FRAME_OBJECT,     /* see: accusative; help: dative */
    FRAME_RECIPIENT,  /* give: dative and accusative */
    FRAME_PREP,       /* wait for: auf + accusative */
    FRAME_GOAL,       /* go: in + accusative, zu, nach */
    FRAME_SPOT,       /* live, sit: in, auf + dative */
    FRAME_PUT,        /* put: accusative, auf + accusative */
    FRAME_LIKE,       /* gefallen: the English object is the German subject */
    FRAME_BE,         /* sein + adjective */
    FRAME_JOB,        /* sein + noun without an article */
    FRAME_EXIST,      /* there is: es gibt + accusative */
    FRAME_WEATHER,    /* it rains */
    FRAME_THAT,       /* say: dass */
    FRAME_WHETHER,    /* ask: ob */
    FRAME_INFINITIVE, /* try: zu + infinitive */
    N_FRAMES
};

#define FRAME_BIT(name) (1u << FRAME_##name)

struct verb {
    struct {
        const char *base, *past, *participle, *ing; /* NULL: regular */
    } en;
    struct {
        const char *infinitive, *participle; /* without and with the prefix */
        const char *er;                      /* present tense; NULL: regular */
        const char *preterite;               /* set: its past is not a perfect */
    } de;
    enum frame frame;
    unsigned subjects, objects; /* classes; of FRAME_GOAL and FRAME_SPOT, the places */
    const char *prefix;         /* separable: an|rufen */
    const char *particle;       /* turn on: behind a pronoun object */
    const char *en_prep;        /* look for: always before the object */
    const char *de_prep;        /* FRAME_PREP */
    bool is_dative;             /* object; else accusative */
    bool is_sein;               /* perfect with sein */
    bool is_state;              /* no "is knowing" */
    bool is_to; /* FRAME_RECIPIENT: "explain it to him", never "explain him it" */
};

struct modal {
    const char *en, *en_third, *en_past; /* en_past NULL: present only */
    const char *en_lead;                 /* between it and the infinitive */
    bool is_lexical;                     /* "does not want to" */
    bool is_negatable;
    const char *de_er, *de_plural, *de_past;
};

struct pronoun {
    const char *en, *en_object;
    const char *de[3]; /* nominative, accusative, dative */
    enum person person;
    unsigned weight; /* how often, among all pronouns */
    bool is_it;      /* German follows the gender of what "it" stands for */
};

/* Which endings a determiner takes, and which it leaves to the adjective. */
enum declension {
    DECLINE_NONE,   /* nothing there, or a number: strong adjective */
    DECLINE_DER,    /* der, die, das: weak adjective */
    DECLINE_DIESER, /* stem + strong ending: weak adjective */
    DECLINE_EIN,    /* stem + ending or none: mixed adjective */
    DECLINE_VIELE   /* stem + strong ending: strong adjective */
};

struct det {
    const char *en, *en_plural; /* NULL: has no such number */
    const char *de;
    enum declension declension;
    unsigned weight; /* how often, among all determiners */
    bool is_question;
    bool is_owner;    /* my, your...: stands well before kin */
    bool is_quantity; /* every, many: not under a negation */
    bool is_head;     /* a relative clause may follow */
};

/* Where a fixed phrase stands. */
enum slot {
    SLOT_TIME,    /* English: end; German: early in the middle field */
    SLOT_MID,     /* often: English: before the verb */
    SLOT_MANNER,  /* slowly */
    SLOT_MEANS,   /* by bus */
    SLOT_SPOT,    /* here */
    SLOT_COMMENT, /* unfortunately: in front */
    SLOT_DEGREE,  /* very: before a predicate */
    SLOT_ASK,     /* when, why */
    N_SLOTS
};

enum tense {
    TENSE_PRESENT = 1 << 0,     /* sees: sieht */
    TENSE_PROGRESSIVE = 1 << 1, /* is seeing: sieht gerade */
    TENSE_PAST = 1 << 2,        /* saw: hat gesehen */
    TENSE_PERFECT = 1 << 3,     /* has seen: hat gesehen */
    TENSE_PLUPERFECT = 1 << 4,  /* had seen: hatte gesehen */
    TENSE_FUTURE = 1 << 5       /* will see: wird sehen */
};

/* Sets of tenses: without a perfect; for a new clause; all. */
enum {
    TENSE_EVER = TENSE_PRESENT | TENSE_PAST | TENSE_FUTURE,
    TENSE_ANY = TENSE_EVER | TENSE_PROGRESSIVE | TENSE_PERFECT,
    TENSE_ALWAYS = TENSE_ANY | TENSE_PLUPERFECT
};

struct phrase {
    const char *en, *de;
    enum slot slot;
    unsigned tenses; /* that it goes with */
    bool is_late;    /* SLOT_MID: German puts it behind a definite object */
};

enum prep_use {
    USE_SPOT_IN,   /* in + dative, with places */
    USE_SPOT_ON,   /* auf, unter... + dative, with furniture */
    USE_SPOT_NEAR, /* vor, hinter, neben + dative, with places */
    USE_GOAL_IN,   /* to: in + accusative */
    USE_GOAL_TO,   /* to: zu */
    USE_GOAL_TOWN, /* to: nach */
    USE_GOAL_ON,   /* auf, unter... + accusative, with furniture */
    USE_SPOT_TOWN,
    USE_WITH, /* company: mit, ohne */
    USE_AGO,
    USE_SOON, /* "in three days" */
    USE_CLOCK
};

struct prep {
    const char *en, *de;
    enum casus object_case;
    enum prep_use use;
    bool is_after; /* English puts it behind: three days ago */
};

/* Where the German finite verb stands; English inverts in questions alone. */
enum order { ORDER_SECOND, ORDER_FIRST, ORDER_QUESTION, ORDER_LAST };

/* How two clauses are joined. */
struct link {
    const char *en, *de;
    enum order order;     /* of the German clause behind it */
    unsigned tenses;      /* of that clause */
    unsigned main_tenses; /* of the clause before it; 0: the same tense */
    unsigned weight;
    bool is_frontable;
    bool is_about_it; /* the second clause may explain an object of the first */
    bool has_en_comma, has_de_comma; /* before it */
};

/* 0 to 19, then the tens from 20. */
struct number {
    const char *en, *de;
};

/* Auxiliaries and parts of phrases, which are in no other table by themselves. */
struct gloss_word {
    const char *en, *de;
};

#define LEXICON_TABLE(row)                      \
    extern const struct row lexicon_##row##s[]; \
    extern const size_t lexicon_##row##s_n

LEXICON_TABLE(noun);
LEXICON_TABLE(verb);
LEXICON_TABLE(adjective);
LEXICON_TABLE(modal);
LEXICON_TABLE(pronoun);
LEXICON_TABLE(det);
LEXICON_TABLE(phrase);
LEXICON_TABLE(prep);
LEXICON_TABLE(link);
LEXICON_TABLE(number);
LEXICON_TABLE(gloss_word);

/* The first row of a table whose English, its first member, is `en`; NULL: none. */
const void *lexicon_find(const void *rows, size_t n, size_t row_bytes, const char *en);
#define LEXICON_FIND(name, en) \
    lexicon_find(lexicon_##name, lexicon_##name##_n, sizeof *lexicon_##name, en)

/* By either number; "" is the plural without a determiner. */
const struct det *lexicon_det(const char *en);
