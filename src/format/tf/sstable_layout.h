/* sstable_layout - constants of the table that its writer and its reader share. */
#pragma once

#include <stddef.h>

#define SSTABLE_MAGIC 0xdb4775248b80fb57ULL

enum {
    SSTABLE_FOOTER_BYTES = 48,
    SSTABLE_TRAILER_BYTES = 5, /* type and masked checksum after each block */
    SSTABLE_PLAIN = 0,         /* types of a block */
    SSTABLE_SNAPPY = 1
};

/* Byte-wise order of two keys, as memcmp() says it; a prefix comes first. */
int sstable_compare(const void *a, size_t n_a, const void *b, size_t n_b);
