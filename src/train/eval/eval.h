/*
 * eval - loss and metrics of a trained model on a held-out set: what `ferry eval` does.
 *
 * The result goes to `out`, as a table or as JSON, and as an event into the run's log.
 */
#pragma once

#include <stdio.h>

#include "base/opt.h"
#include "decode/model_dir.h"
#include "device/device.h"
#include "train/run/score_options.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define EVAL_OPTIONS(X)                                                                \
    X(STR, data, "", "data directory; empty: the one it was trained on", ANY)          \
    X(CHOICE, set, "test", "held-out set", ONE_OF("test|valid"))                       \
    X(STR, checkpoint, MODEL_DIR_CHECKPOINT, MODEL_DIR_CHECKPOINT_HELP, ANY)           \
    X(BOOL, average, "true", "moving average of the weights, if there is one", ANY)    \
    X(INT, beam, "4", "hypotheses kept at each step; 1 is greedy", RANGE(1, 64))       \
    X(REAL, alpha, "0.6", "length penalty", RANGE(0, 10))                              \
    X(BOOL, split, "false", "cut a line into sentences and translate each", ANY)       \
    X(BOOL, bleu, "true", "translate the set and compute BLEU, chrF and TER", ANY)                   \
    X(INT, pairs, "0", "translate only this many sentences; 0: all", RANGE(0, 1e9))    \
    X(STR, references, "", "more translations of the set to score with, files by commas", ANY) \
    X(STR, output, "", "also write the translations to this file", ANY)                \
    X(CHOICE, device, "auto", "where to compute", ONE_OF(DEVICE_KINDS))                \
    X(INT, threads, "0", "threads; 0: one per core", RANGE(0, 1024))                   \
    X(REAL, at_least, "0", "fail with status 1 when BLEU is lower", RANGE(0, 100))     \
    X(BOOL, json, "false", "one JSON object instead of a table", ANY)
/* clang-format on */

struct evaluate_result;

struct eval_config {
    EVAL_OPTIONS(OPT_FIELD)
    struct score_options score;
};

extern const struct opt_table eval_options;

/* ERR_CHECK when BLEU is below at_least. Progress and warnings go to `console`. */
status eval_run(const struct eval_config *c, const char *run, FILE *out, FILE *console,
                struct err *err);

/* Only the numbers, of the set that the options name; nothing is written or logged. */
status eval_measure(const struct eval_config *c, const char *run,
                    struct evaluate_result *r, struct err *err);
