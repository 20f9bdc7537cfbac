/*
 * shuffle - records in, the same records in random order out, in bounded memory.
 *
 * Record i gets the key rng_hash(seed, i), and the order is that of the keys: every
 * permutation is equally likely, and which one it is depends on the seed and the number
 * of the record alone, not on memory or threads. Records wait in bin files by ranges of
 * the key; one bin at a time is mapped and sorted. A corpus that fits is one bin.
 *
 * Files: DIR/NAME-k, k < n_bins, each written whole or not at all by shuffle_commit.
 * Memory while adding: a mebibyte a bin. While emitting: one bin and 16 bytes a record.
 * Owns: the bins being written. Threads: one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"

enum { SHUFFLE_BINS_MAX = 1000, SHUFFLE_RECORD_MAX = 1 << 30 };

struct shuffle {
    char dir[FILE_PATH_MAX], name[32];
    uint64_t key, n_records;
    size_t n_bins;
    struct file_writer *bin; /* [n_bins] */
};

/* Bins so that one of them, and what writing takes, fits max_bytes; ERR_USAGE when even
 * SHUFFLE_BINS_MAX are too few. `n_bytes` is what the records will take at most. */
status shuffle_bins(size_t *n_bins, uint64_t n_bytes, uint64_t n_records,
                    uint64_t max_bytes, struct err *err) MUST_CHECK;

status shuffle_open(struct shuffle *s, const char *dir, const char *name, size_t n_bins,
                    uint64_t seed, struct err *err) MUST_CHECK;

/* One record, given in pieces that are put one behind the other. */
struct shuffle_piece {
    const void *bytes;
    size_t n;
};
status shuffle_add(struct shuffle *s, const struct shuffle_piece *piece, size_t n_pieces,
                   struct err *err) MUST_CHECK;

/* Put the bins in place. Closes *s either way. */
status shuffle_commit(struct shuffle *s, struct err *err) MUST_CHECK;
/* Safe on a zeroed or committed one. */
void shuffle_abort(struct shuffle *s);

typedef status shuffle_fn(void *ctx, const unsigned char *record, size_t n,
                          struct err *err);
/* Call fn for each record of committed bins, in the shuffled order. */
status shuffle_emit(const char *dir, const char *name, size_t n_bins, shuffle_fn *fn,
                    void *ctx, struct err *err) MUST_CHECK;

/* Path of bin k. */
status shuffle_path(char out[FILE_PATH_MAX], const char *dir, const char *name, size_t k,
                    struct err *err) MUST_CHECK;
