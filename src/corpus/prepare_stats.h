/*
 * prepare_stats - what `ferry prepare` read, dropped and wrote; prepare.json.
 *
 * The run report takes its numbers about the data from that file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/opt.h"
#include "corpus/pairs.h"
#include "text/clean.h"

/* stage, name in prepare.json */
#define PREPARE_STAGE_LIST(S) \
    S(COUNT, "count")         \
    S(CLEAN, "clean")         \
    S(LEARN, "learn")         \
    S(ENCODE, "encode")

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

struct prepare_stats {
    uint64_t n_verdict[N_CLEAN]; /* training pairs by verdict; their sum was read */
    struct prepare_set_stats set[N_PREPARE_SETS];
    uint64_t n_pieces, tokenizer_hash;
    bool is_learned;                    /* the vocabulary, from these lines: */
    uint64_t n_learn_lines, n_too_long; /* offered, and left out for their length */
    double t_stage[N_PREPARE_STAGES];
};

const char *prepare_stats_set_name(enum prepare_set set);

/* Count one encoded side of a set. */
void prepare_stats_side(struct prepare_side_stats *s, const int32_t *id, size_t n);

/* Training pairs read, those dropped included. */
uint64_t prepare_stats_read(const struct prepare_stats *s);

/* Write prepare.json: the options, the files of each set, the numbers. */
status prepare_stats_write(const struct prepare_stats *s, const char *path,
                           struct opt_table options, const void *config,
                           const struct pairs input[N_PREPARE_SETS],
                           struct err *err) MUST_CHECK;
