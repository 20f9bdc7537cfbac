/*
 * control - this process's end of the control channel, which does not use MPI.
 *
 * Started by `ferry launch`, a rank reports to it: FERRY_CONTROL holds "host,host:port"
 * and FERRY_JOB the name of the token's file, ~/.ferry/NAME.token (never the token
 * itself: ps shows the environment, and it is sent unencrypted). Started by mpirun or
 * srun alone, rank 0 is the server; address and token are broadcast over MPI once. Where
 * a node has several ranks, they report to the first of them, their leader, over the
 * loopback, with the same token; the leaders report to the server. On its own node rank 0
 * is both.
 *
 * A rank that is ordered to leave, or gets no answer for at least eight seconds, ends at
 * once with the status ERR_LOST. An order to stop is a SIGTERM to this process, as from a
 * user.
 *
 * Owns: the heartbeat's thread, which also serves the ranks of a leader; on a rank 0 that
 * is the server also the server's. Borrows the console. Threads: opened and closed by
 * one; `phase` has one writer.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "dist/watch/channel.h"
#include "dist/watch/control_server.h"
#include "dist/watch/heartbeat.h"
#include "dist/watch/phase.h"

struct comm;
struct async_console;

struct control {
    struct phase phase; /* what training publishes: phase_set(&c.phase, step, phase) */
    uint32_t rank;
    uint32_t fault;                /* of a bad end: 1 + the rank whose host is at fault */
    FILE *console;                 /* why this rank ends; the server's verdicts */
    struct heartbeat *heartbeat;   /* NULL: one rank without a launcher */
    double per_core;               /* ranks of this host */
    struct liveness_limits limits; /* for this job's number of ranks */
    struct control_server server;  /* of all ranks, or a leader's for those of its node */
    struct async_console *lines;   /* the server's, which must not block on the console */
    pthread_t thread;              /* the server's */
    bool is_server;
    uint16_t leader_port; /* of this rank's leader; 0: it has none */
    atomic_bool is_closing;
};

/* Collective. *c must not move until control_close. */
status control_open(struct control *c, struct comm *comm, FILE *console, struct err *err);
/* The same for one rank that `ferry launch` started; not collective. */
status control_join(struct control *c, uint32_t rank, uint32_t n_ranks, FILE *console,
                    struct err *err);
/* Tell the server that this rank ends regularly, with this status. A zeroed struct is
 * fine. */
void control_close(struct control *c, status result);
/* The same for a rank that fails alone, the others not knowing: waits for none of them.
 * The process must end by comm_abort. */
void control_fail(struct control *c, status result);

/* False: this rank was given up and must not write to the run any more. Any thread. */
bool control_is_current(const struct control *c);

/* A job's name. Its first CONTROL_LAUNCHER bytes are those of one `ferry launch`. */
enum { CONTROL_LAUNCHER = 8, CONTROL_JOB = 16 };
/* The name of this job; "" without `ferry launch`. */
void control_job(char out[CONTROL_JOB + 1]);
