/*
 * exchange - one bucket of gradients, summed over all ranks.
 *
 * Two levels. The ranks of a node put their buckets into shared memory and each sums a
 * share of it; the leader sends every other node's shard and receives its own node's
 * from everybody; the shares of that are added in fp32, rounded to the wire and sent to
 * all; every rank, the owner too, takes the rounded result. So a node's card carries the
 * bucket once each way however many ranks the node has, every sum has one fixed order
 * (ranks of a node in their order, then the owner's node first and the others in
 * theirs), and all replicas hold the same bits.
 *
 * Among many nodes shards are small and messages many. Then the nodes stand in rows
 * (recipe/grid.h): a shard is summed inside each row first, rounded once more, and then
 * over the rows; the owner's result comes back by the same way, as it is.
 *
 * Error feedback: with `residual`, what rounding loses on this rank is kept there and
 * added the next time. All roundings are covered: of what is sent to a collector, of a
 * row's sum sent to an owner, and of the owner's result; a rank meets only one of them
 * for each element.
 *
 * Owns: send and receive memory; on a node of several ranks it is shared, through the
 * communicator. Borrows: the communicator, which outlives it. Threads: open and close by
 * the communicator's caller, the rest inside jobs.
 */
#pragma once

#include "dist/comm/comm.h"
#include "dist/exchange/codec.h"
#include "recipe/grid.h"

struct exchange_at { /* of a node of the row, bytes */
    size_t to_row, packed;
};

struct exchange {
    struct comm *comm;
    const struct codec_loops *loops;
    bool is_checked; /* messages carry a checksum */
    size_t n_max;    /* elements of the largest bucket */
    void *private_memory;
    char *slots, *out, *in; /* inputs of the node's ranks; segments going and coming */
    size_t slot_bytes, out_bytes, in_bytes;
    float *block; /* [WIRE_ALIGN] decoded */
    int bucket;   /* for messages about a damaged one */

    struct grid grid;
    struct grid_range row;        /* the nodes of this one's row */
    struct grid_range *collected; /* [row] shards that each of them collects */
    struct exchange_at *at;       /* [row] where their segments lie in `out` */
};

struct exchange_options {
    size_t n_max;     /* elements of the largest bucket */
    enum wire widest; /* of those that will be asked for */
    bool is_checked;  /* messages carry a checksum */
    size_t n_rows;    /* of nodes; 0 or 1: each node sends to all others */
};

/* Collective. */
status exchange_open(struct exchange *x, struct comm *c, struct exchange_options o,
                     struct err *err);
void exchange_close(struct exchange *x);

/* All-reduce: g[0..n) becomes the sum over all ranks. residual: n floats or NULL. */
status exchange_allreduce(struct exchange *x, float *g, size_t n, enum wire w,
                          float *residual, struct err *err);

/* The same over the ranks of this node, in fp32. */
status exchange_allreduce_node(struct exchange *x, float *g, size_t n, struct err *err);

/* Reduce-scatter: the sum over all ranks in the part of g that this rank owns; the rest
 * of g is undefined. */
status exchange_reduce_scatter(struct exchange *x, float *g, size_t n, enum wire w,
                               float *residual, struct err *err);

/* All-gather: every rank's own part of v[0..n) to all ranks, in fp32. */
status exchange_allgather(struct exchange *x, float *v, size_t n, struct err *err);

/* What a rank owns of a bucket of n elements; may be empty. */
struct wire_part exchange_owned(const struct exchange *x, int rank, size_t n);
