/*
 * comm_sim - R ranks as threads of one process, for tests.
 *
 * Each rank has its own communicator with its own communication thread, over mailboxes
 * in memory. One of two schedulers:
 *
 *   turns     one thread runs at a time; whenever it waits or hands something over, the
 *             seed chooses who goes next among those who can. The same seed gives the
 *             same run, and a deadlock is found at once (it is a bug: the process ends).
 *   parallel  all run as the system pleases, with short pauses chosen by the seed, so
 *             that the thread sanitizer sees real races.
 *
 * A rank function must block only in its communicator.
 */
#pragma once

#include "dist/comm/comm.h"

enum comm_sim_kind {
    COMM_SIM_NOTHING,
    COMM_SIM_DIE,  /* the rank is gone in its at-th exchange of messages */
    COMM_SIM_FLIP, /* a bit of its at-th large message (256 bytes or more) is flipped */
    COMM_SIM_NAN   /* four bytes of it become ones: not a number in fp32, bf16 */
};

struct comm_sim_fault {
    enum comm_sim_kind kind;
    int rank;
    int at; /* counted from 0 */
};

struct comm_sim_options {
    const int *ranks; /* [n_nodes] ranks of each node */
    int n_nodes;
    uint64_t seed;
    bool is_parallel;
    struct comm_sim_fault fault;
};

typedef void comm_sim_fn(struct comm *c, void *ctx);

/* Run fn as every rank and return when all have; c is closed behind it. ERR_COMM when a
 * thread cannot be started. */
status comm_sim_run(const struct comm_sim_options *o, comm_sim_fn *fn, void *ctx,
                    struct err *err);
