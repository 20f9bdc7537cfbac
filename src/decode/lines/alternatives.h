/*
 * alternatives - the next words that translations of a line have said behind its
 * beginning, so that the next one says another.
 *
 * Each search refuses the words that those before it found: so every alternative is the
 * best translation whose next word is none of theirs (decode/steer/next.h).
 *
 * Owns: the words. Threads: one at a time.
 */
#pragma once

#include "decode/steer/guide.h"

/* Zeroed = none. */
struct alternatives {
    struct letters_text *word; /* [n_lines,n_each] each in memory of its own, which stays
                                  where it is while searches read it */
    size_t *n_words;           /* [n_lines] */
    size_t n_lines, n_each;
};

/* Up to n_each words, at most NEXT_WORDS, of each of n lines. */
status alternatives_open(struct alternatives *a, size_t n_lines, size_t n_each,
                         struct err *err);
void alternatives_close(struct alternatives *a);

/* Line i has another translation of n tokens, found with guide g; whether its next word
 * is a new one. */
status alternatives_add(struct alternatives *a, size_t i, const struct guide *g,
                        const int32_t *token, size_t n, bool *is_new, struct err *err);

/* Let the guide of line i refuse those that it has so far. */
void alternatives_guide(const struct alternatives *a, size_t i, struct guide *g);
