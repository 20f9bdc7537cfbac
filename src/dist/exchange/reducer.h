/*
 * reducer - gradients summed over all ranks while backward still runs.
 *
 * The model tells reducer_ready which slices of the flat gradient are final, from its
 * end to its front; a bucket (recipe/buckets.h) that is complete is submitted to the
 * communication thread. reducer_finish submits the rest and waits. One update:
 *
 *     reducer_begin(r, grad, is_saved_next);
 *     hook = {reducer_ready, r};           the last micro-batch's model_backward only
 *     reducer_finish(r, &facts, &times, err);
 *
 * Between begin and finish the gradient belongs to backward until it is reported, and
 * then to the communication thread. A rank without a micro-batch just calls begin and
 * finish: its gradient is zero. Afterwards every rank holds the same bits.
 *
 * Between nodes the tied embedding is reduced in two parts (dist/exchange/embed_rows.h)
 * if it has buckets of its own and nothing belongs to a position in them: no residual of
 * int8 and no moments of an owner.
 *
 * Sharded: the sum stays with its owners. A rank owns one range of every bucket (ranges
 * of buckets, not one run of the array: each bucket then keeps all cards busy both
 * ways), updates the weights there, and reducer_allgather sends them to all.
 *
 * With a device that NCCL can sum on, the gradient is memory of that device and never
 * comes to the host (comm_nccl.h); everything else is the same.
 *
 * Owns: buckets, exchange memory, error-feedback residual. Borrows: the communicator and
 * between begin and finish the gradient. Threads: one caller at a time.
 */
#pragma once

#include "dist/comm/comm.h"
#include "recipe/buckets.h"
#include "recipe/wire.h"

struct device;
struct grid;
struct params;
struct reducer;
struct embed_rows;

struct reducer_options {
    enum wire wire;
    size_t bucket_bytes;   /* of fp32; 0: 25 MiB */
    bool is_sharded;       /* the sum of a range is wanted on its owner only */
    bool is_checked;       /* messages carry a checksum; a damaged one is ERR_COMM */
    size_t n_rows;         /* of nodes (recipe/grid.h); 0: one */
    struct device *device; /* borrowed; a GPU to sum on if NCCL can; NULL: the host */
};

/* Collective. */
status reducer_open(struct reducer **r, struct comm *c, const struct params *p,
                    struct reducer_options o, struct err *err);
void reducer_close(struct reducer *r); /* NULL is fine */

const struct buckets *reducer_buckets(const struct reducer *r);
/* Where the nodes stand; not when the sum is made on a device. */
const struct grid *reducer_grid(const struct reducer *r);

/* What int8 has rounded off on this rank so far, [n_flat] of *n; NULL: it keeps none. */
float *reducer_residual(struct reducer *r, size_t *n);

/* Whether gradients are summed on options.device, and then by what ("NCCL 2.28.9"); or
 * why they are not. */
bool reducer_is_on_device(const struct reducer *r);
const char *reducer_carrier(const struct reducer *r);

/*
 * grad: n_flat floats, of the device if the reducer is on it. is_flush: this exchange
 * goes out in fp32 with all that earlier roundings of int8 lost, which leaves nothing
 * behind: do so in the update before a save that is due, because residuals are in no
 * checkpoint.
 * Without int8 it changes nothing.
 */
void reducer_begin(struct reducer *r, float *grad, bool is_flush);

/* The same for a local update: the sum is over the ranks of each node. */
void reducer_begin_node(struct reducer *r, float *grad);

/*
 * For marking, between begin and the first reducer_ready, the rows of the embedding that
 * backward will still write; all are marked unless changed. The others must be final by
 * then. NULL: the embedding is reduced whole.
 */
struct embed_rows *reducer_embed_rows(struct reducer *r);

/* A model_hook: elements from `first` on are final. */
void reducer_ready(void *reducer, size_t first, size_t n);

/*
 * Small numbers reduced with the gradient over all ranks, in place; at most REDUCER_FACTS
 * together, any of the numbers may be 0. Each rank sends and receives them up to log2 R
 * times, so what is said of every rank one by one does not belong here.
 */
enum { REDUCER_FACTS = 32 };
struct reducer_facts {
    double *sum; /* the same bits on all ranks; exact for whole numbers below 2^53 */
    size_t n_sum;
    double *most; /* the largest; NAN wins */
    size_t n_most;
};

struct reducer_times {
    double t_exposed; /* reducer_finish waited */
    double t_hidden;  /* the thread was busy while backward ran */
};

/* facts: may be NULL. */
status reducer_finish(struct reducer *r, const struct reducer_facts *facts,
                      struct reducer_times *times, struct err *err);

/* ------------------------------------------------------------ sharded */

/* What this rank owns of every bucket, [first, first + n) of the flat arrays; may be
 * empty. `at` counts owned elements before it, for moments that are kept for owned
 * elements only. */
struct reducer_shard {
    size_t first, n, at;
};
struct reducer_shards {
    struct reducer_shard *list;
    size_t n_list, n_owned; /* n_owned: elements */
    struct comm *comm;      /* whose ranks own the rest */
};
const struct reducer_shards *reducer_shards(const struct reducer *r);

/* The owners' values of flat (n_flat floats: updated weights) to every rank, in fp32. */
status reducer_allgather(struct reducer *r, float *flat, struct err *err);

/* owned (n_owned floats: moments) from and to an array of n_flat. reducer_gather puts
 * those of all ranks into `flat` on rank 0 (NULL elsewhere), for a checkpoint;
 * reducer_pick is local. */
status reducer_gather(struct reducer *r, const float *owned, float *flat,
                      struct err *err);
void reducer_pick(const struct reducer *r, float *owned, const float *flat);

struct reducer_odd {
    int rank;      /* the first that differs from most others; -1: all agree */
    int other;     /* one of those others */
    bool is_clear; /* more ranks agree with `other` than with `rank` */
};

/* Are all replicas the same? Compares the checksums of their weights over all ranks. */
status reducer_compare(struct comm *c, uint64_t checksum, struct reducer_odd *odd,
                       struct err *err);
