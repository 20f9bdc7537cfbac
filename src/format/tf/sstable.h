/*
 * sstable - a sorted table of byte strings in LevelDB's file layout, in memory.
 *
 * TensorFlow keeps a checkpoint's index in one. Data blocks of prefix-compressed
 * entries come first, then an empty meta-index block, then an index block that holds
 * one separator key for each data block, then a footer; docs/formats/tensor-bundle.md
 * shows the bytes. Blocks compressed by snappy are refused: TensorFlow writes none.
 *
 * A table that was read owns its keys and borrows its values from the caller's bytes,
 * which must outlive it. Threads: one writer at a time; any number may look up.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define SSTABLE_MAGIC 0xdb4775248b80fb57ULL

enum {
    SSTABLE_BLOCK_BYTES = 256 << 10, /* a data block is closed at this size */
    SSTABLE_KEY_MAX = 64 << 10,
    SSTABLE_FOOTER_BYTES = 48,
    SSTABLE_TRAILER_BYTES = 5, /* type and masked checksum after each block */
    SSTABLE_PLAIN = 0,         /* types of a block */
    SSTABLE_SNAPPY = 1
};

/* A block under construction. */
struct sstable_block {
    struct str bytes, restarts, last_key;
    size_t restart_interval, n_since_restart;
};

struct sstable_writer {
    struct str out; /* the whole file, once finished */
    struct sstable_block data, index;
    size_t block_bytes;
    uint64_t pending_at, pending_bytes; /* a closed block that the index lacks */
};

/* block_bytes 0 means SSTABLE_BLOCK_BYTES. */
void sstable_writer_init(struct sstable_writer *w, size_t block_bytes);
/* Keys must arrive in strictly increasing byte-wise order: ERR_USAGE otherwise. */
status sstable_writer_add(struct sstable_writer *w, const void *key, size_t n_key,
                          const void *value, size_t n_value, struct err *err);
/* Complete the table in w->out. */
status sstable_writer_finish(struct sstable_writer *w, struct err *err);
void sstable_writer_release(struct sstable_writer *w);

struct sstable_entry {
    const char *key; /* NUL-terminated, but may also hold NULs */
    size_t n_key;
    const unsigned char *value;
    size_t n_value;
};

struct sstable {
    struct sstable_entry *entry; /* in order of the keys */
    size_t n, cap;
    struct str keys;
    size_t n_spare; /* bytes outside blocks and footer, of which no writer leaves any */
};

/*
 * Check and decode a whole table. Anything that a writer would not have written
 * (checksum, bound, order, magic) is ERR_FORMAT with what and where.
 */
status sstable_read(struct sstable *t, const unsigned char *bytes, size_t n_bytes,
                    struct err *err);
void sstable_release(struct sstable *t);

/* NULL when there is no such key. */
const struct sstable_entry *sstable_find(const struct sstable *t, const void *key,
                                         size_t n_key);
