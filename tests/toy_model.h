/*
 * toy_model - a model directory for tests of what reads one: a tokenizer learned from a
 * few lines, a tiny model of random weights, checkpoints in TensorFlow's format.
 */
#pragma once

#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "format/tf/tensor_bundle.h"
#include "format/tf/tf_checkpoint.h"
#include "recipe/model_config.h"
#include "recipe/params.h"
#include "test.h"
#include "text/subword/spm.h"
#include "train_lines.h"

#define TOY_MODEL_TEXT                  \
    "the ferry crosses the river\n"     \
    "a child waits on the other side\n" \
    "the river is wide and slow\n"      \
    "we wait for the ferry\n"           \
    "die Fähre überquert den Fluss\n" \
    "ein Kind wartet am anderen Ufer\n" \
    "der Fluss ist breit und langsam\n" \
    "wir warten auf die Fähre\n"

static inline struct spm *toy_model_spm(void)
{
    struct lines text = lines_over(TOY_MODEL_TEXT, sizeof TOY_MODEL_TEXT - 1);
    const struct spm_train_options o = {.vocab_size = 60, .is_at_most = true};
    struct err err = {0};
    struct spm *spm;

    CHECK_OK(train_lines(&spm, o, train_lines_next, &text, NULL, &err), &err);
    return spm;
}

static inline struct model_config toy_model_config(size_t vocab)
{
    return (struct model_config){.vocab_size = (int64_t)vocab,
                                 .d_model = 16,
                                 .d_ff = 32,
                                 .heads = 2,
                                 .encoder_layers = 1,
                                 .decoder_layers = 2,
                                 .norm_epsilon = 1e-6};
}

/* The flat weights of a seed; the caller frees them. */
static inline float *toy_model_weights(const struct params *p, uint64_t seed)
{
    float *flat = calloc(p->n_flat, sizeof *flat);

    CHECK(flat);
    params_init(p, seed, flat);
    return flat;
}

/* A tensor of a checkpoint to be: rows x cols floats, stride floats apart. */
struct toy_model_tensor {
    char name[2 * PARAM_NAME_MAX];
    const float *at;
    size_t rows, cols, stride, n_dims;
};

static inline int toy_model_by_name(const void *a, const void *b)
{
    const struct toy_model_tensor *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static inline void toy_model_add(struct tensor_bundle_writer *w,
                                 const struct toy_model_tensor *t)
{
    const uint64_t dims[2] = {t->rows, t->cols};
    struct err err = {0};

    CHECK_OK(tensor_bundle_add(w, t->name, TENSOR_FLOAT, dims + 2 - t->n_dims, t->n_dims,
                               &err),
             &err);
    for (size_t r = 0; r < t->rows; r++)
        CHECK_OK(tensor_bundle_add_bytes(w, t->at + r * t->stride,
                                         t->cols * sizeof *t->at, &err),
                 &err);
}

/* Weights, when given their moving average, and the step. */
static inline void toy_model_checkpoint(const char *prefix, const struct params *p,
                                        const float *flat, const float *average,
                                        int64_t step)
{
    struct toy_model_tensor *list = calloc(2 * p->n_list, sizeof *list);
    struct tensor_bundle_writer w;
    struct err err = {0};
    size_t n = 0;

    CHECK(list);
    for (int is_average = 0; is_average <= (average != NULL); is_average++)
        for (size_t i = 0; i < p->n_list; i++) {
            const struct param *t = &p->list[i];
            struct toy_model_tensor *to = &list[n++];
            *to = (struct toy_model_tensor){.at = (is_average ? average : flat) + t->at,
                                            .rows = t->rows,
                                            .cols = t->cols,
                                            .stride = t->stride,
                                            .n_dims = t->n_dims};
            snprintf(to->name, sizeof to->name, "%s%s", t->name,
                     is_average ? "/ExponentialMovingAverage" : "");
        }
    qsort(list, n, sizeof *list, toy_model_by_name);
    CHECK_OK(tensor_bundle_begin(&w, prefix, &err), &err);
    for (size_t i = 0; i < n; i++)
        toy_model_add(&w, &list[i]);
    CHECK_OK(tensor_bundle_add(&w, "global_step", TENSOR_INT64, NULL, 0, &err), &err);
    CHECK_OK(tensor_bundle_add_bytes(&w, &step, sizeof step, &err), &err);
    CHECK_OK(tensor_bundle_finish(&w, &err), &err);
    free(list);
}

/* config.yaml with a key that is no business of the model's, and vocab.model. */
static inline void toy_model_describe(const char *dir, const struct model_config *c,
                                      const struct spm *spm)
{
    char path[FILE_PATH_MAX];
    struct str text = str_new(0);
    struct err err = {0};

    CHECK_OK(file_make_dirs(dir, &err), &err);
    opt_dump(model_config_table, c, &text);
    str_puts(&text, "batch_tokens: 100\n");
    CHECK_OK(file_join(path, sizeof path, dir, "config.yaml", &err), &err);
    CHECK_OK(file_write(path, str_text(&text), text.len, &err), &err);
    CHECK_OK(file_join(path, sizeof path, dir, "vocab", &err), &err);
    CHECK_OK(spm_save(spm, path, &err), &err);
    str_release(&text);
}

/* A run directory with model.ckpt-1 .. n (at most 8) of the weights of seeds 1 .. n. */
static inline void toy_model_run(const char *dir, const struct model_config *c,
                                 const struct spm *spm, size_t n)
{
    char names[8][32], path[FILE_PATH_MAX];
    const char *all[8];
    struct params p;
    struct err err = {0};

    toy_model_describe(dir, c, spm);
    CHECK_OK(params_open(&p, c, &err), &err);
    for (size_t i = 0; i < n; i++) {
        float *flat = toy_model_weights(&p, i + 1);
        snprintf(names[i], sizeof names[i], "model.ckpt-%zu", i + 1);
        all[i] = names[i];
        CHECK_OK(file_join(path, sizeof path, dir, names[i], &err), &err);
        toy_model_checkpoint(path, &p, flat, NULL, (int64_t)i + 1);
        free(flat);
    }
    CHECK_OK(file_join(path, sizeof path, dir, "checkpoint", &err), &err);
    CHECK_OK(tf_checkpoint_write(path, all[n - 1], all, n, &err), &err);
    params_close(&p);
}
