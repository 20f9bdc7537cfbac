/*
 * tensors - the tensors of a file that another program wrote: names, shapes and bytes, of
 * safetensors, of NumPy's .npz as Marian writes it, of CTranslate2's model.bin, and of
 * the archives of PyTorch (pytorch_model.bin).
 *
 * Nothing of a file is executed, and nothing is unpacked: the bytes are read where they
 * are mapped. Whatever a file says of sizes and places is held against its length before
 * it is used. Names and shapes take at most TENSORS_MEMORY bytes for each byte that
 * describes them. docs/formats/foreign.md has what is read.
 *
 * Owns: the mapping, and names. Threads: immutable once open.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "base/table.h"

enum tensors_type {
    TENSORS_F32,
    TENSORS_F64,
    TENSORS_F16,
    TENSORS_BF16,
    TENSORS_I8,
    TENSORS_I16,
    TENSORS_I32,
    TENSORS_I64,
    TENSORS_U8,
    TENSORS_U16,
    TENSORS_U32,
    TENSORS_BOOL,
    N_TENSORS_TYPES
};

enum { TENSORS_DIMS = 8, TENSORS_MEMORY = 128 };

struct tensors_item {
    char *name;
    enum tensors_type type;
    size_t n_dims;
    uint64_t dim[TENSORS_DIMS]; /* row-major, the last one running fastest */
    size_t n;                   /* elements */
    const unsigned char *bytes; /* little-endian, of no alignment */
};

enum tensors_format {
    TENSORS_SAFETENSORS,
    TENSORS_NPZ,
    TENSORS_CTRANSLATE2,
    TENSORS_TORCH,
    N_TENSORS_FORMATS
};

struct tensors {
    struct file_map map; /* of a file; or the bytes at hand */
    bool is_mapped;
    struct tensors_item *item; /* [n] */
    size_t n, cap;
    struct table by_name;
};

/* On failure *t is closed; ERR_FORMAT names the file. */
status tensors_open(struct tensors *t, enum tensors_format format, const char *path,
                    struct err *err);
/* The same of n bytes at hand, which outlive it. */
status tensors_parse(struct tensors *t, enum tensors_format format, const void *bytes,
                     size_t n, struct err *err);
void tensors_close(struct tensors *t);

/* NULL when there is none. */
const struct tensors_item *tensors_find(const struct tensors *t, const char *name);

/* Element i as a number. */
double tensors_value(const struct tensors_item *item, size_t i);

const char *tensors_type_name(enum tensors_type type);
size_t tensors_type_bytes(enum tensors_type type); /* of an element */

/* The readers, one a file of this folder: every tensor of t->map. */
status safetensors_read(struct tensors *t, struct err *err);
status npz_read(struct tensors *t, struct err *err);
status ctranslate2_read(struct tensors *t, struct err *err);
status torch_read(struct tensors *t, struct err *err);

/* For readers: append a tensor whose bytes are map[at, at + n_bytes), after its shape was
 * found to need just as many. name: of so many bytes, and no other's. */
status tensors_add(struct tensors *t, const char *name, size_t n_name,
                   struct tensors_item item, uint64_t at, uint64_t n_bytes,
                   struct err *err);
