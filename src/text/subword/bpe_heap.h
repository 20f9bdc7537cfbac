/*
 * bpe_heap - which pair of symbols is merged next.
 *
 * The most frequent one; of equally frequent ones the shortest; of those the first by its
 * characters. Two pairs may spell the same piece and be equally frequent: then the layout
 * of the heap decides, and it is that of the C++ library's std::priority_queue, on which
 * SentencePiece's choice depends. Entries are never corrected; the learner drops those
 * that are out of date when they come up.
 *
 * Owns: its entries. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct bpe_heap_entry {
    uint64_t freq;
    uint32_t pair;
};

/* Whether pair a comes after b, both being equally frequent. */
typedef bool bpe_heap_after_fn(const void *ctx, uint32_t a, uint32_t b);

struct bpe_heap {
    struct bpe_heap_entry *entry;
    size_t n, cap;
    bpe_heap_after_fn *is_after;
    const void *ctx;
};

void bpe_heap_release(struct bpe_heap *h);
status bpe_heap_push(struct bpe_heap *h, struct bpe_heap_entry e,
                     struct err *err) MUST_CHECK;
/* The first entry leaves a heap that is not empty. */
struct bpe_heap_entry bpe_heap_pop(struct bpe_heap *h);
