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
 * Error feedback: with `residual`, what rounding loses on this rank is kept there and
 * added the next time. Both roundings are covered: of what is sent to an owner, and of
 * the owner's result; a rank meets only one of them for each element.
 *
 * Owns: send and receive memory; on a node of several ranks it is shared, through the
 * communicator. Borrows: the communicator, which outlives it. Threads: open and close by
 * the communicator's caller, the rest inside jobs.
 */
#pragma once

#include "dist/comm/comm.h"
#include "dist/exchange/codec.h"

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
};

/* Collective. Buckets up to n_max elements in any wire up to `widest`. */
status exchange_open(struct exchange *x, struct comm *c, size_t n_max, enum wire widest,
                     bool is_checked, struct err *err);
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
struct wire_part exchange_owned(const struct comm *c, int rank, size_t n);
