/*
 * pour - a file of tensors for another program, made of the weights of our parameters:
 * what fill.h does, the other way.
 *
 * The same rows say under which name, as what and beside which others a parameter stands.
 * Tokens have our numbers there too, so that tables go as they are. What the other
 * program wants beside weights (facts of the architecture, a table of positions) is added
 * as tensors of their own.
 *
 * Owns: names, and bytes that were added. Borrows: parameters and rows. Threads: one at a
 * time.
 */
#pragma once

#include "foreign/fill.h"
#include "format/foreign/tensors_list.h"
#include "recipe/positions.h"

/* Our types of numbers, for whole models; name, of matrices, of all else */
#define POUR_TYPES(T)        \
    T(float32, F32, F32)     \
    T(float16, F16, F16)     \
    T(bfloat16, BF16, BF16)  \
    T(int16, I16, F32)       \
    T(int8, I8, F32)         \
    T(int8_float32, I8, F32) \
    T(int8_float16, I8, F16) \
    T(int8_bfloat16, I8, BF16)
#define POUR_TYPE_NAMES \
    "float32|float16|bfloat16|int16|int8|int8_float32|int8_float16|int8_bfloat16"

struct pour_type {
    const char *name;
    enum tensors_type matrix, other;
};

/* NULL: no type is called so. */
const struct pour_type *pour_type_of(const char *name);

struct pour_item {
    struct tensors_item tensor;
    const struct fill_row *row; /* NULL: `bytes` as they are */
    int layer;
    bool is_scale; /* of the matrix that the row makes, not the matrix */
    unsigned char *bytes;
};

struct pour_alias {
    const char *name, *of;
};

enum { POUR_ALIASES = 8 };

/* Set the fields up to has_rows, the rest zeroed. */
struct pour {
    struct fill names; /* its rows, first layer and suffix */
    const struct params *params;
    const float *flat;
    const struct pour_type *type;
    bool has_rows; /* vectors are matrices of one row */
    struct pour_item *item;
    size_t n, cap;
    struct pour_alias alias[POUR_ALIASES];
    size_t n_aliases;
};

void pour_release(struct pour *p);

/* Every parameter that has a row; matrices in int8 and int16 with their scales. */
status pour_weights(struct pour *p, struct err *err);

/* The same of one row, which is among p->names, of a parameter without layers: for one
 * that the file has twice. */
status pour_row(struct pour *p, const struct fill_row *row, struct err *err);

/* A tensor that is no weight: bytes as they stand in the file, as many as it needs. */
status pour_bytes(struct pour *p, const char *name, struct tensors_item shape,
                  const void *bytes, struct err *err);
/* One whole number without dimensions. */
status pour_number(struct pour *p, const char *name, enum tensors_type type,
                   int64_t number, struct err *err);
/* [n,D] of the signal, in the type of vectors. */
status pour_positions(struct pour *p, const char *name, enum positions kind, size_t n,
                      size_t D, struct err *err);

/* Let a vector that was added be a matrix of one row. */
void pour_as_row(struct pour *p, const char *name);

/* Another name of a tensor, both of static storage. */
void pour_alias(struct pour *p, const char *name, const char *of);

/* In the order of the names. */
status pour_write(struct pour *p, enum tensors_format format, const char *path,
                  struct err *err);
