#include "text/subword/bpe_heap.h"

#include <stdlib.h>

#include "base/mem.h"

static bool is_after(const struct bpe_heap *h, const struct bpe_heap_entry *a,
                     const struct bpe_heap_entry *b)
{
    if (a->rank != b->rank)
        return a->rank < b->rank;
    return h->is_after(h->ctx, a->pair, b->pair);
}

void bpe_heap_release(struct bpe_heap *h)
{
    free(h->entry);
    *h = (struct bpe_heap){0};
}

/* Let e rise from the hole at i. */
static void rise(struct bpe_heap *h, size_t i, struct bpe_heap_entry e)
{
    while (i > 0 && is_after(h, &h->entry[(i - 1) / 2], &e)) {
        h->entry[i] = h->entry[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->entry[i] = e;
}

status bpe_heap_push(struct bpe_heap *h, struct bpe_heap_entry e, struct err *err)
{
    TRY(mem_grow(&h->entry, &h->cap, h->n + 1, sizeof *h->entry, err));
    rise(h, h->n++, e);
    return OK;
}

/* The hole at the top sinks to the bottom, then the last entry rises from there. */
struct bpe_heap_entry bpe_heap_pop(struct bpe_heap *h)
{
    const struct bpe_heap_entry top = h->entry[0], last = h->entry[--h->n];
    size_t hole = 0, child;

    if (h->n == 0)
        return top;
    while ((child = 2 * hole + 2) < h->n) {
        if (is_after(h, &h->entry[child], &h->entry[child - 1]))
            child--;
        h->entry[hole] = h->entry[child];
        hole = child;
    }
    if (child == h->n) {
        h->entry[hole] = h->entry[child - 1];
        hole = child - 1;
    }
    rise(h, hole, last);
    return top;
}
