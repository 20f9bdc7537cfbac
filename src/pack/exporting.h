/*
 * exporting - a model becomes a directory of another program: what `ferry export` does.
 *
 * The model is a run, a checkpoint of one, a packed file, or a model of another program.
 */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "base/opt.h"
#include "decode/model_dir.h"
#include "foreign/export.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define EXPORTING_OPTIONS(X)                                                               \
    X(CHOICE, to, "ctranslate2", "which program shall read it", ONE_OF(EXPORT_FORMATS))    \
    X(STR, out, "", "directory to create", ANY)                                            \
    X(CHOICE, quantization, "float32", "how weights are stored", ONE_OF(POUR_TYPE_NAMES))  \
    X(STR, checkpoint, MODEL_DIR_CHECKPOINT, MODEL_DIR_CHECKPOINT_HELP, ANY)               \
    X(BOOL, average, "true", "moving average of the weights, if there is one", ANY)
/* clang-format on */

struct exporting_config {
    EXPORTING_OPTIONS(OPT_FIELD)
};

extern const struct opt_table exporting_options;

/* made_by: which program, for the README. What was done goes to `out`. */
status exporting_run(const struct exporting_config *c, const char *model,
                     const char *made_by, FILE *out, struct err *err);
