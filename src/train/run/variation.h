/*
 * variation - the training text, never twice the same: words cut into other pieces
 * (BPE-dropout, or sampling from a unigram model) and pairs in other letters
 * (text/augment.h), made anew for each epoch.
 *
 * What becomes of a pair is a pure function of (seed, epoch, pair), so neither a resumed
 * run nor the number of ranks, threads and micro-batches changes it. Updates have the
 * pairs that they have without variation, and as many tokens as these then are. A pair
 * stays as it is stored where its text cannot be regained from its ids, where the
 * vocabulary cannot spell the changed text, and, each side for itself, where more pieces
 * would not fit into max_length.
 *
 * Owns: encoders and working space. Borrows: the tokenizers, which outlive it. Threads:
 * one at a time.
 */
#pragma once

#include "base/err.h"
#include "base/opt.h"
#include "base/str.h"
#include "corpus/varied.h"
#include "text/subword/spm.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define VARIATION_OPTIONS(X)                                                                     \
    X(REAL, bpe_dropout, "0", "share of merges of pieces skipped, anew each epoch; 0: none", RANGE(0, 1)) \
    X(REAL, subword_alpha, "0", "unigram pieces drawn anew, by probabilities to this power; 0: none", RANGE(0, 1000)) \
    X(CHOICE, bpe_dropout_side, "both", "side of the pairs that has bpe_dropout or subword_alpha", ONE_OF("both|source|target")) \
    X(REAL, augment_upper, "0", "share of pairs read in upper case", RANGE(0, 1))                \
    X(REAL, augment_title, "0", "share of pairs with a capital before every word", RANGE(0, 1))  \
    X(REAL, augment_lower, "0", "share of pairs read in lower case", RANGE(0, 1))                \
    X(REAL, augment_typos, "0", "share of sources with typing errors", RANGE(0, 1))              \
    X(REAL, augment_no_end, "0", "share of pairs without their end punctuation", RANGE(0, 1))    \
    X(REAL, augment_digits, "0", "share of pairs with other numbers, alike on both sides", RANGE(0, 1))
/* clang-format on */

struct variation_config {
    VARIATION_OPTIONS(OPT_FIELD)
};

/* What no single option can say. */
status variation_check(const struct variation_config *c, struct err *err);

/* Whether anything varies. */
bool variation_is_on(const struct variation_config *c);

struct variation;

struct variation_rule {
    const struct variation_config *config;
    uint64_t seed;
    size_t max_length;
};

/* NULL where nothing varies. ERR_USAGE for a tokenizer of which that cannot be done. */
status variation_open(struct variation **v, struct variation_rule rule,
                      const struct spm *spm, struct err *err);
void variation_close(struct variation *v); /* NULL is fine */

/* For varied_make(): its context is the variation. */
vary_fn variation_make;

/* Append the rates that are not 0, as options. */
void variation_describe(const struct variation_config *c, struct str *out);
