/*
 * score_pairs - log-probabilities of given translations, line by line: what
 * `ferry score-pairs` does, for filtering corpora and for choosing among translations.
 *
 * A line of input is "source TAB target". A line of output is the natural logarithm of
 * the target's probability, and that per token (its pieces and the end); with `tokens`
 * also every piece with its own. Memory is bounded: a window of lines at a time.
 *
 * Or the lines themselves are written, whole: those of at least so much per token
 * (`least`), or the likeliest share of them all (`keep`), which takes a number for each
 * line and reads the files a second time.
 */
#pragma once

#include <stdio.h>

#include "base/opt.h"
#include "decode/model_dir.h"
#include "device/device.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define SCORE_PAIRS_OPTIONS(X)                                                              \
    X(BOOL, tokens, "false", "also every token of the target with its log-probability", ANY) \
    X(REAL, keep, "0", "write the likeliest share of the pairs themselves; 0: numbers", RANGE(0, 1)) \
    X(REAL, least, "0", "write the pairs with so much by token, as in -2.5; 0: numbers", RANGE(-1e6, 0)) \
    X(STR, output, "", "write to this file instead of standard output", ANY)                \
    X(INT, max_length, "256", "tokens of a side; what is longer is cut", RANGE(3, 65536))    \
    X(STR, checkpoint, MODEL_DIR_CHECKPOINT, MODEL_DIR_CHECKPOINT_HELP, ANY)                \
    X(BOOL, average, "true", "moving average of the weights, if there is one", ANY)         \
    X(INT, window, "4096", "most lines read ahead", RANGE(1, 1e6))                          \
    X(CHOICE, device, "cpu", "which instructions to use", ONE_OF("cpu|cpu-avx512|cpu-avx2|cpu-plain")) \
    X(INT, threads, "0", "threads; 0: one per core", RANGE(0, 1024))
/* clang-format on */

struct score_pairs_config {
    SCORE_PAIRS_OPTIONS(OPT_FIELD)
};

extern const struct opt_table score_pairs_options;

/* The n > 0 inputs one after the other, "-" being standard input. ERR_FORMAT names file
 * and line of one without a tab. */
status score_pairs_run(const struct score_pairs_config *c, const char *model,
                       const char *const *input, size_t n, FILE *out, FILE *console,
                       struct err *err);
