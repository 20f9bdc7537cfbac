/*
 * importing - a model of another program becomes one file: what `ferry import` does.
 *
 * The file is as `ferry pack` would have made it, and says where its weights come from.
 * Languages that the model does not say itself are given, for sentences are cut by them.
 */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "base/opt.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define IMPORTING_OPTIONS(X)                                                                \
    X(STR, out, "", "file to write, such as en-de.ferry", ANY)                              \
    X(CHOICE, precision, "int8", "how weights are stored", ONE_OF("int8|fp16|fp32"))        \
    X(STR, source_lang, "", "language of sources, as in de, if the model does not say it", ANY) \
    X(STR, target_lang, "", "language of targets", ANY)                                     \
    X(STR, map, "", "safetensors of others: YAML file of our names and theirs", ANY)         \
    X(STR, licence, "", "text file with the licence of the model, to be put inside", ANY)
/* clang-format on */

struct importing_config {
    IMPORTING_OPTIONS(OPT_FIELD)
};

extern const struct opt_table importing_options;

/* made_by: which program, for the file. What was done goes to `out`. */
status importing_run(const struct importing_config *c, const char *model,
                     const char *made_by, FILE *out, struct err *err);
