/*
 * comm - the ranks of a run, and how they talk.
 *
 * One communication thread per process makes every call of the backend, so that MPI needs
 * no more than MPI_THREAD_FUNNELED. Callers hand it jobs; jobs run one at a time in the
 * order of submission, and every rank submits the same jobs in the same order. The
 * collectives (comm_allreduce, comm_bcast...) submit one and wait; gradient buckets are
 * submitted while backward still computes and waited for later.
 *
 * Backends: none (one rank, no thread), mpi (comm_mpi.c), and that of the tests.
 * Gradients on NVIDIA cards may stay there: comm_nccl.h. A node is a group of ranks that
 * share memory; only its first rank, the leader, sends gradients to other nodes.
 *
 * Failure is final: when a job fails, this one and all later ones return the same
 * ERR_COMM sentence, because the ranks no longer agree on what comes next. The process
 * must then end by comm_abort, not by comm_close and exit, or its peers wait forever.
 *
 * Owns: its thread, the table of peers, memory shared inside the node. Borrows: jobs and
 * their data until they are waited for. Threads: one caller at a time, except comm_abort,
 * which any thread may call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct comm_engine;
struct comm_msg;
struct str;

enum { COMM_HOST_MAX = 64 };

struct comm_peer {
    char host[COMM_HOST_MAX];
    int node, local_rank;
};

struct comm {
    int rank, size;
    int node, n_nodes;
    int local_rank, local_size;   /* among the ranks of this node */
    const struct comm_peer *peer; /* [size] */
    const int *leader;            /* [n_nodes] rank of each node's first */
    const char *backend;          /* "self" or "mpi" */
    const char *library;          /* "Open MPI v4.1.4", or "" */
    uint64_t module;              /* hash of what calls it; 0: nothing does */
    const char **setting; /* its settings, for the log: "NAME=value"; ends in NULL */
    int fault;            /* 1 + the rank whose host alone failed; 0: none did */
    struct comm_msg *msg; /* [2 * size] scratch of the communication thread */
    struct comm_engine *engine;
};

struct comm_options {
    const char *kind; /* "auto", "self" or "mpi"; auto asks the environment */
    int poll_us;      /* longest sleep while a message is awaited; 0: never sleep */
};

/*
 * Join the other ranks. auto takes MPI when mpirun or srun started this process (their
 * variables are in the environment), and otherwise is a run of one rank that touches no
 * MPI at all. *c must not move until comm_close.
 */
status comm_open(struct comm *c, struct comm_options o, struct err *err);

/* "Open MPI v4.1.4": what ranks load here under the launcher of `kind`, "openmpi" or
 * "mpich". A process that has asked must not open that of the other kind. */
status comm_library(char *out, size_t n, const char *kind, struct err *err);

/* Leave. Collective, unless a job has failed: then it only releases. */
void comm_close(struct comm *c);

/* The same with a time limit, because MPI_Finalize waits for all ranks, and forever when
 * one is cut off. False after `seconds`: *c is then still in use by a thread, and the
 * process must end without it. */
bool comm_leave(struct comm *c, double seconds);

/* End this process at once with this status. MPI_Abort is not called, because it may hang
 * when the network is gone; the launcher sees a rank that died and ends the others. */
_Noreturn void comm_abort(status code);

/* "rank 3 on host b" in a buffer of the caller's. */
enum { COMM_NAME_MAX = COMM_HOST_MAX + 32 };
const char *comm_name(const struct comm *c, int rank, char name[COMM_NAME_MAX]);

/* ------------------------------------------------------------ collectives
 * All ranks call the same one with the same sizes. */

status comm_barrier(struct comm *c, struct err *err);

/* All-reduce, element by element, in place, in an order that follows from the number of
 * ranks alone, so that every rank holds the same bits. For small n: each rank sends and
 * receives all of it up to log2 R times. */
enum comm_fold { COMM_SUM, COMM_MAX, COMM_MIN };
status comm_allreduce(struct comm *c, enum comm_fold how, double *x, size_t n,
                      struct err *err);

/* Broadcast of the root's bytes. Large ones are scattered over the nodes first, which
 * then exchange their parts, so that each network card carries them about twice, in at
 * most two messages for each doubling of the number of nodes. */
status comm_bcast(struct comm *c, void *data, size_t n_bytes, int root, struct err *err);

/* n_bytes of every rank, in the order of ranks, on all ranks. What every rank gets grows
 * with their number: not for every update. */
status comm_allgather(struct comm *c, void *all, const void *mine, size_t n_bytes,
                      struct err *err);

/* Bytes of different lengths: appended to *all of the first rank in the order of ranks.
 */
status comm_gather(struct comm *c, struct str *all, const void *mine, size_t n_bytes,
                   struct err *err);

/*
 * Did it work everywhere? Each rank brings the status of its own attempt, with the
 * message in *err. OK when all are OK; otherwise the first failed rank's code and
 * message, on all ranks, "rank 2 on host b: ..." in front; c->fault names it if only its
 * host failed.
 */
status comm_agree(struct comm *c, status mine, struct err *err);

/* ------------------------------------------------------------ jobs */

typedef status comm_job_fn(struct comm *c, void *ctx, struct err *err);

/* Caller-owned; stays in place from comm_submit to the end of comm_wait. */
struct comm_job {
    comm_job_fn *run; /* on the communication thread */
    void *ctx;

    double t_begin, t_end; /* clock_now() around run; valid after comm_wait */
    bool is_done;          /* the engine's */
    struct comm_job *next;
};

void comm_submit(struct comm *c, struct comm_job *job);
/* Returns when the job has run; fails with the run's first failure. */
status comm_wait(struct comm *c, struct comm_job *job, struct err *err);
/* Submit one and wait for it. */
status comm_run(struct comm *c, comm_job_fn *run, void *ctx, struct err *err);

/* ------------------------------------------------------------ for the log */

/* Since comm_open, of this rank. Valid when no job is under way. */
struct comm_traffic {
    uint64_t sent_bytes, received_bytes; /* to and from other nodes, payload only */
    uint64_t n_sent, n_received;         /* the messages that carried them */
    double t_cpu;                        /* processor time of the thread, seconds */
};
struct comm_traffic comm_traffic(const struct comm *c);
