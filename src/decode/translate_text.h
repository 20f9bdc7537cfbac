/*
 * translate_text - a file or standard input, translated by the model of a run: what
 * `ferry translate` does.
 *
 * Threads: one at a time.
 */
#pragma once

#include <stdio.h>

#include "decode/translate.h"
#include "device/device.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define TRANSLATE_TEXT_OPTIONS(X)                                                             \
    X(BOOL, greedy, "false", "the same as beam=1", ANY)                                \
    X(BOOL, scores, "false", "append a tab and the score to each line", ANY)               \
    X(STR, checkpoint, "last", "last, best, or a checkpoint's prefix", ANY)            \
    X(BOOL, average, "true", "moving average of the weights, if there is one", ANY)    \
    X(STR, output, "", "write to this file instead of standard output", ANY)           \
    X(INT, window, "4096", "lines read ahead and sorted by length", RANGE(1, 1e6))     \
    X(CHOICE, device, "auto", "where to compute", ONE_OF(DEVICE_KINDS))        \
    X(INT, threads, "0", "threads; 0: one per core", RANGE(0, 1024))
/* clang-format on */

struct translate_text_config {
    struct translate_config search;
    TRANSLATE_TEXT_OPTIONS(OPT_FIELD)
};

extern const struct opt_table translate_text_options;

/* `input` "-" is standard input. Translations go to `out` unless the options name a file;
 * progress and notes go to `console`. */
status translate_text_run(const struct translate_text_config *c, const char *run,
                          const char *input, FILE *out, FILE *console,
                          struct err *err) MUST_CHECK;
