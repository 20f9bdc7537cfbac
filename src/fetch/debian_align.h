/*
 * debian_align - a description in two languages as pairs of segments.
 *
 * The title is always a pair. Paragraphs are paired when both texts have as many; within
 * a paragraph, running text and list items are paired when they follow each other alike;
 * running text is cut into sentences when both sides have as many. What does not line up
 * is left out, not guessed.
 *
 * Borrows both texts during the call. Owns nothing between calls. Threads: any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "fetch/fetch.h"

/* Segments without line ends, blanks single; valid during the call. */
typedef status debian_align_fn(void *to, const char *const text[N_FETCH_SIDES],
                               struct err *err);

struct debian_align_stats {
    uint64_t n_titles, n_sentences, n_paragraphs, n_items;
    uint64_t n_unequal; /* descriptions whose numbers of paragraphs differ */
    uint64_t n_unlike;  /* paragraphs that do not follow each other alike */
};

/* Pairs of two descriptions (fetch/debian_text.h), title first, to `add`. */
status debian_align(const char *const text[N_FETCH_SIDES], const size_t n[N_FETCH_SIDES],
                    struct debian_align_stats *stats, debian_align_fn *add, void *to,
                    struct err *err) MUST_CHECK;

/* Where the sentence that begins at text ends: its length, the blank behind it left out.
 */
size_t debian_align_sentence(const char *text);
