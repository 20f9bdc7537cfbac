/*
 * marks - tokens that stand in front of a source and say what is wanted or where it comes
 * from: ">>de<<" the language, ">>bt<<" a translation that was translated back.
 *
 * No text becomes such a token: `marks` reserves it when a vocabulary is learned, and a
 * source gets it that begins with its name, in a preparation as in translation
 * (spm_mark()), or whose directory is prepared with `mark`.
 *
 * Owns: nothing. Threads: immutable once read.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/lines.h"
#include "text/subword/spm.h"

enum { MARKS_MAX = 64, MARKS_TEXT = 40 };

struct marks {
    size_t n;
    char text[MARKS_MAX][MARKS_TEXT]; /* ">>de<<" */
    const char *own; /* one of them, of sources that have none themselves; NULL: none */
};

/* From the options: names with commas between, and one of them; with or without signs. */
status marks_read(struct marks *m, const char *names, const char *own, struct err *err);

/* ERR_USAGE names a mark that the tokenizer from `path` does not know. */
status marks_check(const struct marks *m, const struct spm *spm, const char *path,
                   struct err *err);

/* The text without a mark of these that it begins with. */
struct line marks_without(const struct marks *m, struct line text);
