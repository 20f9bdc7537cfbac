/*
 * packing - a trained model becomes one file: what `ferry pack` does.
 *
 * The weights of a checkpoint are packed in the precision that is asked for. For int8 the
 * validation pairs that the run was trained beside decide which matrices may be int8
 * (pack/calibration.h), and tell what it costs in BLEU; without them every matrix is, and
 * nothing is told. The file says where it comes from.
 */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "base/opt.h"
#include "decode/model_dir.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define PACKING_OPTIONS(X)                                                                  \
    X(STR, out, "", "file to write, such as en-de.ferry", ANY)                              \
    X(CHOICE, precision, "int8", "how weights are stored", ONE_OF("int8|fp16|fp32"))        \
    X(STR, checkpoint, MODEL_DIR_CHECKPOINT, MODEL_DIR_CHECKPOINT_HELP, ANY)                \
    X(BOOL, average, "true", "moving average of the weights, if there is one", ANY)         \
    X(STR, data, "", "data directory to calibrate on; empty: the one it was trained on", ANY) \
    X(INT, pairs, "200", "validation pairs to translate before and after; 0: none", RANGE(0, 1e6)) \
    X(REAL, keep_float, "0.1", "matrices that lose more than this share in int8 stay float", RANGE(0, 1e9)) \
    X(INT, shortlist, "0", "likely target pieces kept for each source piece, about 50; 0: all", RANGE(0, 1000)) \
    X(STR, licence, "", "text file with the licence of the model, to be put inside", ANY)   \
    X(INT, threads, "0", "threads; 0: one per core", RANGE(0, 1024))
/* clang-format on */

struct packing_config {
    PACKING_OPTIONS(OPT_FIELD)
};

extern const struct opt_table packing_options;

/* made_by: which program, for the file. What was done goes to `out`, progress and
 * warnings to `console`. */
status packing_run(const struct packing_config *c, const char *run, const char *made_by,
                   FILE *out, FILE *console, struct err *err);
