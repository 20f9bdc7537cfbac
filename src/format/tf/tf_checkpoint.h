/*
 * tf_checkpoint - the text file `checkpoint` that names a directory's checkpoints:
 *
 *     model_checkpoint_path: "model.ckpt-200"
 *     all_model_checkpoint_paths: "model.ckpt-100"
 *     all_model_checkpoint_paths: "model.ckpt-200"
 *
 * It is a protocol buffer in text form; names are relative to its directory unless
 * they start with a slash. Owns its strings. Threads: one at a time.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct tf_checkpoint {
    char *latest; /* NULL when the file names none */
    char **all;   /* in the file's order, oldest first */
    size_t n, cap;
};

/* Fields that we do not know are skipped; ERR_FORMAT names the line of a mistake. */
status tf_checkpoint_read(struct tf_checkpoint *c, const char *path, struct err *err);
/* The same of text at hand. */
status tf_checkpoint_parse(struct tf_checkpoint *c, const char *text, size_t n,
                           struct err *err);
void tf_checkpoint_release(struct tf_checkpoint *c);

/* Replace the file at once: a reader sees the old names or the new ones. */
status tf_checkpoint_write(const char *path, const char *latest, const char *const *all,
                           size_t n, struct err *err);
