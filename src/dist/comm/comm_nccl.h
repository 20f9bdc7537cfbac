/*
 * comm_nccl - buckets of gradients summed where they are, on NVIDIA cards.
 *
 * NCCL carries gradients only: ranks, nodes, small collectives and the order of jobs stay
 * the communicator's, whose thread makes every call of NCCL. The library is opened at run
 * time; its unique id is broadcast by the communicator.
 *
 * Two levels, as in exchange.h: reduce-scatter over the cards of a node, all-reduce of
 * each shard over the cards with the same place in their nodes, in the wire's type, and
 * all-gather inside the node. If nodes differ in their number of ranks, one flat
 * all-reduce in the wire's type.
 *
 * A bucket goes through a side stream of the device (device/cuda/side_stream.h): it
 * waits for the mark that was set when backward had queued all of it, runs while backward
 * goes on, and is polled, together with NCCL's own errors, until the card has done it. A
 * failure ends what NCCL has under way here and is ERR_COMM with the name of this rank
 * and host.
 *
 * Owns: the stream and NCCL's communicators. Borrows: communicator and device, which
 * outlive it. Threads: comm_nccl_sum in jobs, the rest by the device's caller.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "recipe/wire.h"

struct comm;
struct comm_nccl;
struct device;
struct str;

struct comm_nccl_options {
    enum wire wire;
    bool is_checked;         /* messages carry a checksum, which NCCL's do not */
    size_t n_buckets, n_max; /* elements of the largest */
};

/*
 * A meeting of all ranks. When any of them has no NCCL that can do what is asked, all
 * have *n NULL and that rank's sentence in *why, and OK is returned: the host can do it.
 */
status comm_nccl_open(struct comm_nccl **n, struct comm *c, struct device *d,
                      struct comm_nccl_options o, struct err *why, struct err *err);
/* No meeting, so that a rank that fails alone can leave; NULL is fine. */
void comm_nccl_close(struct comm_nccl *n);

const char *comm_nccl_library(const struct comm_nccl *n); /* "NCCL 2.28.9" */

/* Everything of bucket i has been queued on the device. */
void comm_nccl_mark(struct comm_nccl *n, size_t bucket);

/* Elements g[0..count) of the device become their sum over all ranks, or over those of
 * this node. *seconds: what the card took. */
status comm_nccl_sum(struct comm_nccl *n, size_t bucket, float *g, size_t count,
                     bool is_inside, double *seconds, struct err *err);

/* Append a line: which NCCL is here, or that none is. */
void comm_nccl_describe(struct str *out);
