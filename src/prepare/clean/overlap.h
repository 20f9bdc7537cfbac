/*
 * overlap - which lines of the held-out sets are also in the training text.
 *
 * Lines are compared in their cleaned form, by a 64-bit hash. Finding one in training
 * makes a score of that set look better than it is.
 *
 * Owns: 40 bytes per held-out line or pair. Threads: overlap_find from any once all were
 * added, the rest from one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/table.h"

/* Which part of a held-out pair was found. */
enum overlap_part { OVERLAP_SOURCE, OVERLAP_TARGET, OVERLAP_PAIR, N_OVERLAP };

struct overlap {
    struct overlap_entry {
        uint64_t hash;
        uint64_t n_lines; /* of the set that have this hash */
        int part;
        bool is_found;
    } * entry;
    size_t n, cap;
    struct table table; /* of the entries */
};

/* The hashes of a pair of cleaned lines. */
struct overlap_key {
    uint64_t hash[N_OVERLAP];
};
struct overlap_key overlap_key_of(const struct line side[2]);

/* Add a pair of the set. */
status overlap_add(struct overlap *o, struct overlap_key key, struct err *err) MUST_CHECK;
void overlap_release(struct overlap *o);

/* Bits 1 << part of what the set shares with a training pair. */
unsigned overlap_find(const struct overlap *o, struct overlap_key key);
/* Remember that it was found. */
void overlap_mark(struct overlap *o, struct overlap_key key);
/* Held-out lines, or pairs, that were found. */
uint64_t overlap_count(const struct overlap *o, enum overlap_part part);
