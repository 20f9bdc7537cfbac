/*
 * model_dir - a trained model on disk: a run directory, its best_models, or one
 * checkpoint of either.
 *
 * A directory says what the model is (config.yaml), how text becomes tokens
 * (vocab.model) and which checkpoints there are (the file `checkpoint`). best_models
 * holds only checkpoints; the first two are then found one level up. Checkpoints are
 * TensorFlow bundles with the reference's names, whoever wrote them.
 *
 * Owns: the tokenizer. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "format/tf/tensor_bundle.h"
#include "model/model.h"
#include "text/subword/spm.h"

/* A moving average of tensor X is stored beside it as "X" MODEL_DIR_AVERAGE. */
#define MODEL_DIR_AVERAGE "/ExponentialMovingAverage"

/* Which checkpoint commands take when none is named, and what they may name. */
#define MODEL_DIR_CHECKPOINT      "auto"
#define MODEL_DIR_CHECKPOINT_HELP "auto (best, else last), last, best, or a prefix"

/* The languages that a config.yaml records, as in "de"; "": not recorded. */
struct model_dir_languages {
    char source[16], target[16];
};

struct model_dir {
    char dir[FILE_PATH_MAX];    /* of config.yaml */
    char prefix[FILE_PATH_MAX]; /* the chosen checkpoint, without .index */
    struct model_config config; /* vocab_size known */
    struct model_dir_languages lang;
    char data[FILE_PATH_MAX]; /* directory that it was trained on; "": not recorded */
    struct spm *spm;
    int64_t step; /* updates behind the checkpoint; -1 when it does not say */
    char
        note[512]; /* why not the checkpoint that was asked for was taken; "" if it was */
    struct tensor_bundle bundle; /* open until the weights are loaded */
};

/*
 * path: a directory or a checkpoint prefix. checkpoint: "last" is the first whole one
 * in the order of checkpoint_dir.h, "best" the same of its best_models, "auto" the best
 * if there is one and otherwise the last; else the prefix of one, as typed or within the
 * directory. A prefix in `path` decides by itself. The files stay open, so that a
 * training that removes them takes nothing away.
 */
status model_dir_open(struct model_dir *d, const char *path, const char *checkpoint,
                      struct err *err);
void model_dir_close(struct model_dir *d);

/* The same of a checkpoint that the caller has open; its weights stay with the caller. */
status model_dir_describe(struct model_dir *d, const char *dir, const char *prefix,
                          const struct tensor_bundle *b, struct err *err);

/* The prefix of a checkpoint that the user named: as typed or within dir, by its prefix
 * or by one of its files. ERR_IO when there is none. */
status model_dir_prefix(char *prefix, size_t n_prefix, const char *dir, const char *name,
                        struct err *err);

/* dir/name, or that of the directory above; ERR_IO when neither is there. */
status model_dir_find(char *path, size_t n_path, const char *dir, const char *name,
                      struct err *err);

/* The languages of the config.yaml at `path`. */
status model_dir_languages(struct model_dir_languages *l, const char *path,
                           struct err *err);

/* Weights of the checkpoint, or with `averaged` their moving average when it has one:
 * into the flat layout of p, or into a model. Its files are closed then. */
status model_dir_read_weights(struct model_dir *d, const struct params *p, bool averaged,
                              float *flat, struct err *err);
status model_dir_load_weights(struct model *m, struct model_dir *d, bool averaged,
                              struct err *err);

/*
 * Every tensor of p, each under the name before + its name + after, into the flat
 * layout; gaps stay as they are. ERR_FORMAT when one is missing or of another shape.
 */
status model_dir_read_flat(const struct tensor_bundle *b, const struct params *p,
                           const char *before, const char *after, float *flat,
                           struct err *err);

/* ERR_FORMAT when e is not of t's shape, or not of a floating-point type. */
status model_dir_check_tensor(const struct tensor_entry *e, const struct param *t,
                              struct err *err);

/* The tensor of t in b, its type and shape found right, and its bytes. */
status model_dir_tensor(const struct tensor_bundle *b, const struct param *t,
                        const char *before, const char *after,
                        const struct tensor_entry **entry, const unsigned char **bytes,
                        struct err *err);

/* Tensor global_step, or -1 when there is none. */
status model_dir_step(const struct tensor_bundle *b, int64_t *step, struct err *err);

/* "[8,512]" in text; n is at most TENSOR_INDEX_MAX_DIMS. */
enum { MODEL_DIR_SHAPE = 24 * TENSOR_INDEX_MAX_DIMS };
const char *model_dir_shape(char text[MODEL_DIR_SHAPE], const uint64_t *dims, size_t n);

/* Is a tensor of this type floats of 16, 32 or 64 bits? */
bool model_dir_is_number(int dtype);
/* Elements [first, first + n) of the little-endian bytes of such a tensor. */
void model_dir_floats(float *out, const unsigned char *bytes, int dtype, size_t first,
                      size_t n);
/* out[i] += the element: for sums over several tensors. */
void model_dir_add_values(double *out, const unsigned char *bytes, int dtype,
                          size_t first, size_t n);
