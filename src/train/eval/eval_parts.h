/*
 * eval_parts - what the evaluations of a run directory and of a packed model share.
 */
#pragma once

#include "corpus/dataset.h"
#include "decode/translate.h"
#include "train/eval/eval.h"
#include "train/eval/evaluate.h"

/* The same of a packed model or one of another program, which have neither a training
 * configuration nor a log. */
status eval_packed(const struct eval_config *c, const char *path, FILE *out,
                   FILE *console, struct err *err);

/* The data in `dir` are ids of this tokenizer, which is that of the model at `where`. */
status eval_check_vocabulary(const struct dataset *data, const char *dir,
                             const struct spm *spm, int64_t vocab_size, const char *where,
                             struct err *err);

/* The best translations, a line each. */
status eval_write(const char *path, const struct translations *t, struct err *err);

/* What was measured of translations, as lines of the table, if anything was. */
void eval_print_text(const struct evaluate_result *r, FILE *out);

/* ERR_CHECK when BLEU is lower than was asked for. */
status eval_at_least(const struct eval_config *c, const struct evaluate_result *r,
                     struct err *err);
