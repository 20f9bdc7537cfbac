/*
 * translate_text - files or standard input, translated by the model of a run: what
 * `ferry translate` does.
 *
 * Memory is bounded: a window of lines (text/line_reader.h) is read, translated and
 * written, and so forth. A window ends early where the input pauses, so that whoever
 * waits for the answer to a line gets it. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "decode/model_dir.h"
#include "decode/translate.h"
#include "device/device.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define TRANSLATE_TEXT_OPTIONS(X)                                                             \
    X(STR, checkpoint, MODEL_DIR_CHECKPOINT, MODEL_DIR_CHECKPOINT_HELP, ANY)           \
    X(BOOL, average, "true", "moving average of the weights, if there is one", ANY)    \
    X(STR, ensemble, "", "more models of one vocabulary, comma between: mean of probabilities", ANY) \
    X(STR, output, "", "write to this file, or one per input file: {dir}/{stem}.de", ANY) \
    X(BOOL, pairs, "false", "write source TAB translation, as `ferry prepare` reads pairs", ANY) \
    X(INT, window, "4096", "most lines read ahead and sorted by length", RANGE(1, 1e6))    \
    X(CHOICE, stream, "auto", "translate each line as it arrives; auto: when the input pauses", ONE_OF("auto|true|false")) \
    X(CHOICE, device, "auto", "where to compute", ONE_OF(DEVICE_KINDS))        \
    X(INT, threads, "0", "threads; 0: one per core", RANGE(0, 1024)) \
    X(BOOL, shortlist, "true", "of a packed model that has one: compute only likely pieces", ANY) \
    X(INT, workers, "0", "batches side by side that share the threads; 0: whatever is faster", RANGE(0, 1024))
/* clang-format on */

struct translate_text_config {
    struct translate_config search;
    TRANSLATE_TEXT_OPTIONS(OPT_FIELD)
};

extern const struct opt_table translate_text_options;

/* The n > 0 inputs one after the other, "-" being standard input. Translations go to
 * `out` unless the options name files (decode/output_name.h); progress and notes go to
 * `console`. */
status translate_text_run(const struct translate_text_config *c, const char *run,
                          const char *const *input, size_t n, FILE *out, FILE *console,
                          struct err *err);

enum { TRANSLATE_TEXT_LINE_MAX = 16 << 20 }; /* bytes of one line */

struct translate_text_stream {
    int fd;              /* read from here to its end */
    const char *name;    /* of it, in messages */
    size_t window;       /* lines at a time, > 0 */
    int pause_ms;        /* translate what is there when the input pauses; -1: never */
    uint64_t n_before;   /* added to the number of a line in lists of the best */
    bool has_pairs;      /* "source TAB" in front of each, also of several of a line */
    bool has_scores;     /* "text TAB score" */
    bool has_alignments; /* the same with "TAB 0-0 1-2" behind it */
    /* Takes the output, whole lines at a time. */
    status (*write)(void *ctx, const void *bytes, size_t n, struct err *err);
    void *ctx;
};

/* The same between a descriptor and a function. One output line a line; with nbest > 1
 * one a translation, "line ||| text ||| score", lines counted from 0. */
status translate_text_stream(const struct translate_text_stream *s, struct translator *t,
                             struct err *err);
