/*
 * ngram - how many n-grams of a hypothesis its references share, exactly and in time
 * linear in their length.
 *
 * Words are numbers. An n-gram is named by a pair: the name of its first n-1 words, and
 * its last word; equal n-grams get equal names and different ones different names,
 * because the table compares the pairs themselves, never only their hashes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/table.h"

struct ngram_words {
    const uint32_t *word;
    size_t n;
};

/*
 * For n from 1 to n_orders: add to match[n-1] the n-grams of `hyp`, each counted at most
 * as often as in the reference that has it most often, and to total[n-1] all n-grams of
 * `hyp`.
 */
status ngram_match(uint64_t *match, uint64_t *total, size_t n_orders,
                   struct ngram_words hyp, const struct ngram_words *ref, size_t n_refs,
                   struct err *err);

/* Numbers of words: equal words of one struct get equal ones. Zeroed = empty. */
struct ngram_numbers {
    struct table table;
    struct line *text; /* by number */
    size_t cap_text;
    uint32_t *word; /* all numbers given so far, in order of the calls */
    size_t n_words, cap;
};

/* Number the words of a text, which are separated by single blanks. The text must stay
 * where it is until ngram_numbers_release(). */
status ngram_number(struct ngram_numbers *k, struct line text, struct err *err);
void ngram_numbers_release(struct ngram_numbers *k);
