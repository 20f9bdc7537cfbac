/*
 * adapt - a model learns from one's own translations: what `ferry adapt` does.
 *
 * In the run directory: `tokenizer.ferry`, the model's; `new` and `general`, the texts as
 * data directories, each with validation and test pairs held out; `data`, both together
 * (adapt/blend.h), on which the run itself is trained (adapt/tuning.h says how); the
 * scores of the held-out test pairs before and after, in adapt.json and adapt.md; and the
 * packed model. Every stage leaves its result, so that the same command goes on after the
 * last one, and within the training after the last checkpoint.
 */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "base/opt.h"
#include "decode/model_dir.h"
#include "device/device.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define ADAPT_OPTIONS(X)                                                                   \
    X(STR, pairs, "", "files with both sides of the new text: TSV, .tmx, .xml", ANY)       \
    X(STR, source, "", "new text to translate from; a,b,... or @LIST for several", ANY)    \
    X(STR, target, "", "its translation, line by line", ANY)                               \
    X(STR, columns, "1,2", "columns of a .tsv: source,target", ANY)                        \
    X(STR, mix, "", "files with both sides of general text, such as the model's own", ANY) \
    X(STR, mix_source, "", "general text to translate from", ANY)                          \
    X(STR, mix_target, "", "its translation, line by line", ANY)                           \
    X(STR, mix_columns, "1,2", "columns of its .tsv: source,target", ANY)                  \
    X(REAL, mix_ratio, "2", "general pairs beside each new one, in every pass", RANGE(0.001, 1000)) \
    X(STR, run, "", "directory for the run and the model; goes on if it is there", ANY)    \
    X(STR, out, "", "packed model to write; empty: RUN/adapted.ferry", ANY)                \
    X(CHOICE, precision, "int8", "how the packed model stores weights", ONE_OF("int8|fp16|fp32")) \
    X(STR, checkpoint, MODEL_DIR_CHECKPOINT, MODEL_DIR_CHECKPOINT_HELP, ANY)               \
    X(STR, source_lang, "", "language of the source; empty: as the model says", ANY)       \
    X(STR, target_lang, "", "language of the target; empty: as the model says", ANY)       \
    X(INT, passes, "0", "most passes over the new text; 0: by its size", RANGE(0, 1000))   \
    X(REAL, rate, "0", "highest learning rate; 0: by the width of the model", RANGE(0, 1)) \
    X(INT, patience, "6", "evaluations without a new best that end it; 0: none", RANGE(0, 1e6)) \
    X(INT, seed, "1", "seed of what is held out, and of the training", RANGE(0, 1e15))     \
    X(CHOICE, device, "auto", "where to train", ONE_OF(DEVICE_KINDS))                      \
    X(INT, threads, "0", "threads; 0: one per core", RANGE(0, 1024))
/* clang-format on */

struct adapt_config {
    ADAPT_OPTIONS(OPT_FIELD)
};

extern const struct opt_table adapt_options;

/* made_by: which program, for the packed file. The scores go to `out`, progress and
 * warnings to `console`. A signal while it trains stops it, saved and with OK. */
status adapt_run(const struct adapt_config *c, const char *model, const char *made_by,
                 FILE *out, FILE *console, struct err *err);
