/*
 * sample_line - a sentence written word by word.
 *
 * Commas are asked for and appear before the next word, so that two clauses that end
 * together share one and none is left before the full stop. Borrows the string.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct sample_line {
    struct str *out;
    size_t start; /* where the sentence begins in out */
    bool is_comma_due;
};

struct sample_line sample_line_begin(struct str *out);
/* One word or several; "" adds nothing. */
void sample_line_word(struct sample_line *l, const char *text);
void sample_line_comma(struct sample_line *l);
/* The mark ('.' or '?') and the capital letter of the first word. */
void sample_line_end(struct sample_line *l, char mark);
