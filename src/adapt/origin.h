/*
 * origin - the model that an adaptation begins with: where its weights are, what it is,
 * how its text is cut into pieces.
 *
 * It is anything that translates (decode/loaded.h); whether it can be trained is asked of
 * the training model itself.
 *
 * Owns: the bytes of the tokenizers. Threads: one.
 */
#pragma once

#include "base/str.h"
#include "decode/model_dir.h"
#include "train/run/config.h"

struct origin {
    char path[FILE_PATH_MAX]; /* as init_from takes it: a file, or a checkpoint */
    struct model_config config;
    struct model_dir_languages lang;
    struct str tokenizer, target; /* target: empty where it is the same */
    /* How it was regularised; the defaults, if the model does not say. */
    double label_smoothing, attention_dropout, relu_dropout, residual_dropout;
};

/* checkpoint: as model_dir_open() takes it, of a run directory. ERR_USAGE gives the
 * reason why the model cannot be trained. */
status origin_open(struct origin *o, const char *model, const char *checkpoint,
                   struct err *err);
void origin_close(struct origin *o);

/* Its tokenizers as a file, for preparing text. */
status origin_write_tokenizers(const struct origin *o, const char *path, struct err *err);
