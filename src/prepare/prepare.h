/*
 * prepare - from parallel text to a data directory that training opens. Its stages:
 *
 *   - count: every file is read once; both sides must have as many lines
 *   - clean: training pairs are filtered (prepare/clean), duplicates found, and held-out
 *     sets compared with the training text
 *   - learn: one SentencePiece BPE over both sides, or a given model tried on the text
 *   - encode: token ids; validation and test sets whole and in order
 *   - pack: training pairs in a random order that follows from the seed: train.bin
 *
 * The same files, options and seed give the same bytes, whatever the number of threads,
 * and whatever the memory as long as it holds the different words. Every stage streams:
 * memory stays near memory_mib however large the corpus is. Stages work in
 * OUT/prepare.work and leave a mark there when they are done (prepare/workdir.h), so that
 * an interrupted run continues after the last finished stage. At the end the files move
 * to OUT. prepare.json, the statistics, is removed first and written last: it marks a
 * whole directory (dataset.h).
 */
#pragma once

#include "base/err.h"
#include "base/opt.h"
#include "base/progress.h"
#include "prepare/prepare_stats.h"

#define PREPARE_SCRIPTS                                                         \
    "any|latin|greek|cyrillic|armenian|hebrew|arabic|devanagari|bengali|tamil|" \
    "thai|georgian|ethiopic|han|japanese|korean"

/* kind, field, default, help, limits */
#define PREPARE_OPTIONS(X)                                                               \
    X(STR, source, "", "text to translate from; a,b,... or @LIST for several", ANY)      \
    X(STR, target, "", "its translation, line by line", ANY)                             \
    X(STR, pairs, "", "files with both sides: .tsv, .tmx, .xml", ANY)                    \
    X(STR, out, "", "data directory to make", ANY)                                       \
    X(STR, valid_source, "", "validation text, kept whole and in order", ANY)            \
    X(STR, valid_target, "", "its translation", ANY)                                     \
    X(STR, valid_pairs, "", "validation files with both sides", ANY)                     \
    X(STR, test_source, "", "test text, kept whole and in order", ANY)                   \
    X(STR, test_target, "", "its translation", ANY)                                      \
    X(STR, test_pairs, "", "test files with both sides", ANY)                            \
    X(STR, columns, "1,2", "columns of a .tsv: source,target", ANY)                      \
    X(STR, source_lang, "", "language to take of a .tmx, as in en or en-GB", ANY)        \
    X(STR, target_lang, "", "its other language", ANY)                                   \
    X(STR, tokenizer, "", "existing SentencePiece .model instead of a new one", ANY)     \
    X(REAL, max_unknown, "0.01", "largest share of unknown pieces with it", RANGE(0, 1)) \
    X(INT, vocab_size, "32768", "pieces to learn, specials included", RANGE(5, 65536))   \
    X(INT, min_words, "1", "fewest words of a side", RANGE(1, 1e6))                      \
    X(INT, max_words, "80", "most words of a side", RANGE(1, 1e6))                       \
    X(REAL, ratio, "9", "largest ratio of the word counts", RANGE(1, 1e6))               \
    X(INT, max_word_chars, "1000", "longest word", RANGE(1, 1e6))                        \
    X(INT, min_chars, "0", "fewest characters of a side; 0: any", RANGE(0, 1e6))         \
    X(INT, max_chars, "0", "most characters of a side; 0: any", RANGE(0, 1e6))           \
    X(CHOICE, invalid, "drop", "pairs with bytes that are no UTF-8",                     \
      ONE_OF("drop|replace"))                                                            \
    X(CHOICE, control, "keep", "control characters: keep, drop pair, strip",             \
      ONE_OF("keep|drop|strip"))                                                         \
    X(BOOL, nfc, "false", "Unicode normalisation form C", ANY)                           \
    X(CHOICE, duplicates, "keep", "drop pairs that repeat an earlier one",               \
      ONE_OF("keep|exact|near"))                                                         \
    X(BOOL, drop_identical, "false", "drop pairs of two equal sides", ANY)               \
    X(CHOICE, source_script, "any", "drop text in other scripts",                        \
      ONE_OF(PREPARE_SCRIPTS))                                                           \
    X(CHOICE, target_script, "any", "drop text in other scripts",                        \
      ONE_OF(PREPARE_SCRIPTS))                                                           \
    X(BOOL, check_language, "false", "drop sides in the other side's language", ANY)     \
    X(CHOICE, held_out, "keep", "training pairs of held-out sets: drop pair or side",    \
      ONE_OF("keep|pair|side"))                                                          \
    X(INT, seed, "1", "seed of the shuffle", RANGE(0, 1e15))                             \
    X(INT, threads, "0", "threads; 0: one per core", RANGE(0, 1024))                     \
    X(INT, memory_mib, "2048", "memory limit in MiB", RANGE(128, 1e7))                   \
    X(BOOL, fresh, "false", "start from scratch, not after the last stage", ANY)         \
    X(BOOL, reference_names, "false", "also write the reference's text files", ANY)

struct prepare_config {
    PREPARE_OPTIONS(OPT_FIELD)
};

extern const struct opt_table prepare_config_table;

/* Make the data directory config->out; *stats says what was done. */
status prepare_run(const struct prepare_config *config, struct progress *progress,
                   struct prepare_stats *stats, struct err *err) MUST_CHECK;
