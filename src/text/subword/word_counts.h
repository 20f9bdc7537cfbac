/*
 * word_counts - how often each word of a text occurs: all that learning subwords needs.
 *
 * A line is normalised as SentencePiece does before it learns (nmt_nfkc), cut into words
 * at white space, and counted. Left out, as SentencePiece leaves them out: lines longer
 * than 4192 bytes, and lines that hold U+2585, which it reserves.
 *
 * Counts are sums, so that tables filled by several threads and merged in any order are
 * equal to one table filled by one thread.
 *
 * Memory: at most about max_bytes a table, and half as much again while words as they
 * stood are normalised. A table that would pass it moves its words to nameless files in
 * TMPDIR and starts again; word_counts_finish() adds the parts up,
 * and when the different words still do not fit, forgets the rarest: every word with at
 * most `n_forgotten_below` occurrences. What is kept depends on the counts alone, not
 * on the order of the lines or on threads.
 *
 * Owns: everything. Threads: one at a time for each table; tables are independent.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"

struct spm;
struct word_counts;

struct word_counts_options {
    size_t max_bytes; /* 0: 1 GiB */
};

/* What was looked at. */
struct word_counts_seen {
    uint64_t n_lines;           /* non-empty ones offered */
    uint64_t n_too_long;        /* of these, left out for their length */
    uint64_t n_reserved;        /* of these, left out for U+2585 */
    uint64_t n_forgotten;       /* different words forgotten for want of memory */
    uint64_t n_forgotten_below; /* all of them occurred at most this often */
};

/* On failure *w is NULL. Call from one thread at a time. */
status word_counts_new(struct word_counts **w, struct word_counts_options options,
                       struct err *err);
void word_counts_free(struct word_counts *w); /* NULL is fine */

/* Count the words of a line. */
status word_counts_add(struct word_counts *w, struct line line, struct err *err);

/* Add all of `from` to `into`; `from` is then empty. */
status word_counts_merge(struct word_counts *into, struct word_counts *from,
                         struct err *err);

/* After the last line and the last merge: everything in memory, ready to be read. */
status word_counts_finish(struct word_counts *w, struct err *err);

struct word_counts_seen word_counts_seen(const struct word_counts *w);

/* The blank model (spm_blank) by whose rules the lines were normalised. */
const struct spm *word_counts_rules(const struct word_counts *w);

/* The i-th different word of a finished table, 0 <= i < size, without its space mark. */
struct word_counts_word {
    struct line text;
    uint64_t count;
};
size_t word_counts_size(const struct word_counts *w);
struct word_counts_word word_counts_at(const struct word_counts *w, size_t i);
