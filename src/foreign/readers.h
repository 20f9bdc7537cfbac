/*
 * readers - what the readers of the formats share. Each fills *f of a directory or file
 * that foreign_open() found to be of its kind.
 */
#pragma once

#include <jansson.h>

#include "base/file.h"
#include "foreign/fill.h"
#include "foreign/foreign.h"

status huggingface_open(struct foreign *f, const char *dir, struct err *err);
/* path: the .npz; dir: where its vocabularies are. */
status marian_open(struct foreign *f, const char *path, const char *dir, struct err *err);
status ctranslate2_open(struct foreign *f, const char *dir, struct err *err);

/* Of a directory with one .npz, or with a decoder.yml that names one: its path. */
status marian_find(char path[FILE_PATH_MAX], const char *dir, struct err *err);

/* Vocabularies of both sides, which may be one. */
struct readers_words {
    struct vocabulary source, target;
    bool is_one; /* the source's is both */
};
void readers_release(struct readers_words *w);

/*
 * Once configuration and vocabularies are known: take memory for the weights, fill it,
 * see to it that tokens which the model does not have are never said, and make the
 * tokenizers of the SentencePiece models at these paths. `fill` lacks what is known here.
 */
struct readers_model {
    const struct tensors *tensors;
    const struct readers_words *words;
    const char *source_spm, *target_spm; /* paths */
    struct fill fill;
    bool has_output_bias; /* among the tensors */
};
status readers_finish(struct foreign *f, const struct readers_model *m, struct err *err);

/* An object, to json_decref(). */
status readers_json(json_t **root, const char *path, struct err *err);

/* {"token": number}, or [token]. */
status readers_json_words(struct vocabulary *v, const char *path, struct err *err);
/* token: number, in YAML. */
status readers_yaml_words(struct vocabulary *v, const char *path, struct err *err);

/* dir/name of the first of these names that is there; false: none. */
bool readers_find(char path[FILE_PATH_MAX], const char *dir, const char *const *names,
                  size_t n);
