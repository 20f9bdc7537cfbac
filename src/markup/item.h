/*
 * item - words of a segment's translation with what must be kept among them, in the order
 * of the result.
 *
 * What is kept (placeholders, elements that are not translated) is found in the
 * translation as it is, or as the translator changed it, or is put where its neighbours
 * went; each is in the list exactly once. Placeholders that the source has not are left
 * out.
 *
 * Owns: arrays, which are used again. Borrows: the input. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "markup/markup.h"

/* Of an item's mark: it is text. Of its source: that is not known. */
#define ITEM_NONE ((size_t)-1)

struct item {
    size_t at, n_bytes; /* in the translation, if it is text */
    size_t mark;        /* of the segment, what is kept */
    size_t source;      /* byte of the segment that it stands for */
    struct line gap;    /* white space before it */
    bool is_phrase;     /* several words that stay together */
};

/* A segment and its translation. */
struct item_input {
    const struct markup *m;
    const struct markup_segment *segment;
    struct line source;             /* its text */
    const struct markup_mark *mark; /* [segment->n_marks] */
    struct markup_translation translation;
    bool is_strict; /* placeholders have white space around them, whatever it was */
};

/* A stretch of the translation that is no plain text. */
struct item_range {
    size_t at, n_bytes, mark;
    int holder;
    bool is_text;   /* after all */
    bool is_phrase; /* text that stays together */
};

/* Zeroed = empty. */
struct items {
    struct item *item;
    size_t n, cap;
    struct item_range *range;
    size_t n_ranges, cap_ranges;
    size_t *overlap, cap_overlap; /* [n] bytes of the best link so far */
    /* Placeholders whose text must not be anywhere else: [n_marks]. Not measures, nor
     * those that the source has as parts of words too. */
    bool is_single[MARKUP_MARKS];
};

status item_build(struct items *items, const struct item_input *in, struct err *err);
void item_release(struct items *items);

/* How often a text holds another, which is not empty. */
size_t item_count(struct line text, struct line what);

/*
 * Where among the items [first, end) something belongs that stands at bytes [at, at + n)
 * of the source: the number of the item that follows it.
 */
size_t item_anchor(const struct items *items, const struct item_input *in, size_t first,
                   size_t end, size_t at, size_t n);
