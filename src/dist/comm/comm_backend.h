/*
 * comm_backend - the border between communication and what carries it.
 *
 * A backend moves messages between ranks (swap), gives the ranks of a node memory that
 * they share (window) and their barrier. All collectives are written once above it, in
 * comm_collectives.c and exchange.c, so that the order of every sum is ours and does not
 * depend on the library or its tuning.
 *
 * Threads: everything but lock, unlock and wait is called by the communication thread
 * only.
 */
#pragma once

#include "dist/comm/comm.h"

enum { COMM_KEY_MAX = 128 };

/* Messages between two ranks arrive in the order in which they were sent; both sides
 * know every length beforehand. */
struct comm_msg {
    int peer;
    void *data;
    size_t n_bytes;
};

typedef bool comm_ready_fn(void *arg);

struct comm_backend {
    const char *name;

    /* Learn rank and size; the first call on the communication thread. */
    status (*connect)(void *self, int *rank, int *size, struct err *err);

    /* Send and receive all of these at the same time; returns when all have arrived and
     * everything sent may be written again. A peer is never this rank. */
    status (*swap)(void *self, const struct comm_msg *send, size_t n_send,
                   const struct comm_msg *recv, size_t n_recv, struct err *err);

    /* Ranks with equal keys share memory: they are of one node. `host` comes with the
     * system's name in it. */
    void (*node_key)(void *self, char key[COMM_KEY_MAX], char host[COMM_HOST_MAX]);

    /* Zeroed memory of at least n_bytes that the ranks of the node share; replaces the
     * former window. All of them call it; never called on a node of one rank. */
    status (*window)(void *self, const struct comm *c, size_t n_bytes, void **memory,
                     struct err *err);

    /* Barrier of the node's ranks. Never called on a node of one rank, nor before the
     * first window. */
    status (*barrier)(void *self, const struct comm *c, struct err *err);

    /* The end; is_clean: all ranks are here and nothing failed. */
    void (*disconnect)(void *self, bool is_clean);

    /* The engine's lock and its way of waiting for ready(arg), which is evaluated under
     * the lock. unlock wakes who waits. */
    void (*lock)(void *self);
    void (*unlock)(void *self);
    void (*wait)(void *self, comm_ready_fn *ready, void *arg);

    /* Optional, instead of the thread's last unlock. */
    void (*end)(void *self);

    void (*release)(void *self);
};

/* Start the engine of one rank over a backend; owns `self`, also when it fails. NULL: a
 * run of one rank, whose jobs run where they are submitted. */
status comm_start(struct comm *c, const struct comm_backend *backend, void *self,
                  struct err *err);

/* ------------------------------------------------------------ inside jobs */

/* Messages, counted as traffic. Nothing happens when both numbers are 0. */
status comm_swap(struct comm *c, const struct comm_msg *send, size_t n_send,
                 const struct comm_msg *recv, size_t n_recv, struct err *err);
/* Collectives over a tree of ranks. All-reduce: x of every rank is folded into one and
 * comes back to all; scratch is as large. */
struct comm_folding {
    void (*fold)(void *into, const void *from, const void *ctx);
    const void *ctx;
    size_t n_bytes;
};
status comm_job_allreduce(struct comm *c, struct comm_folding f, void *x, void *scratch,
                          struct err *err);
/* n_bytes of every rank on all: at the start only, because every rank then gets R times
 * n_bytes. */
status comm_job_allgather(struct comm *c, void *all, const void *mine, size_t n_bytes,
                          struct err *err);
/* The backend's, for the ranks of a node. */
status comm_window(struct comm *c, size_t n_bytes, void **memory, struct err *err);
status comm_node_barrier(struct comm *c, struct err *err);

/* Traffic with other nodes that did not go through comm_swap. */
void comm_count(struct comm *c, uint64_t sent_bytes, uint64_t received_bytes);

/* comm_mpi.c: whether mpirun or srun started this process as one of many. */
bool comm_mpi_is_wanted(void);
status comm_mpi_start(struct comm *c, struct comm_options o, struct err *err);
