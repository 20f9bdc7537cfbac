/*
 * references - further translations of a held-out set, which it is scored against beside
 * its own: text files with a line for each of its pairs.
 *
 * Owns: the mappings of the files. Outlives: the lines that are handed out. Threads:
 * immutable once opened.
 */
#pragma once

#include <stddef.h>

#include "base/lines.h"

enum { REFERENCES_MAX = 16 };

/* Zeroed: none. */
struct references {
    size_t n;
    struct lines file[REFERENCES_MAX];
    struct line *line[REFERENCES_MAX]; /* [n_lines] each */
};

/* The files that `paths` names, commas between them; "": none. ERR_FORMAT for other
 * lines than n_lines, and for what is not UTF-8. On failure *r is closed. */
status references_open(struct references *r, const char *paths, size_t n_lines,
                       struct err *err);
void references_close(struct references *r);

/* Of line i into out[0..r->n); r may be NULL, which has none. */
size_t references_of(const struct references *r, size_t i, struct line *out);
