/*
 * tensor_file - the tensors of a model's file under the names that its program gave them,
 * for whoever wants to look at them: of a directory or archive with a model, or of the
 * file itself, which is recognised by its bytes.
 *
 * Owns: all of it. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>

#include "foreign/place.h"
#include "format/foreign/tensors.h"

struct tensor_file {
    struct place place;
    struct place_file file;
    struct tensors tensors;
    enum tensors_format format;
    char name[FILE_PATH_MAX]; /* of the file in its place */
};

/* Do the bytes begin, or end, as a file of tensors does? */
bool tensor_file_format(const void *bytes, size_t n, enum tensors_format *format);

/* "safetensors", "PyTorch"... */
const char *tensor_file_format_name(enum tensors_format format);

/* On failure *w is closed. */
status tensor_file_open(struct tensor_file *w, const char *path, struct err *err);
void tensor_file_close(struct tensor_file *w);
