/*
 * sample - the embedded corpus: English-German sentence pairs from a grammar of ours.
 *
 * A pair is a random tree (draw.c) said in both languages. Word order and
 * agreement differ, so that a word-for-word translation is poor; yet English determines
 * German, so that a small model can learn the corpus nearly perfectly in minutes.
 *
 * Which of train, valid and test a pair belongs to is a function of its German sentence
 * alone. So no two splits share a sentence on either side, whatever seeds and sizes they
 * were written with.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"
#include "base/str.h"
#include "sample/pick.h"

/* kind, field, default, help, limits */
#define SAMPLE_OPTIONS(X)                                                   \
    X(INT, pairs, "30000", "sentence pairs to train on", RANGE(1, 2000000)) \
    X(INT, valid, "1000", "pairs to validate on", RANGE(1, 100000))         \
    X(INT, test, "1000", "pairs to test on", RANGE(1, 100000))              \
    X(INT, seed, "1", "another seed, another corpus", RANGE(0, 1e15))

struct sample_options {
    SAMPLE_OPTIONS(OPT_FIELD)
};

extern const struct opt_table sample_options_table;

enum sample_split { SPLIT_TRAIN, SPLIT_VALID, SPLIT_TEST, N_SPLITS };

struct sample_stats {
    uint64_t n_pairs[N_SPLITS];
    uint64_t n_words[N_SIDES]; /* of all splits, punctuation not counted */
    uint64_t n_types[N_SIDES]; /* different words, upper and lower case as one */
};

/* "train", "valid", "test" */
const char *sample_split_name(enum sample_split split);

/*
 * Write train, valid and test .en and .de into dir, one sentence a line; make dir if
 * needed. No German sentence occurs twice, and so no English one: it has one translation.
 * All six files are complete before the first takes its name.
 */
status sample_write(const struct sample_options *o, const char *dir,
                    struct sample_stats *stats, struct err *err);

/* The endless stream of pairs that sample_write takes its own from. */
struct sample_generator {
    uint64_t key;
    struct pick pick;
};

void sample_open(struct sample_generator *g, uint64_t seed);
/* The i-th pair, appended without line ends; the same for the same seed. */
void sample_pair(struct sample_generator *g, uint64_t i, struct str *en, struct str *de);
enum sample_split sample_split_of(const char *de);
