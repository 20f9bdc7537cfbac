/*
 * pickle - what torch.save() wrote of a model's weights, without running it.
 *
 * A pickle is a program for a stack machine that may call anything. Here a machine runs
 * that knows the few values which a dictionary of tensors needs: texts, numbers, tuples,
 * lists, dictionaries, storages and tensors. The calls it knows are those that rebuild a
 * tensor, a parameter and an OrderedDict; whatever else a pickle names is refused by its
 * name. Nothing is imported, called or allocated for a pickle but its own values, one an
 * instruction.
 *
 * Owns: the values. Borrows: the bytes, where texts stand. Threads: immutable once read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "format/foreign/tensors.h"

/* A tensor of the dictionary that the pickle is. */
struct pickle_tensor {
    struct line name, key; /* key: the name of its storage */
    enum tensors_type type;
    uint64_t first, n_stored; /* element of the storage it begins at; all of these */
    size_t n_dims;
    uint64_t dim[TENSORS_DIMS], stride[TENSORS_DIMS];
};

struct pickle {
    struct pickle_tensor *tensor; /* [n] */
    size_t n, cap;
};

/* On failure *p is closed; ERR_FORMAT says what is not read. */
status pickle_read(struct pickle *p, const void *bytes, size_t n, struct err *err);
void pickle_close(struct pickle *p);
