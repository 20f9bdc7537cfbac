/*
 * bpe_heap - which pair of symbols is merged next: the most frequent one while learning,
 * the one with the highest score while encoding.
 *
 * While learning, two pairs may be equal in everything. Then the layout of the heap
 * decides: it is that of std::priority_queue, on which SentencePiece's choice depends.
 * Entries are never corrected; those that are out of date are dropped when they come up.
 *
 * Owns: its entries. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct bpe_heap_entry {
    uint64_t rank; /* the highest comes first */
    uint32_t pair;
};

/* Whether pair a comes after b, both being of the same rank. */
typedef bool bpe_heap_after_fn(const void *ctx, uint32_t a, uint32_t b);

struct bpe_heap {
    struct bpe_heap_entry *entry;
    size_t n, cap;
    bpe_heap_after_fn *is_after;
    const void *ctx;
};

void bpe_heap_release(struct bpe_heap *h);
status bpe_heap_push(struct bpe_heap *h, struct bpe_heap_entry e, struct err *err);
/* The first entry leaves a heap that is not empty. */
struct bpe_heap_entry bpe_heap_pop(struct bpe_heap *h);
