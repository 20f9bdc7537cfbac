/*
 * normalizer - text as SentencePiece normalises it before it learns or encodes.
 *
 * At each place the longest matching rule of the model replaces what it matches; what no
 * rule matches stays, broken bytes one by one become U+FFFD; white space is squeezed and
 * trimmed, and one space stands before the first word. This is what SentencePiece does
 * with its default settings (dummy prefix, squeezed and escaped spaces); here a space
 * mark (U+2581) is written as one blank, wherever it came from.
 *
 * Borrows: the rules, which passed normalizer_guard(). Threads: immutable once made.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/str.h"

struct normalizer {
    struct line units;     /* a Darts double array, see normalizer.c; may be empty */
    struct line text;      /* what the rules give, NUL-terminated each */
    bool is_letter[256];   /* it stands for itself when the byte after it is ASCII */
    bool binds_space[256]; /* rules exist for a blank and this byte */
    bool is_plain; /* rules give UTF-8; no rule but those of a blank itself has a blank */
};

/*
 * Whether SentencePiece, which walks the rules without checking a bound, may have them:
 * every jump stays inside the array, every string ends inside the rules, and no text
 * matches more rules at once than SentencePiece has room for.
 */
status normalizer_guard(struct line charsmap, bool *is_safe, struct err *err);

/* charsmap: the bytes of the model's rules. */
status normalizer_init(struct normalizer *n, struct line charsmap, struct err *err);

/* Append the words of a line, a blank before each; text of white space gives nothing. */
void normalizer_line(const struct normalizer *n, struct line in, struct str *out);

/*
 * True when each token of the line, that is what stands between blanks, normalises to the
 * same words in every line in which it stands between blanks or at an end.
 */
bool normalizer_has_tokens(const struct normalizer *n, struct line in);

/* If that holds for a line that is one token, append its words. */
bool normalizer_token(const struct normalizer *n, struct line token, struct str *out);
