/*
 * tensors_list - a file of tensors for another program, in any of the formats that
 * format/foreign/tensors.h reads.
 *
 * A list says which tensors there are. Their bytes are asked for one tensor at a time, in
 * the order of the list, so that memory holds the largest of them and never the model.
 *
 *     tensors_list_add(&l, "a.weight", TENSORS_F32, (uint64_t[]){2, 3}, 2, err);
 *     tensors_write(&l, TENSORS_SAFETENSORS, "model.safetensors", make, ctx, err);
 *
 * Owns: the names. Threads: one at a time.
 */
#pragma once

#include "format/foreign/tensors.h"

/* Another name of a tensor of the list; of CTranslate2 alone. */
struct tensors_alias {
    char *name;
    size_t of;
};

/* Zeroed = empty. */
struct tensors_list {
    struct tensors_item *item; /* [n]; their bytes are not here */
    struct tensors_alias *alias;
    size_t n, cap, n_aliases, alias_cap;
};

status tensors_list_add(struct tensors_list *l, const char *name, enum tensors_type type,
                        const uint64_t *dim, size_t n_dims, struct err *err);
status tensors_list_alias(struct tensors_list *l, const char *name, size_t of,
                          struct err *err);
void tensors_list_release(struct tensors_list *l);

/* The bytes of tensor i, as many as its type and shape need, little-endian. */
typedef status tensors_make(void *ctx, size_t i, unsigned char *bytes, struct err *err);

/* The whole file or none. ERR_USAGE where the format cannot hold so much. */
status tensors_write(const struct tensors_list *l, enum tensors_format format,
                     const char *path, tensors_make *make, void *ctx, struct err *err);

/* ---- for the writers, one a file of this folder ---- */

struct tensors_sink {
    const struct tensors_list *list;
    struct file_writer *out;
    tensors_make *make;
    void *ctx;
    unsigned char *bytes; /* room for the largest tensor */
};

size_t tensors_item_bytes(const struct tensors_item *item);

/* Have the bytes of tensor i made, into sink->bytes. */
status tensors_sink_make(struct tensors_sink *s, size_t i, struct err *err);
/* The same, and write them. */
status tensors_sink_put(struct tensors_sink *s, size_t i, struct err *err);

status tensors_write_safetensors(struct tensors_sink *s, struct err *err);
status tensors_write_npz(struct tensors_sink *s, struct err *err);
status tensors_write_ctranslate2(struct tensors_sink *s, struct err *err);
