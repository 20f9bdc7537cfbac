/*
 * clean - which sentence pairs a parallel corpus keeps, and in what form.
 *
 * The rules are those of Moses' clean-corpus-n, which the reference ran, so that the
 * same files give the same pairs. In this order:
 *
 *   - unless one side of the first pair contains "|", every "|" is deleted from every
 *     line; otherwise the corpus is factored and "|" stays a separator inside words;
 *   - runs of Unicode white space become one blank, none at either end;
 *   - the pair is dropped for the first reason of CLEAN_LIST that holds for either side.
 *
 * Two rules are ours: a line that is not UTF-8, and a blank factor ("||", " |"), at
 * which the original stops, drop the pair under a reason of their own. A malformed first
 * pair still decides about "|", by its bytes.
 *
 * Owns: the cleaned text of the last pair. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/str.h"

/* verdict, name in reports, why; in the order in which they are tried */
#define CLEAN_LIST(V)                                          \
    V(KEEP, "kept", "passes every rule")                       \
    V(ENCODING, "encoding", "a side is not UTF-8")             \
    V(EMPTY, "empty", "a side has no text")                    \
    V(LONG, "long", "a side has more words than max_words")    \
    V(SHORT, "short", "a side has fewer words than min_words") \
    V(RATIO, "ratio", "the word counts differ by too much")    \
    V(WORD, "word", "a word is longer than max_word_chars")    \
    V(FACTOR, "factor", "a factored word has an empty factor")

enum clean_verdict {
#define V(code, name, why) CLEAN_##code,
    CLEAN_LIST(V) N_CLEAN
#undef V
};

struct clean_options {
    size_t min_words, max_words; /* blank-separated, both ends included */
    double max_ratio;            /* longer / shorter in words; infinite: any */
    size_t max_word_chars;       /* code points */
};

/* Judges pairs in the order of the files. */
struct clean {
    struct clean_options options;
    struct str side[2]; /* the last pair, cleaned; whole only when it was kept */
    bool is_started, is_factored;
};

void clean_init(struct clean *c, struct clean_options options);
void clean_release(struct clean *c);

/*
 * Judge the pair (a, b). When *verdict is CLEAN_KEEP, side[0] and side[1] hold the text
 * to use until the next call. Fails only for want of memory.
 */
status clean_pair(struct clean *c, struct line a, struct line b,
                  enum clean_verdict *verdict, struct err *err);

/* Whether a corpus that begins with this pair is factored; for cleaners of its parts,
 * which set is_started and is_factored themselves. */
bool clean_is_factored(struct line a, struct line b);

/* One line as clean_pair would make it, appended to *out; false when it is not UTF-8,
 * the bytes that are not being kept. */
bool clean_line(struct str *out, struct line in, bool is_factored);
