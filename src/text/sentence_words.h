/*
 * sentence_words - the words by which a language tells its full stops apart.
 *
 * Threads: any; nothing is kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/lines.h"

/* What a full stop behind a word means. */
enum sentence_words_kind {
    SENTENCE_WORDS_NONE,   /* no abbreviation */
    SENTENCE_WORDS_NEVER,  /* an abbreviation that ends no sentence: Mr. */
    SENTENCE_WORDS_NUMBER, /* one before numbers, otherwise a word: No. 5 */
    SENTENCE_WORDS_MAYBE,  /* one that may end a sentence: Inc. */
    SENTENCE_WORDS_LETTER, /* no abbreviation but a word of one letter: so am I. */
};

struct sentence_words;

/* The words of a language ("de", "de-AT"); of all languages when it is not known. */
const struct sentence_words *sentence_words_of(const char *lang);

/*
 * `word` is in lower case, or has a capital first letter, which only the abbreviations
 * match that are told from words by it. Parts are joined by full stops alone: "z.b".
 */
enum sentence_words_kind sentence_words_abbreviation(const struct sentence_words *w,
                                                     struct line word);

/* The others are in lower case. A word that often begins sentences and is no name: */
bool sentence_words_starts(const struct sentence_words *w, struct line word);
/* Whether ordinal numbers have a full stop and nouns a capital: "am 3. Oktober". */
bool sentence_words_has_ordinals(const struct sentence_words *w);
/* Before, after an ordinal number: "am", "oktober". */
bool sentence_words_before_ordinal(const struct sentence_words *w, struct line word);
bool sentence_words_after_ordinal(const struct sentence_words *w, struct line word);
/* A verb that tells who spoke: "Why?" Tom asked. */
bool sentence_words_speaks(const struct sentence_words *w, struct line word);
