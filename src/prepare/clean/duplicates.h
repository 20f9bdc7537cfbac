/*
 * duplicates - which pairs of a corpus were there before, in bounded memory.
 *
 * Each pair is known by two pairs of 64-bit hashes, of its text and of its core
 * (filter_core). They are written to bin files by ranges of the hash; afterwards one bin
 * at a time is sorted, and of equal ones all but the first get their bit.
 *
 * Memory: a mebibyte a bin while adding; 40 bytes a pair of one bin, and a bit a pair of
 * all, while finding. Owns: the bins. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "base/lines.h"

enum duplicates_kind { DUPLICATES_NONE, DUPLICATES_EXACT, DUPLICATES_NEAR };

/* What a pair is known by. */
struct duplicates_key {
    uint64_t text[2], core[2];
};

/* `core` is that of near duplicates, or the text itself when they do not matter. */
struct duplicates_key duplicates_key_of(const struct line text[2],
                                        const struct line core[2]);

struct duplicates {
    char dir[FILE_PATH_MAX];
    size_t n_bins;
    struct file_writer *bin;
    uint64_t n_pairs;
};

/* For at most n_pairs pairs, so that a bin fits max_bytes. */
status duplicates_open(struct duplicates *d, const char *dir, uint64_t n_pairs,
                       uint64_t max_bytes, struct err *err) MUST_CHECK;
/* The next pair. */
status duplicates_add(struct duplicates *d, struct duplicates_key key,
                      struct err *err) MUST_CHECK;

enum { DUPLICATES_SHOWN = 3 };

/* What was found, by kind. */
struct duplicates_found {
    unsigned char *bit; /* pair i is bit i % 8 of byte i / 8 */
    size_t n_bytes;
    uint64_t n[DUPLICATES_NEAR + 1];
    uint64_t first[DUPLICATES_NEAR + 1][DUPLICATES_SHOWN]; /* ascending; as many as n */
};

/* The bins are removed and *d is closed. The caller frees found->bit. */
status duplicates_find(struct duplicates *d, struct duplicates_found *found,
                       struct err *err) MUST_CHECK;
void duplicates_abort(struct duplicates *d);
