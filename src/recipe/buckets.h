/*
 * buckets - the order in which gradients are sent.
 *
 * Backward finishes the flat gradient from its end to its front, a layer at a time.
 * Buckets are runs of whole layers in that order, as large as the limit allows, so that
 * a full one leaves as soon as its lowest layer is done; what is larger than the limit
 * by itself (the embedding) is cut into equal pieces. The layout follows from the
 * parameter table and the limit alone and is therefore the same on every rank.
 *
 * Owns: the list.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct params;

struct bucket {
    size_t first, n; /* elements of the flat array, alignment gaps included */
};

struct buckets {
    struct bucket *list; /* from the end of the array to its front, without holes */
    size_t n_list;
    size_t n_max; /* elements of the largest */
};

/* max_elements > 0 */
status buckets_open(struct buckets *b, const struct params *p, size_t max_elements,
                    struct err *err);
void buckets_close(struct buckets *b);

/* How many at the end of the list hold the embedding and nothing else, so that it may be
 * sent in two parts (dist/exchange/embed_rows.h); 0: it shares a bucket with something.
 */
size_t buckets_of_embedding(const struct buckets *b, const struct params *p);
