/*
 * gloss - word-for-word translation with the lexicon as the dictionary.
 *
 * Every English word is replaced by one German word where it stands: the first entry
 * that has it, in the form a dictionary gives (nominative, third person, participle,
 * infinitive). What a model must beat; a measure of how much order and agreement matter.
 */
#pragma once

#include "base/err.h"
#include "base/lines.h"
#include "base/str.h"
#include "sample/inflect.h"

enum { GLOSS_MAX = 1280 };

/* The dictionary; 160 KB, so better not on the stack. */
struct gloss {
    struct {
        struct word en, de;
    } entry[GLOSS_MAX];
    size_t n;
};

void gloss_open(struct gloss *g);
/* Appends the gloss of one English sentence of the sample corpus to out. */
void gloss_sentence(const struct gloss *g, struct line en, struct str *out);

/* The gloss of every line of the file `from`, as the file `to`. */
status gloss_file(const char *from, const char *to, struct err *err);
