/*
 * translations - the results of translating lines, in the order of the lines.
 *
 * Owns: all texts, in one block. Threads: one at a time.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct translation {
    size_t at, n_bytes; /* in the text of all; a NUL follows */
    double score;       /* log-probability over the length penalty */
};

/* Of n_lines lines up to n_best translations each, best first. Zeroed = empty. */
struct translations {
    size_t n_lines, n_best;
    struct str text;
    struct translation *item; /* [n_lines,n_best] */
    size_t *n_found;          /* [n_lines] at least 1 when all is done */
};

/* Empty, with room for this many. */
status translations_begin(struct translations *t, size_t n_lines, size_t n_best,
                          struct err *err) MUST_CHECK;
void translations_release(struct translations *t);

/* What was appended to t->text from `at` on is the line's next translation. The line
 * ends that some tokenizers can produce become blanks. */
status translations_add(struct translations *t, size_t line, size_t at, double score,
                        struct err *err) MUST_CHECK;

/* The text of a line's translation of this rank; lives as long as *t is unchanged. */
const char *translations_text(const struct translations *t, size_t line, size_t rank);
