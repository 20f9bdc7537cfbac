/*
 * prepare_stats - what `ferry prepare` read, dropped and wrote; prepare.json.
 *
 * The run report takes its numbers about the data from that file; its fields are listed
 * in docs/formats/corpus.md. The struct holds no pointers: the marks of finished stages
 * keep it as it is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/opt.h"
#include "prepare/clean/filter.h"
#include "prepare/clean/overlap.h"
#include "prepare/source/pairs.h"

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

struct prepare_set_stats {
    uint64_t n_pairs; /* 0: the set was not given */
    struct prepare_side_stats side[PAIRS_SIDES];
    uint64_t n_bytes, checksum; /* of the packed corpus */
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

struct prepare_stats {
    uint64_t n_reason[N_FILTER]; /* training pairs; CLEAN_KEEP and why not */
    struct prepare_sample sample[N_FILTER][PREPARE_SAMPLES];
    struct prepare_set_stats set[N_PREPARE_SETS];
    uint64_t overlap[N_PREPARE_SETS][N_OVERLAP]; /* of this set, found in training */
    uint64_t overlap_held_out[N_OVERLAP]; /* of the test set, found in validation */
    uint64_t n_pieces, tokenizer_hash;
    bool is_learned, is_factored;       /* the vocabulary, from these lines: */
    uint64_t n_learn_lines, n_too_long; /* offered, and left out for their length */
    uint64_t n_words_forgotten;         /* when memory ran out, the rarest first */
    uint64_t n_bins;                    /* of the shuffle */
    struct prepare_stage_stats stage[N_PREPARE_STAGES];
};

extern const char *const prepare_stats_set_names[N_PREPARE_SETS];
extern const char *const prepare_stats_stage_names[N_PREPARE_STAGES];

/* Count one encoded side of a set. */
void prepare_stats_side(struct prepare_side_stats *s, const int32_t *id, size_t n);

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
                           const struct pairs input[N_PREPARE_SETS],
                           struct err *err) MUST_CHECK;
