/*
 * sample_english - says a tree in English.
 *
 * Subject, auxiliary, not, adverb, verb, objects, manner, place, means, time; with
 * do-support, a/an, third person -s and the spelling of the regular forms.
 */
#pragma once

#include "base/str.h"
#include "sample/sample_tree.h"

/* Appends the sentence to out, without a line end. */
void sample_english_say(const struct sample_sentence *s, struct str *out);

enum { SAMPLE_ENGLISH_MAX = 64 };

struct sample_english_word {
    char text[SAMPLE_ENGLISH_MAX];
};

enum sample_english_form { FORM_BASE, FORM_THIRD, FORM_PAST, FORM_PARTICIPLE, FORM_ING };

void sample_english_verb(struct sample_english_word *w, const struct sample_verb *v,
                         enum sample_english_form form);
void sample_english_noun(struct sample_english_word *w, const struct sample_noun *n,
                         bool is_plural);
/* 1..999: twenty-one, three hundred. */
void sample_english_number(struct sample_english_word *w, unsigned n);
