/*
 * inflect - word forms of both languages: endings, articles, verb groups, numbers.
 *
 * None can fail, because a form is much shorter than the room for it (BUG_ON otherwise).
 */
#pragma once

#include "sample/lexicon.h"

struct word {
    char text[64];
};

struct word inflect_join(const char *a, const char *b, const char *c);

enum english_form { FORM_BASE, FORM_THIRD, FORM_PAST, FORM_PARTICIPLE, FORM_ING };

struct word inflect_en_verb(const struct verb *v, enum english_form form);
struct word inflect_en_noun(const struct noun *n, bool is_plural);
/* 1..999: twenty-one; einundzwanzig. */
struct word inflect_en_number(unsigned n);
struct word inflect_number(unsigned n);

/* The columns of the German declension tables. */
enum column { COLUMN_MASCULINE, COLUMN_FEMININE, COLUMN_NEUTER, COLUMN_PLURAL };

enum column inflect_column(const struct noun *noun, bool is_plural);
struct word inflect_det(const struct det *det, enum casus casus, enum column column);
struct word inflect_adjective(const struct adjective *adjective,
                              enum declension declension, enum casus casus,
                              enum column column);
struct word inflect_noun(const struct noun *noun, enum casus casus, bool is_plural);
/* "it" takes the gender of the noun it stands for. */
const char *inflect_pronoun(const struct pronoun *p, const struct noun *stands_for,
                            enum casus casus);
const char *inflect_relative(enum column column, enum casus casus);
/* "im" for in + dem; NULL when the two do not merge. */
const char *inflect_contract(const char *prep, enum gender gender, enum casus casus);

/* The present tense without its prefix. */
struct word inflect_present(const struct verb *v, enum person person);

/* A verb as its clause needs it: "ruft" + "an" in a main clause, "anruft" at the end. */
struct verb_group {
    struct word finite, rest, last;
};

struct verb_group inflect_verb(const struct verb *v, const struct modal *modal,
                               enum tense tense, enum person person);
/* "zu lesen", "anzurufen" in `last`. */
struct verb_group inflect_infinitive(const struct verb *v);
