/*
 * table - a hash table of numbers: from the hash of a key to what the caller calls it.
 *
 * Keys stay with the caller, as do the things that the numbers count. A slot has 32 bits
 * of the hash and a number; a search hands out the numbers whose hash may be the right
 * one, and the caller compares keys. Nothing is ever removed.
 *
 *     struct table_search s = table_search(t, hash);
 *     while ((i = table_next(&s)) != TABLE_NONE)
 *         if (item[i] is the one)
 *             return i;
 *
 * Owns: the slots. A zeroed table is empty. Threads: searches of many at a time while
 * none adds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define TABLE_NONE UINT32_MAX

struct table_slot {
    uint32_t tag, number; /* upper half of the hash; 1 + number, 0: free */
};

struct table {
    struct table_slot *slot;
    size_t n, n_slots; /* numbers in it; a power of two */
    unsigned shift;    /* of a tag, to the slot where its search begins */
};

/* Hash of a string; it depends on the byte order, so it must not go into files. */
uint64_t table_hash(const char *s, size_t n);

/* One hash of two numbers; `b` should be a hash or a large odd constant. */
static inline uint64_t table_mix(uint64_t a, uint64_t b)
{
    const unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Room for n numbers in all, so that adding them allocates nothing. */
status table_reserve(struct table *t, size_t n, struct err *err);
/* Empty, with the memory kept. */
void table_reset(struct table *t);
void table_release(struct table *t);

/* Add a number below TABLE_NONE whose key is not there yet. On failure nothing changes.
 */
status table_add(struct table *t, uint64_t hash, uint32_t number, struct err *err);

struct table_search {
    const struct table *table;
    size_t at;
    uint32_t tag;
};

static inline struct table_search table_search(const struct table *t, uint64_t hash)
{
    const uint32_t tag = (uint32_t)(hash >> 32);

    return (struct table_search){t, tag >> t->shift, tag};
}

/* The next number that may be the one; TABLE_NONE when it is not there. */
static inline uint32_t table_next(struct table_search *s)
{
    for (const struct table *t = s->table; t->n_slots;) {
        const struct table_slot slot = t->slot[s->at];
        s->at = (s->at + 1) & (t->n_slots - 1);
        if (!slot.number || slot.tag == s->tag)
            return slot.number - 1; /* TABLE_NONE when free */
    }
    return TABLE_NONE;
}

/* Load the slots where the search of `hash` begins into the processor's cache. */
static inline void table_prefetch(const struct table *t, uint64_t hash)
{
    if (t->n_slots)
        __builtin_prefetch(t->slot + (hash >> 32 >> t->shift));
}

/* A set of 64-bit hashes, which stand for their keys. A zeroed set is empty. */
struct table_set {
    struct table table;
    uint64_t *hash;
    size_t cap;
};

bool table_set_has(const struct table_set *s, uint64_t hash);
/* Adding what is there changes nothing. */
status table_set_add(struct table_set *s, uint64_t hash, struct err *err);
void table_set_release(struct table_set *s);
