/*
 * beginnings - texts that translations must begin with, as a search takes them.
 *
 * Whole words, which white space follows, become the tokenizer's pieces for them. The
 * last word, if nothing follows it, may be unfinished: "Die Müt" is how "Die Mütter"
 * begins, though the pieces of "Müt" need not be pieces of "Mütter". So its letters are
 * given, and the search finds the pieces. White space at the end says that a word has
 * ended: a blank is the letter that comes next. A last word with characters that the
 * tokenizer does not know cannot be spelled; it becomes pieces as the others.
 *
 * Owns: pieces and letters. Borrows: the texts. Threads: one at a time.
 */
#pragma once

#include "base/str.h"
#include "decode/steer/guide.h"

struct encoder;

struct beginning {
    struct line given;   /* as it came */
    size_t id_at, n_ids; /* pieces, S first; none: nothing was given but white space */
    size_t code_at, n_codes; /* letters behind them */
    size_t text_at, n_bytes; /* all of it as the tokenizer writes it */
};

/* Zeroed = empty. */
struct beginnings {
    struct beginning *item;
    size_t n, cap;
    struct spm_ids ids;
    uint32_t *code;
    size_t n_codes, cap_codes;
    struct str text;
};

/* One more. ERR_FORMAT when it has more than max_length tokens, letters counted. */
status beginnings_add(struct beginnings *b, const struct spm *spm,
                      struct encoder *encoder, struct line given, size_t max_length,
                      struct err *err);
void beginnings_release(struct beginnings *b);

/* Positions that beginning i may take at most. */
size_t beginnings_length(const struct beginnings *b, size_t i);

/* Let the guide begin with i; when all were added. */
void beginnings_guide(const struct beginnings *b, size_t i, struct guide *g);

/* Append the beginning as it came, and what a translation that begins so says behind it.
 */
void beginnings_join(const struct beginnings *b, size_t i, struct line translation,
                     struct str *out);
