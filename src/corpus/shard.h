/*
 * shard - which pairs of an update each rank trains on.
 *
 * A pure function of the update and the number of ranks, which every rank computes for
 * itself: the longest pairs first, each to the rank that has the fewest target tokens so
 * far. Every pair goes to exactly one rank; a rank's pairs keep the order of the update,
 * so that a single rank has the update itself. With fewer pairs than ranks some ranks
 * have none.
 *
 * Owns: scratch memory, which grows and is then reused. Threads: one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "corpus/order.h"

struct shard_rule {
    int rank, size;  /* size 0: one rank */
    const int *node; /* [size] of each rank, borrowed; NULL: all on one node */
};

struct shard {
    struct shard_rule rule;
    size_t *load;   /* [size] target tokens of each rank in the update at hand */
    uint64_t *item; /* the update's pairs by length, then its ranks by pair */
    uint32_t *pair; /* this rank's, then those of its node's other ranks */
    size_t cap, cap_pair;
};

status shard_open(struct shard *s, struct shard_rule rule, struct err *err);
void shard_close(struct shard *s);

/* One rank's part of an update. */
struct shard_part {
    const uint32_t *pair; /* [n_node_pairs] valid until the next call */
    size_t n_pairs;       /* this rank's; those of its node's other ranks follow */
    size_t n_node_pairs;
    size_t node_tgt; /* target tokens of all ranks of this rank's node */
};

status shard_take(struct shard *s, struct shard_part *part, const struct order_update *u,
                  const struct corpus *corpus, size_t max_length, struct err *err);
