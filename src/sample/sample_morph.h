/*
 * sample_morph - German word forms: articles, endings, nouns, verbs, numbers.
 *
 * Every function writes one form into its first argument or returns a constant; none
 * can fail, because a form is much shorter than the room for it (BUG_ON otherwise).
 */
#pragma once

#include "sample/sample_lexicon.h"

enum { SAMPLE_MORPH_MAX = 64 };

struct sample_morph_word {
    char text[SAMPLE_MORPH_MAX];
};

/* The columns of the declension tables. */
enum sample_column { COLUMN_MASCULINE, COLUMN_FEMININE, COLUMN_NEUTER, COLUMN_PLURAL };

enum sample_column sample_morph_column(enum sample_gender gender, bool is_plural);

void sample_morph_join(struct sample_morph_word *w, const char *a, const char *b);

void sample_morph_det(struct sample_morph_word *w, const struct sample_det *det,
                      enum sample_case casus, enum sample_column column);
void sample_morph_adjective(struct sample_morph_word *w,
                            const struct sample_adjective *adjective,
                            enum sample_declension declension, enum sample_case casus,
                            enum sample_column column);
void sample_morph_noun(struct sample_morph_word *w, const struct sample_noun *noun,
                       enum sample_case casus, bool is_plural);
/* "it" takes the gender of the noun it stands for. */
const char *sample_morph_pronoun(const struct sample_pronoun *p,
                                 const struct sample_noun *stands_for,
                                 enum sample_case casus);
const char *sample_morph_relative(enum sample_gender gender, bool is_plural,
                                  enum sample_case casus);
/* "im" for in + dem; NULL when the two do not merge. */
const char *sample_morph_contract(const char *prep, enum sample_gender gender,
                                  enum sample_case casus);
/* 1..999: einundzwanzig. */
void sample_morph_number(struct sample_morph_word *w, unsigned n);

/* A verb as its clause needs it: "ruft" + "an" in a main clause, "anruft" at the end. */
struct sample_morph_group {
    struct sample_morph_word finite, rest, last;
};

void sample_morph_verb(struct sample_morph_group *g, const struct sample_verb *v,
                       const struct sample_modal *modal, enum sample_tense tense,
                       enum sample_person person);
/* "zu lesen", "anzurufen" in g->last. */
void sample_morph_infinitive(struct sample_morph_group *g, const struct sample_verb *v);
/* The present tense without its prefix. */
void sample_morph_present(struct sample_morph_word *w, const struct sample_verb *v,
                          enum sample_person person);
