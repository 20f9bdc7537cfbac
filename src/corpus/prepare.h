/*
 * prepare - from parallel text to a data directory that training opens.
 *
 *   count    both sides must have as many lines; before anything else
 *   clean    text/clean, the reference's rules; training pairs only
 *   shuffle  one permutation from the seed
 *   learn    one SentencePiece BPE over both sides, unless a model is given
 *   encode   token ids into train.bin; valid and test whole and in order
 *
 * The same files, options and seed give the same bytes. prepare.json, the statistics, is
 * removed before the first and written after the last other file of the directory: it
 * marks a whole one (dataset.h). The inputs stay mapped; memory is 36 bytes a pair, what
 * SentencePiece's trainer takes, and the offsets of the corpus.
 */
#pragma once

#include "base/err.h"
#include "base/opt.h"
#include "base/progress.h"
#include "corpus/prepare_stats.h"

/* kind, field, default, help, limits */
#define PREPARE_OPTIONS(X)                                                             \
    X(STR, source, "", "text to translate from; a,b,... for several files", ANY)       \
    X(STR, target, "", "its translation, line by line", ANY)                           \
    X(STR, out, "", "data directory to make", ANY)                                     \
    X(STR, valid_source, "", "validation text, kept whole and in order", ANY)          \
    X(STR, valid_target, "", "its translation", ANY)                                   \
    X(STR, test_source, "", "test text, kept whole and in order", ANY)                 \
    X(STR, test_target, "", "its translation", ANY)                                    \
    X(STR, tokenizer, "", "existing SentencePiece .model instead of a new one", ANY)   \
    X(INT, vocab_size, "32768", "pieces to learn, specials included", RANGE(5, 65536)) \
    X(INT, min_words, "1", "fewest words of a side", RANGE(1, 1e6))                    \
    X(INT, max_words, "80", "most words of a side", RANGE(1, 1e6))                     \
    X(REAL, ratio, "9", "largest ratio of the word counts", RANGE(1, 1e6))             \
    X(INT, max_word_chars, "1000", "longest word", RANGE(1, 1e6))                      \
    X(INT, seed, "1", "the shuffle follows from it", RANGE(0, 1e15))

struct prepare_config {
#define X(kind, field, ...) OPT_FIELD_##kind(field)
    PREPARE_OPTIONS(X)
#undef X
};

enum {
#define X(...) +1
    PREPARE_N_OPTIONS = 0 PREPARE_OPTIONS(X)
#undef X
};

extern const struct opt prepare_config_rows[PREPARE_N_OPTIONS];
extern const struct opt_table prepare_config_table;

/* Required options, and constraints between them. */
status prepare_config_check(const struct prepare_config *c, struct err *err) MUST_CHECK;

/* Make the data directory config->out; *stats says what was done. */
status prepare_run(const struct prepare_config *config, struct progress *progress,
                   struct prepare_stats *stats, struct err *err) MUST_CHECK;
