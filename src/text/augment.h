/*
 * augment - the text of a pair in other letters: as a user might have written it.
 *
 * What is done to a pair is drawn from its key, with a rate for each kind. Case, end
 * punctuation and numbers change on both sides alike, so that the target stays the
 * translation of the source; typing errors come into the source alone.
 *
 *   upper, title, lower  at most one of them: every letter upper case (ß becomes SS), the
 *                        first letter of every word, or every letter lower case
 *   typos                one of the letters of the source, and one more for each 40, is
 *                        swapped with the next, left out, doubled, or another one's
 *   no_end               the punctuation at the end is gone, if both sides have some
 *   digits               numbers of 2 to 18 ASCII digits beside no letter, which are on
 *                        both sides equally often, become others of the same length
 *
 * Threads: any, with memory of their own.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

#define AUGMENT_KINDS(X) X(upper) X(title) X(lower) X(typos) X(no_end) X(digits)

enum augment_kind {
#define X(kind) AUGMENT_##kind,
    AUGMENT_KINDS(X) AUGMENT_N
#undef X
};

struct augment_rates {
    double of[AUGMENT_N]; /* those of the three cases add up to at most 1 */
};

/* The kinds that are drawn for a pair, as bits 1 << kind. */
unsigned augment_draw(const struct augment_rates *rates, uint64_t key);

/* Do them to UTF-8 text, whose words have one blank between them; `spare` is working
 * space. A text that does not fit into memory turns bad. */
void augment_pair(unsigned kinds, uint64_t key, struct str *source, struct str *target,
                  struct str *spare);
