/*
 * sentences - where sentences end in a line of text, and where a long one may be cut.
 *
 * A sentence ends after . ! ? … and their relatives in other scripts, together with the
 * quotes and brackets that close behind them. A full stop needs more: white space after
 * it, then something that can begin a sentence, and before it no abbreviation, initial
 * or ordinal number (text/sentence_words.h). Chinese and Japanese need no white space.
 * When in doubt the text stays together: a pair of sentences translates better as one
 * than a torn sentence as two. docs/sentences.md has the rules and what was measured.
 *
 * Owns: the array. Threads: any; every call has its own array.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* Bytes of the line: a sentence without the white space around it. */
struct sentences_span {
    size_t at, n_bytes;
};

/* A zeroed one is empty. */
struct sentences {
    struct sentences_span *span;
    size_t n, cap;
};

void sentences_release(struct sentences *s);

/*
 * The sentences of one line. Spans are in order, not empty, and hold every byte that is
 * not white space exactly once, so what is between them is white space (or nothing, in
 * Chinese and Japanese) that the caller puts back. `lang`: "de", "pt-BR"; one that is not
 * known, or "", takes the abbreviations of all. Any bytes are safe, in linear time.
 */
status sentences_split(struct sentences *out, const char *line, size_t n_bytes,
                       const char *lang, struct err *err);

/*
 * Where to cut a text that is too long: the bytes of its first part, which ends behind a
 * clause (; : — , and those of other scripts), else before white space, else between two
 * characters. The first part has at most `at_most` bytes (but one character at least) and
 * about the length that all parts of this text should have. White space at the cut
 * belongs to neither part, so `text` begins with none. n_bytes, if that is no more than
 * at_most.
 */
size_t sentences_clause(const char *text, size_t n_bytes, size_t at_most);
