/*
 * prefetch - the next batches, made while the last one is trained.
 *
 * A thread of its own walks the order from a cursor on, takes this rank's shard of each
 * update, cuts it into micro-batches and fills a small ring with them. A rank without a
 * pair in an update gets one empty batch, so that it keeps step with the others. What
 * comes out is the same sequence as without a thread, whatever the timing. The thread
 * runs ahead of training, so the cursor to save is the one that comes with the batch,
 * never the thread's.
 *
 * Owns:    the thread, the order, the ring.
 * Borrows: the corpus, which must outlive it.
 * Threads: open, next and close from one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "corpus/batch.h"
#include "corpus/order.h"
#include "corpus/shard.h"
#include "corpus/varied.h"

struct prefetch;

struct prefetch_item {
    const struct batch
        *batch;             /* valid until the next prefetch_next() or prefetch_close() */
    size_t update_pairs;    /* of the whole update */
    size_t node_tgt;        /* target tokens of the ranks of this node */
    double node_weight;     /* the same, each as often as its pair counts */
    bool is_first, is_last; /* micro-batch of this rank's part of the update */
    bool ends_epoch;        /* its update is the last of its epoch */
    struct order_cursor after; /* save this once the update is done */
};

/* How updates become micro-batches. */
struct prefetch_rule {
    struct order_rule order;
    struct shard_rule shard;
    struct batch_limit limit;
    struct vary vary; /* zeroed: pairs stay as they are stored; unless it counts the
                         node's tokens, node_tgt and node_weight are 0 */
};

/* Begin at `from`. ERR_USAGE for a rule, ERR_FORMAT for a cursor that cannot be. */
status prefetch_open(struct prefetch **f, const struct corpus *corpus,
                     struct prefetch_rule rule, struct order_cursor from,
                     struct err *err);

/* Stop the thread, wherever it is, and free everything. NULL is fine. */
void prefetch_close(struct prefetch *f);

/* The next micro-batch, endlessly over epochs. A failure of the thread comes out here,
 * after the batches that it had finished, and again at each further call. */
status prefetch_next(struct prefetch *f, struct prefetch_item *item, struct err *err);
