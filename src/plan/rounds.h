/*
 * rounds - how long the sum of one bucket over all ranks takes, message by message.
 *
 * Rounds are simulated: in round s a rank sends to one peer and receives from another,
 * and begins when both have ended round s-1. So late ranks delay exactly whom they
 * would delay. A round costs bytes / rate of the link it crosses, and
 *
 *   flat   one ring over all ranks, as NCCL builds it: 2(p-1) rounds of 1/p, each of
 *          which needs what came in the one before: one latency per round
 *   node   sum inside the node; the first rank of each node exchanges with the others,
 *          all-to-all of shards, sum, all-gather: 2(n-1) rounds of 1/n, posted at once:
 *          one latency for all of them and the sender's work per message; copy inside.
 *          In n_rows > 1 rows (recipe/grid.h) first inside the row, then over the rows,
 *          and back: fewer messages, two latencies more
 *   tree   sum inside the node; over the nodes two binary trees at once, each with half
 *          of the data, up and down in pipelined chunks; copy inside
 *
 * Borrows: per_node. Threads: one at a time (scratch).
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

enum rounds_kind { ROUNDS_FLAT, ROUNDS_NODE, ROUNDS_TREE };

struct rounds {
    enum rounds_kind kind;
    const int *per_node;
    size_t n_nodes, n_ranks;
    size_t n_rows;        /* node: of nodes; 0: one */
    double rate, latency; /* between nodes: bytes/s one way, seconds */
    double message;       /* seconds of the sender per message */
    double inside_rate, inside_latency;
    double sum_rate;   /* bytes of fp32 added per second */
    double card_bytes; /* counted: sent through a node's card, mean of the cards */
    double *leader;    /* scratch [n_ranks] */
    double *scratch;   /* [4 n_ranks] */
    size_t *queue;     /* [2 n_ranks] */
};

/* One bucket: what travels between nodes, and the same elements in fp32. */
struct rounds_load {
    double wire_bytes, fp32_bytes;
};

/* Counts the ranks and takes scratch; the fields above card_bytes are the caller's. */
status rounds_open(struct rounds *x, struct err *err);
void rounds_close(struct rounds *x);

/* t[n_ranks]: in, when each rank is ready; out, when it holds the sum. */
void rounds_run(struct rounds *x, struct rounds_load load, double *t);
