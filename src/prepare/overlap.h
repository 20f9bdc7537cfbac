/*
 * overlap - the lines of a held-out set, by 64-bit hashes of their cleaned form: which of
 * them stand in other text too, where they make a score of the set look better than it
 * is.
 *
 * Owns: the entries. A zeroed one is an empty set. Threads: searches of many at a time
 * while none adds or marks.
 */
#pragma once

#include "base/lines.h"
#include "base/table.h"
#include "prepare/prepare.h"

/* The hashes of a pair of cleaned lines. */
struct overlap_key {
    uint64_t hash[N_OVERLAP];
};

/* Where a line of the set was found: in training pairs that stay, or that were dropped
 * because of it. */
enum overlap_where { OVERLAP_LEFT, OVERLAP_REMOVED, N_OVERLAP_WHERE };

struct overlap {
    struct overlap_entry {
        uint64_t hash;
        uint64_t n_lines; /* of the set that have this hash */
        int part;         /* enum prepare_overlap */
        bool is_found[N_OVERLAP_WHERE];
    } * entry;
    size_t n, cap;
    struct table table; /* of the entries */
};

struct overlap_key overlap_key_of(const struct line side[PAIRS_SIDES]);

status overlap_add(struct overlap *o, struct overlap_key key, struct err *err);
void overlap_release(struct overlap *o);

/* Bits 1 << part of what the set shares with a pair. */
unsigned overlap_find(const struct overlap *o, struct overlap_key key);
void overlap_mark(struct overlap *o, struct overlap_key key, enum overlap_where where);

/* Lines of the set that were marked, by part. */
void overlap_count(const struct overlap *o, enum overlap_where where,
                   uint64_t n[N_OVERLAP]);
