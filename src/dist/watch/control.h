/*
 * control - this process's place in the control plane, which is not MPI.
 *
 * Started by `ferry launch`, a rank reports to it: FERRY_CONTROL holds "host,host:port"
 * and FERRY_JOB the name of the token's file, ~/.ferry/NAME.token (never the token
 * itself: an environment shows in ps and travels unencrypted). Started by mpirun or srun
 * alone, the first rank watches: it listens, and address and token come over MPI once, at
 * the start.
 *
 * A rank that is told to leave, or hears nothing for eight seconds, ends at once with the
 * status ERR_LOST. An order to stop is a SIGTERM to this process, as from a user.
 *
 * Owns: the heartbeat's thread; on a first rank that watches also the watcher's. Borrows
 * the console. Threads: opened and closed by one; `phase` has one writer.
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
struct speaker;

struct control {
    struct phase phase; /* what training publishes: phase_set(&c.phase, step, phase) */
    uint32_t rank;
    FILE *console;               /* a rank's last words, the watcher's verdicts */
    struct heartbeat *heartbeat; /* NULL: one rank, which nobody watches */
    struct control_server server;
    struct speaker *speaker; /* the watcher's */
    pthread_t watcher;
    bool watches;
    atomic_bool is_closing;
};

/* All ranks of *comm call it. *c must not move until control_close. */
status control_open(struct control *c, struct comm *comm, FILE *console,
                    struct err *err) MUST_CHECK;
/* The same for a rank that `ferry launch` started, without a word to other ranks. */
status control_join(struct control *c, uint32_t rank, uint32_t n_ranks, FILE *console,
                    struct err *err) MUST_CHECK;
/* Goodbye: this rank ends in good order, with this status, which the others know of. A
 * zeroed struct is fine. */
void control_close(struct control *c, status result);

/* False: this rank has been given up and must publish nothing any more. Any thread. */
bool control_is_current(const struct control *c);

/* A job's name. That of every start of one `ferry launch` begins alike. */
enum { CONTROL_LAUNCHER = 8, CONTROL_JOB = 16 };
/* The name of ours; "" without `ferry launch`. */
void control_job(char out[CONTROL_JOB + 1]);
