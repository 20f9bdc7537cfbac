/*
 * next - the next word of a translation behind its given beginning, and words that it
 * must not be.
 *
 * The next word is a blank, if one comes, and then all letters and digits up to the first
 * that is none, or a single mark, or a single letter of a script without blanks between
 * words. Where the beginning ends inside a word, it is the rest of that word. It is empty
 * when the translation ends with its beginning.
 *
 * Owns nothing. Threads: a state belongs to its hypothesis.
 */
#pragma once

#include "decode/steer/letters.h"

enum { NEXT_WORDS = 64 }; /* that it must not be, at most */

/* Words that it must not be. */
struct next_refused {
    const struct letters_text *word; /* [n] */
    size_t n;
};

enum next_stage { NEXT_OPEN, NEXT_WORD, NEXT_OVER };

/* Zeroed but for `same` = nothing said. */
struct next_state {
    uint64_t same;  /* bits of the words that begin as it does */
    uint32_t n;     /* letters of it */
    uint32_t stage; /* enum next_stage: a blank at most; in a word; it has ended */
};

static inline void next_begin(struct next_state *s)
{
    *s = (struct next_state){.same = UINT64_MAX};
}

/* Another letter behind `last`; false: the word ends with it or before it, and must not
 * be. */
bool next_read(const struct next_refused *r, struct next_state *s, uint32_t last,
               uint32_t code);

/* Is it one that must not be, if it has ended here? */
bool next_is_refused(const struct next_refused *r, const struct next_state *s);
