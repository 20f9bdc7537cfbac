/*
 * text_links - which characters of a text became which of its translation.
 *
 * They are the model's (decode/forced/alignments.h), of one line after the other, moved
 * to where the line stands in both. A line whose translation had to be mended, for a
 * placeholder or white space of its own, has none.
 *
 * Owns: the links. Threads: one at a time.
 */
#pragma once

#include <jansson.h>

#include "base/str.h"
#include "markup/markup.h"

/* In bytes of text and translation. Zeroed = none. */
struct text_links {
    struct markup_link *item;
    size_t n, cap;
};

void text_links_release(struct text_links *l);

/* Those of a line, which begins at byte text_at of its text and from byte all_at on is
 * the end of *all, what there is of the translation. */
status text_links_add(struct text_links *l, const struct markup *line, size_t text_at,
                      const struct markup_translation *t, const struct str *all,
                      size_t all_at, struct err *err);

/* A list of [begin, end, begin, end], ends not included, counted in characters; NULL: no
 * memory. */
json_t *text_links_json(const struct text_links *l, struct line text,
                        struct line translation);
