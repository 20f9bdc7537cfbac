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
 * an interrupted run continues after the last finished stage; one that was refused leaves
 * nothing. At the end the files move to OUT. prepare.json, the statistics, is removed
 * first and written last: it marks a whole directory (dataset.h). One that was made of
 * other text or with other options is replaced only if `fresh` asks for it, because runs
 * may depend on it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/opt.h"
#include "base/progress.h"
#include "prepare/clean/filter.h"
#include "prepare/source/pairs.h"
#include "text/language.h"

#define PREPARE_SCRIPTS                                                         \
    "any|latin|greek|cyrillic|armenian|hebrew|arabic|devanagari|bengali|tamil|" \
    "thai|georgian|ethiopic|han|japanese|korean"

/* kind, field, default, help, limits */
#define PREPARE_OPTIONS(X)                                                              \
    X(STR, source, "", "text to translate from; a,b,... or @LIST for several", ANY)     \
    X(STR, target, "", "its translation, line by line", ANY)                            \
    X(STR, pairs, "", "files with both sides: TSV, .tmx, .xml", ANY)                    \
    X(STR, weights, "", "how much each pair counts, one number a line; empty: 1", ANY)  \
    X(STR, out, "", "data directory to make", ANY)                                      \
    X(INT, valid, "0", "validation pairs to draw from the text; 0: none",               \
      RANGE(0, 100000))                                                                 \
    X(INT, test, "0", "test pairs to draw from the text; 0: none", RANGE(0, 100000))    \
    X(STR, valid_source, "", "validation text, kept whole and in order", ANY)           \
    X(STR, valid_target, "", "its translation", ANY)                                    \
    X(STR, valid_pairs, "", "validation files with both sides", ANY)                    \
    X(STR, test_source, "", "test text, kept whole and in order", ANY)                  \
    X(STR, test_target, "", "its translation", ANY)                                     \
    X(STR, test_pairs, "", "test files with both sides", ANY)                           \
    X(STR, columns, "1,2", "columns of a .tsv: source,target", ANY)                     \
    X(STR, source_lang, "", "language, as in de or en-GB; empty: guess it", ANY)        \
    X(STR, target_lang, "", "the same of the target; a .tmx needs both", ANY)           \
    X(STR, tokenizer, "",                                                               \
      "SentencePiece .model, or packed model with one; empty: learn", ANY)              \
    X(REAL, max_unknown, "0.01", "refuse it from this share of unknown pieces on",      \
      RANGE(0, 1))                                                                      \
    X(INT, vocab_size, "0", "pieces to learn; 0: by the size of the corpus",            \
      RANGE(0, 65536))                                                                  \
    X(STR, marks, "", "tokens to learn for sources, as in de,fr for >>de<< and >>fr<<", \
      ANY)                                                                              \
    X(STR, mark, "", "the one to put before every source that has none", ANY)           \
    X(INT, min_words, "1", "drop pairs with fewer words on a side", RANGE(1, 1e6))      \
    X(INT, max_words, "80", "drop pairs with more words on a side", RANGE(1, 1e6))      \
    X(REAL, ratio, "9", "drop pairs with more words for a word than this",              \
      RANGE(1, 1e6))                                                                    \
    X(INT, max_word_chars, "1000", "drop pairs with a longer word", RANGE(1, 1e6))      \
    X(INT, min_chars, "0", "drop pairs with fewer characters on a side", RANGE(0, 1e6)) \
    X(INT, max_chars, "0", "drop pairs with more characters; 0: none", RANGE(0, 1e6))   \
    X(CHOICE, invalid, "drop", "pairs that are not UTF-8: drop, or replace bytes",      \
      ONE_OF("drop|replace"))                                                           \
    X(CHOICE, control, "keep", "control characters: keep, drop the pair, strip",        \
      ONE_OF("keep|drop|strip"))                                                        \
    X(BOOL, nfc, "false", "put text into Unicode normalisation form C", ANY)            \
    X(CHOICE, duplicates, "keep", "drop pairs that repeat an earlier one",              \
      ONE_OF("keep|exact|near"))                                                        \
    X(BOOL, drop_identical, "false", "drop pairs of two equal sides", ANY)              \
    X(CHOICE, source_script, "any", "drop pairs with a source in another script",       \
      ONE_OF(PREPARE_SCRIPTS))                                                          \
    X(CHOICE, target_script, "any", "drop pairs with a target in another script",       \
      ONE_OF(PREPARE_SCRIPTS))                                                          \
    X(BOOL, check_language, "false", "drop sides in the other side's language", ANY)    \
    X(CHOICE, held_out, "keep",                                                         \
      "drop training pairs that are in a given set, or a side is",                      \
      ONE_OF("keep|pair|side"))                                                         \
    X(BOOL, check_sides, "true", "refuse held-out files whose sides are swapped", ANY)  \
    X(INT, seed, "1", "seed of the order and of drawn sets", RANGE(0, 1e15))            \
    X(INT, threads, "0", "threads; 0: one per core", RANGE(0, 1024))                    \
    X(INT, memory_mib, "2048", "memory limit in MiB", RANGE(128, 1e7))                  \
    X(BOOL, fresh, "false", "begin anew, and replace a finished data directory", ANY)   \
    X(BOOL, measure, "true", "time the proposed training, ten seconds at most", ANY)    \
    X(BOOL, reference_names, "false", "also write the reference's text files", ANY)

struct prepare_config {
    PREPARE_OPTIONS(OPT_FIELD)
};

extern const struct opt_table prepare_config_table;

/* stage, name in prepare.json */
#define PREPARE_STAGE_LIST(S) \
    S(COUNT, "count")         \
    S(CLEAN, "clean")         \
    S(LEARN, "learn")         \
    S(ENCODE, "encode")       \
    S(PACK, "pack")

enum prepare_stage {
#define S(code, name) PREPARE_##code,
    PREPARE_STAGE_LIST(S) N_PREPARE_STAGES
#undef S
};

/* set, name of its files */
#define PREPARE_SET_LIST(S) \
    S(TRAIN, "train")       \
    S(VALID, "valid")       \
    S(TEST, "test")

enum prepare_set {
#define S(code, name) PREPARE_##code,
    PREPARE_SET_LIST(S) N_PREPARE_SETS
#undef S
};

struct prepare_side_stats {
    uint64_t n_tokens, n_unknown; /* specials not counted */
    uint64_t longest;             /* tokens of the longest sentence */
};

/* How much pairs count. */
struct prepare_weights {
    uint64_t n_other; /* pairs that do not count 1; 0: the corpus has no weights */
    double sum, least, most;
};

struct prepare_set_stats {
    uint64_t n_pairs; /* 0: the set was not given */
    struct prepare_weights weights;
    struct prepare_side_stats side[PAIRS_SIDES];
    uint64_t n_bytes, checksum; /* of the packed corpus */
};

/* The language of a side of the training text. */
struct prepare_language {
    char name[LANGUAGE_NAME]; /* given, or guessed; "": neither */
    struct language_guess guess;
};

/* The training text at one end of a stage. */
struct prepare_size {
    uint64_t n_pairs;
    uint64_t n_bytes[PAIRS_SIDES];
};

struct prepare_stage_stats {
    struct prepare_size before, after;
    double seconds;
    uint64_t peak_kib; /* of the process, so far */
    bool is_resumed;   /* done by an earlier run */
};

enum { PREPARE_SAMPLES = 3, PREPARE_SAMPLE_BYTES = 160 };

/* A dropped pair. */
struct prepare_sample {
    uint64_t file, line[PAIRS_SIDES]; /* file of the list, from 0; lines from 1 */
    char text[PAIRS_SIDES][PREPARE_SAMPLE_BYTES];
};

/* Which part of a held-out pair is found in other text. */
enum prepare_overlap { OVERLAP_SOURCE, OVERLAP_TARGET, OVERLAP_PAIR, N_OVERLAP };

/*
 * What was read, dropped and written: prepare.json, whose fields are listed in
 * docs/formats/corpus.md. No pointers: the marks of finished stages keep it as it is.
 */
struct prepare_stats {
    uint64_t n_reason[N_FILTER]; /* training pairs; CLEAN_KEEP and why not */
    struct prepare_sample sample[N_FILTER][PREPARE_SAMPLES];
    struct prepare_set_stats set[N_PREPARE_SETS];
    /* Lines of this set that are in the training text, and that were in pairs dropped
     * because of it. */
    uint64_t overlap[N_PREPARE_SETS][N_OVERLAP];
    uint64_t overlap_removed[N_PREPARE_SETS][N_OVERLAP];
    uint64_t overlap_held_out[N_OVERLAP]; /* of the test set, found in validation */
    struct prepare_language language[PAIRS_SIDES];
    uint64_t made_from; /* hash of text, options and program */
    uint64_t n_pieces, tokenizer_hash;
    uint64_t n_target_pieces;           /* of a tokenizer of targets alone; 0: none */
    bool is_learned, is_factored;       /* the vocabulary, from these lines: */
    uint64_t n_learn_lines, n_too_long; /* offered, and left out for their length */
    uint64_t n_words_forgotten;         /* when memory ran out, the rarest first */
    uint64_t n_bins;                    /* of the shuffle */
    bool has_weights; /* of the cleaned text some are not 1: clean.weights is there */
    struct prepare_stage_stats stage[N_PREPARE_STAGES];
};

extern const char *const prepare_stats_set_names[N_PREPARE_SETS];
extern const char *const prepare_stats_stage_names[N_PREPARE_STAGES];

/* Count a training pair; the first ones of each reason are kept as samples. */
void prepare_stats_count(struct prepare_stats *s, int reason,
                         const struct pairs_row *row);
/* Move a pair that was kept to `reason`. */
void prepare_stats_drop(struct prepare_stats *s, int reason, uint64_t n);
/* Keep a sample of it, as the k-th, k < PREPARE_SAMPLES. */
void prepare_stats_sample(struct prepare_stats *s, int reason, size_t k,
                          const struct pairs_row *row);

/* Training pairs read, those dropped included. */
uint64_t prepare_stats_read(const struct prepare_stats *s);

/* Write prepare.json: the options, the files of each set, the numbers. */
status prepare_stats_write(const struct prepare_stats *s, const char *path,
                           struct opt_table options, const void *config,
                           const struct pairs input[N_PREPARE_SETS], struct err *err);

/* The made_from of a prepare.json; 0 when it does not say. */
uint64_t prepare_stats_made_from(const char *path);

/*
 * The size of the vocabulary for so many pairs, with vocab_size = 0: 1,024 pieces at
 * 30,000 pairs, 8,000 at a million, 32,768 from four million on, in between (and below)
 * along straight lines of the logarithms, rounded to a multiple of 64.
 */
size_t prepare_vocab_size(uint64_t n_pairs);

/* Make the data directory config->out; *stats says what was done. */
status prepare_run(const struct prepare_config *config, struct progress *progress,
                   struct prepare_stats *stats, struct err *err);
