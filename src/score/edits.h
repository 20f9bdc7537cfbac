/*
 * edits - how many edits make a hypothesis its reference: TER's count.
 *
 * Words are inserted, deleted and replaced, and blocks of words are shifted, each for one
 * edit. Which shifts are tried, and in which order, is what Tercom does and sacreBLEU 2.6
 * after it: blocks of up to 10 words that the reference has at most 50 words away, as
 * long as one makes the distance smaller, and at most about a thousand attempts. The
 * distance is sought within 25 words of the diagonal of the two lengths, or more where
 * they differ so much that rows would not meet.
 *
 * Memory grows linearly with the number of words, and time too, however the words repeat
 * (a thousand attempts of 50 cells a word).
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "score/ngram.h"

/* Equal words have equal numbers. */
status edits_count(uint64_t *n_edits, struct ngram_words hyp, struct ngram_words ref,
                   struct err *err);
