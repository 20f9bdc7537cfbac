/*
 * segments - lines of text as what is searched one by one, in token ids.
 *
 * Bytes of a line that are no UTF-8 become U+FFFD, or are refused. A line is cut into its
 * sentences (text/sentences.h), and one that is too long further, behind its clauses or
 * wherever it must be; between segments there is white space or nothing. Without
 * splitting a line is one segment, and loses what is too long. A line without text has no
 * segment. Lines may be "source TAB given beginning of the translation"; then the second
 * half is kept apart, and none is split. A line may begin with a mark (spm_mark()), which
 * every segment of it then has behind its S.
 *
 * Owns: ids and mended text. Borrows: the lines, which outlive it, and tokenizers.
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lines.h"
#include "base/str.h"
#include "text/sentences.h"
#include "text/subword/spm.h"

struct encoder;

struct segments_options {
    size_t max_length; /* ids of a segment, S and EOS counted, >= 3 */
    bool splits;
    bool has_given;          /* a line is "source TAB beginning", or the source alone */
    const char *lang;        /* of the text: "de"; "" when it is not known */
    const struct spm *spm;   /* whose marks a line may begin with; NULL: none */
    int32_t mark;            /* id of the one of lines that have none; 0: none */
    bool refuses_invalid;    /* a line that is not UTF-8 is an error */
    uint64_t n_lines_before; /* added to the number of a line in messages */
};

struct segment {
    size_t line;
    struct line text; /* in the line */
    size_t at, n;     /* in all ids: S, pieces, EOS; n is 0 when it has no pieces */
    bool is_torn;     /* it begins inside a word, which the one before it begins */
};

struct segments_line {
    struct line text;  /* as it came, or mended */
    struct line given; /* how its translation begins */
    size_t first, n;   /* its segments, in order */
    size_t n_mark;     /* bytes before the text: ">>deu<< ", which is of each segment */
    bool is_invalid;   /* it was mended */
    bool is_divided;   /* a sentence of it was too long and is several segments */
    bool is_cut;       /* a segment of it lost what is beyond max_length */
};

/* Zeroed = empty. */
struct segments {
    struct segments_line *line; /* [n_lines] */
    size_t n_lines;
    struct segment *segment; /* [n] by line, and in each in order */
    size_t n, cap;
    struct spm_ids ids;
    struct str mended;
    struct sentences sentences; /* of the line at hand */
};

/* Of n lines, into *s (zeroed). ERR_FORMAT names the number of a line that is refused.
 */
status segments_make(struct segments *s, struct encoder *encoder,
                     const struct line *lines, size_t n, const struct segments_options *o,
                     struct err *err);
void segments_release(struct segments *s);

/* Whether a reader would see anything: a character that is not white space. */
bool segments_is_visible(struct line text);
