/*
 * translate - lines of raw text to lines of raw text.
 *
 * Cuts lines into sentences (unless split is off: then a line is one sentence, cut at
 * max_length), encodes them with the tokenizer, sorts by length, searches in batches,
 * decodes, and hands the results back in the order of the lines. A line without text
 * (empty, or white space) has the empty translation with score 0 and costs nothing; any
 * other has a text, if need be its own. The sentences of a line share what it may have:
 * three times its pieces and extra_decode_length (decode/target_limit.h).
 *
 * The translations of a line's sentences are joined with the white space of the source,
 * or with a blank where it has none and their language needs one (decode/joint.h).
 * Rank k of a line joins rank k of its sentences (their last where there are fewer); its
 * score is the sum of their log-probabilities over the penalty of the sum of their
 * lengths.
 *
 * Owns: the memory of search and encoder. Borrows: model and tokenizer, which outlive
 * it; training translates with its live model. Threads: one at a time.
 */
#pragma once

#include <stdint.h>

#include "base/opt.h"
#include "base/progress.h"
#include "base/str.h"
#include "decode/search.h"
#include "text/subword/spm.h"

struct encoder;

/* kind, field, default, help, limits */
/* clang-format off */
#define TRANSLATE_OPTIONS(X)                                                               \
    X(INT, beam, "4", "hypotheses kept at each step: more is better and slower; 1: greedy", RANGE(1, 64)) \
    X(REAL, alpha, "0.6", "larger prefers longer translations: log P / ((5+n)/6)^alpha", RANGE(0, 10)) \
    X(INT, extra_decode_length, "50", "most tokens of a sentence's translation beyond those of its source", RANGE(0, 4096)) \
    X(INT, min_length, "1", "fewest pieces of a sentence's translation; 0: it may be empty", RANGE(0, 1024)) \
    X(INT, max_repeats, "3", "most occurrences of 4 pieces in a sentence's translation; 0: any", RANGE(0, 1000)) \
    X(INT, nbest, "1", "so many translations of each line, at most beam", RANGE(1, 64))     \
    X(BOOL, split, "true", "cut a line into sentences and translate each", ANY)            \
    X(INT, max_length, "256", "source tokens; a longer sentence is divided, or cut if split is off", RANGE(3, 65536)) \
    X(CHOICE, invalid, "replace", "bytes that are not UTF-8: read U+FFFD instead, or stop", ONE_OF("replace|refuse")) \
    X(INT, batch_tokens, "4096", "sentences times target positions of a batch: more takes more memory", RANGE(1, 1e7))
/* clang-format on */

struct translate_config {
    TRANSLATE_OPTIONS(OPT_FIELD)
};

extern const struct opt_table translate_config_table;

/* nbest at most beam. */
status translate_config_check(const struct translate_config *c, struct err *err);

struct translator {
    struct translate_config config;
    const struct spm *spm;
    const char *lang;        /* of the source; "" unless the caller knows it */
    struct encoder *encoder; /* of the tokenizer */
    bool *is_text, *is_word; /* [pieces of the tokenizer] visible; with letters, digits */
    struct search search;
    struct progress *progress; /* NULL: silent; the caller begins and ends it */
    uint64_t n_done;           /* lines so far */
    uint64_t n_done_before; /* of these before the text at hand; its lines count from 1 */
    /* of all lines: */
    uint64_t n_cut;        /* cut to max_length, because they may not be split */
    uint64_t n_divided;    /* with a sentence beyond max_length, translated in parts */
    uint64_t n_invalid;    /* mended, because they were not UTF-8 */
    uint64_t n_lengthened; /* would have had a translation shorter than min_length */
    uint64_t n_unrepeated; /* without a continuation that max_repeats rejected */
    uint64_t n_copied;     /* copied, at least in part, because the model has no text */
    uint64_t n_stopped;    /* with a translation that had not ended at its limit */
};

/* ERR_USAGE when the options are at odds, or the tokenizer has ids the model lacks. */
status translate_open(struct translator *t, struct model *m, const struct spm *spm,
                      const struct translate_config *c, struct err *err);
void translate_close(struct translator *t);

struct translation {
    size_t at, n_bytes; /* in the text of all; a NUL follows */
    double score;       /* log-probability over the length penalty */
};

/* The results for n_lines lines, up to n_best of each, best first. Owns all texts, in one
 * block. Zeroed = empty. */
struct translations {
    size_t n_lines, n_best;
    struct str text;
    struct translation *item; /* [n_lines,n_best] */
    size_t *n_found;          /* [n_lines] at least 1 when all is done */
};

/* Translate n lines into *out (zeroed, or of an earlier call). With invalid=refuse a line
 * that is not UTF-8 is an ERR_FORMAT that names its number. */
status translate_lines(struct translator *t, const struct line *lines, size_t n,
                       struct translations *out, struct err *err);

/* Empty, with room for this many. */
status translate_reserve(struct translations *t, size_t n_lines, size_t n_best,
                         struct err *err);
void translate_release(struct translations *t);

/* What was appended to t->text from `at` on is the line's next translation. The line
 * ends that some tokenizers can produce become blanks. */
status translate_add(struct translations *t, size_t line, size_t at, double score,
                     struct err *err);

/* The text of a line's translation of this rank; lives as long as *t is unchanged. */
const char *translate_get(const struct translations *t, size_t line, size_t rank);
