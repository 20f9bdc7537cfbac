/*
 * tensor_index - a checkpoint's .index: for each tensor its name, type, shape, place in
 * the .data file and checksum. No tensor bytes pass through here.
 *
 * An index that was read owns everything it points to; it does not need the bytes that
 * it was read from. Threads: any number may look up.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "format/tf/sstable.h"
#include "format/tf/tensor_dtype.h"

enum { TENSOR_INDEX_MAX_DIMS = 8 };

struct tensor_entry {
    const char *name;
    int dtype; /* enum tensor_dtype, or a number that we have no name for */
    size_t n_dims;
    uint64_t dims[TENSOR_INDEX_MAX_DIMS]; /* row-major; none for a scalar */
    uint32_t shard;
    uint64_t at, n_bytes; /* in that shard's .data file */
    uint32_t masked_crc;  /* of the tensor's bytes */
};

/*
 * The bytes of a dense tensor of this type and shape in *n_bytes. ERR_USAGE, naming the
 * tensor, when the type has no fixed size or the shape is too large.
 */
status tensor_index_size(const char *name, int dtype, const uint64_t *dims, size_t n_dims,
                         uint64_t *n_bytes, struct err *err);

/* Elements of the tensor; 0 when its type has no fixed size. */
uint64_t tensor_index_elements(const struct tensor_entry *e);

struct tensor_index_writer {
    struct sstable_writer table;
    struct str value;
};

/* A new index of tensors in one .data file. */
status tensor_index_writer_init(struct tensor_index_writer *w, struct err *err);
/* Names must arrive in strictly increasing byte-wise order: ERR_USAGE otherwise. */
status tensor_index_writer_add(struct tensor_index_writer *w,
                               const struct tensor_entry *entry, struct err *err);
/* The whole file is in w->table.out afterwards. */
status tensor_index_writer_finish(struct tensor_index_writer *w, struct err *err);
void tensor_index_writer_release(struct tensor_index_writer *w);

struct tensor_index {
    struct tensor_entry *entry; /* in order of the names */
    size_t n;
    uint32_t n_shards;
    struct sstable table; /* holds the names */
};

/*
 * Decode and check a whole .index: ERR_FORMAT when it is damaged, was written on a
 * big-endian machine, or holds partitioned variables (slices).
 */
status tensor_index_read(struct tensor_index *index, const unsigned char *bytes,
                         size_t n_bytes, struct err *err);
/* The same of PREFIX.index. */
status tensor_index_open(struct tensor_index *index, const char *prefix, struct err *err);
void tensor_index_release(struct tensor_index *index);

/* NULL when there is no such tensor. */
const struct tensor_entry *tensor_index_find(const struct tensor_index *index,
                                             const char *name);
