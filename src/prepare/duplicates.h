/*
 * duplicates - which pairs of a corpus were there before, in bounded memory.
 *
 * Each pair is known by two pairs of 64-bit hashes, of its text and of its core
 * (filter_core). They are sorted on disk (prepare/bin_sort.h), and of equal ones all but
 * the first get their bit: 1 bit of memory per pair, besides what sorting takes.
 *
 * Owns: the bins being written. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "prepare/bin_sort.h"

enum duplicates_kind { DUPLICATES_NONE, DUPLICATES_EXACT, DUPLICATES_NEAR };

/* What a pair is known by. */
struct duplicates_key {
    uint64_t core[2], text[2];
};

/* `core` is that of near duplicates, or the text itself when they do not matter. */
struct duplicates_key duplicates_key_of(const struct line text[2],
                                        const struct line core[2]);

struct duplicates {
    char dir[FILE_PATH_MAX];
    size_t n_bins;
    struct bin_sort sort;
    uint64_t n_pairs;
};

/* For at most n_pairs pairs, so that sorting fits max_bytes. */
status duplicates_open(struct duplicates *d, const char *dir, uint64_t n_pairs,
                       uint64_t max_bytes, struct err *err);
/* The next pair. */
status duplicates_add(struct duplicates *d, struct duplicates_key key, struct err *err);

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
                       struct err *err);
void duplicates_abort(struct duplicates *d);
