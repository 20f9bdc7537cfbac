/*
 * tensor_bundle - a checkpoint in TensorFlow's format: named tensors of bytes in
 * PREFIX.data-00000-of-00001, described by PREFIX.index.
 *
 * Writing streams: tensors in byte-wise sorted order of their names, each in as many
 * pieces as suits the caller (a strided matrix row by row). Nothing stands under the
 * final names before tensor_bundle_finish(), and the index comes last, since it is
 * what makes the data a checkpoint.
 *
 *     tensor_bundle_begin(&w, "run/model.ckpt-100", err);
 *     tensor_bundle_add(&w, "a/kernel", TENSOR_FLOAT, (uint64_t[]){2, 3}, 2, err);
 *     tensor_bundle_add_bytes(&w, row0, 12, err);
 *     tensor_bundle_add_bytes(&w, row1, 12, err);
 *     tensor_bundle_finish(&w, err);
 *
 * Reading maps the files; the data may lie in several of them. A tensor's checksum is
 * verified each time it is read.
 *
 * Entries and bytes belong to the open bundle. Threads: one writer at a time; any
 * number may read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "format/tf/tensor_index.h"

struct tensor_bundle_writer {
    struct file_writer data;
    struct tensor_index_writer index;
    char *prefix, *name;        /* name: of the newest tensor */
    struct tensor_entry tensor; /* the newest one */
    bool is_open;               /* it is not in the index yet */
    uint64_t n_left;            /* bytes of it that have not arrived */
    uint32_t crc;
};

/* On failure nothing is left to release. */
status tensor_bundle_begin(struct tensor_bundle_writer *w, const char *prefix,
                           struct err *err);
/* The next tensor; its bytes follow. ERR_USAGE when its name does not sort after the
 * last one or the last tensor lacks bytes. */
status tensor_bundle_add(struct tensor_bundle_writer *w, const char *name,
                         enum tensor_dtype dtype, const uint64_t *dims, size_t n_dims,
                         struct err *err);
status tensor_bundle_add_bytes(struct tensor_bundle_writer *w, const void *bytes,
                               size_t n, struct err *err);
/* Put the data and then the index under their names. Releases *w either way. */
status tensor_bundle_finish(struct tensor_bundle_writer *w, struct err *err);
/* Forget everything written; a checkpoint that was there before stays. */
void tensor_bundle_abort(struct tensor_bundle_writer *w);

struct tensor_bundle {
    struct tensor_index index; /* .entry[0 .. n) in order of the names */
    struct file_map *shard;    /* those that hold a tensor are open; NULL: no data */
};

/* Every tensor lies within its data file afterwards; no tensor byte was looked at. */
status tensor_bundle_open(struct tensor_bundle *b, const char *prefix, struct err *err);
/*
 * The same of a checkpoint whose data may be elsewhere. When a data file is not there,
 * `missing` is its path and the index is all that can be asked: tensor_bundle_read fails.
 * Otherwise `missing` is "".
 */
status tensor_bundle_open_index(struct tensor_bundle *b, const char *prefix,
                                char missing[FILE_PATH_MAX], struct err *err);
void tensor_bundle_close(struct tensor_bundle *b);

/* Where PREFIX.data-<shard>-of-<n_shards> is; ERR_USAGE when that is too long. */
status tensor_bundle_data_path(char path[FILE_PATH_MAX], const char *prefix,
                               uint32_t shard, uint32_t n_shards, struct err *err);

/* ERR_FORMAT when a file of the open bundle has bytes that belong to nothing: in the
 * index outside its blocks, in the data behind the last tensor. Readers pass them over.
 */
status tensor_bundle_check_ends(const struct tensor_bundle *b, const char *prefix,
                                struct err *err);

/* NULL when there is no such tensor. */
const struct tensor_entry *tensor_bundle_find(const struct tensor_bundle *b,
                                              const char *name);

/* The tensor's bytes, not aligned, after their checksum was found right. */
status tensor_bundle_read(const struct tensor_bundle *b, const struct tensor_entry *e,
                          const unsigned char **bytes, struct err *err);

/*
 * The same copied into rows of row_bytes that lie stride_bytes apart; ERR_USAGE unless
 * n_rows of them make the tensor.
 */
status tensor_bundle_copy(const struct tensor_bundle *b, const struct tensor_entry *e,
                          void *rows, size_t n_rows, size_t row_bytes,
                          size_t stride_bytes, struct err *err);
