/*
 * bin_sort - records in, the same records in the order of their keys out: an external
 * sort in bounded memory.
 *
 * Keys are 64 bits and spread evenly (hashes, random numbers). Records wait in bin files
 * by ranges of the key; one bin at a time is mapped and sorted. Records with equal keys
 * keep the order in which they were added. A corpus that fits is one bin, and the order
 * does not depend on the number of bins.
 *
 * Files: DIR/NAME-k, k < n_bins, each written whole or not at all by bin_sort_commit.
 * Memory while adding: 1 MiB per bin. While emitting: one bin and 16 bytes per record.
 * Owns: the bins being written. Threads: one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"

enum { BIN_SORT_MOST = 1000, BIN_SORT_RECORD_MAX = 1 << 30 };

struct bin_sort {
    size_t n_bins;
    struct file_writer *bin; /* [n_bins] */
};

/* Bins so that one of them, and the buffers of writing, fit max_bytes; ERR_USAGE when
 * BIN_SORT_MOST are too few. `n_bytes` is what the records will take at most, `what` they
 * are for the message. */
status bin_sort_plan(size_t *n_bins, uint64_t n_bytes, uint64_t n_records,
                     uint64_t max_bytes, const char *what, struct err *err);

status bin_sort_open(struct bin_sort *s, const char *dir, const char *name, size_t n_bins,
                     struct err *err);

/* One record, given in pieces that are concatenated. */
struct bin_sort_piece {
    const void *bytes;
    size_t n;
};
status bin_sort_add(struct bin_sort *s, uint64_t key, const struct bin_sort_piece *piece,
                    size_t n_pieces, struct err *err);

/* Put the bins in place. Closes *s either way. */
status bin_sort_commit(struct bin_sort *s, struct err *err);
/* Safe on a zeroed or committed one. */
void bin_sort_abort(struct bin_sort *s);

typedef status bin_sort_fn(void *ctx, const unsigned char *record, size_t n,
                           struct err *err);
/* Call fn for each record of committed bins, in the order of the keys. */
status bin_sort_emit(const char *dir, const char *name, size_t n_bins, bin_sort_fn *fn,
                     void *ctx, struct err *err);

/* Remove committed bins. */
status bin_sort_remove(const char *dir, const char *name, size_t n_bins, struct err *err);
