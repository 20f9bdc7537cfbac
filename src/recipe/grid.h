/*
 * grid - who adds up which part of a bucket, and how many messages that takes.
 *
 * N nodes stand in rows of nearly equal length, and each owns one shard of a bucket. Sums
 * reach their owner in two legs. Each node of a row collects, for its row, some shards
 * that lie side by side, its own among them; then it sends each of them to its owner.
 * Results go back the same way. With G rows a node sends about N/G + G messages each
 * way instead of N, and the same bytes. One row is the direct way: each node collects
 * its own shard alone, and there is no second leg.
 *
 * Any N will do. Each row divides the shards evenly among its nodes, and each shard is
 * owned by one of those who collect it: the shards in turn go to the node whose part ends
 * first, which leaves none without one. In rows of equal length the parts are the columns
 * of a grid.
 *
 * Owns: its tables. Threads: reading from any.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct grid {
    size_t n_nodes, n_rows;
    size_t *shard; /* [n_nodes] that each node owns */
    size_t *owner; /* [n_nodes] node of each shard */
};

/* n_rows from 1 to n_nodes. */
status grid_open(struct grid *g, size_t n_nodes, size_t n_rows, struct err *err);
void grid_close(struct grid *g);

/* [begin, end): nodes of a row; shards that a node collects. */
struct grid_range {
    size_t begin, end;
};
struct grid_range grid_row(const struct grid *g, size_t row);
size_t grid_row_of(const struct grid *g, size_t node);
struct grid_range grid_collected(const struct grid *g, size_t node);
/* The node that collects a shard for its row. */
size_t grid_collector(const struct grid *g, size_t row, size_t shard);

/* ------------------------------------------------------------ cost */

/* Between two nodes. */
struct grid_link {
    double latency; /* seconds */
    double message; /* seconds of the sender's processor per message */
    double rate;    /* bytes per second, each way */
};

/* Seconds of one bucket, `bytes` on the wire, summed over n_nodes in n_rows. */
double grid_seconds(size_t n_nodes, size_t n_rows, double bytes, struct grid_link l);
/* The number of rows that pays: that of a square, or 1 unless this saves a tenth, because
 * a second leg rounds once more; and 1 for fewer than GRID_NODES nodes, where there is
 * little to save. */
enum { GRID_NODES = 16 };
size_t grid_choose(size_t n_nodes, double bytes, struct grid_link l);
/* The rows of a grid as nearly square as can be. */
size_t grid_square(size_t n_nodes);
/* Seconds of an all-reduce of few bytes over the tree of n_ranks. */
double grid_tree_seconds(size_t n_ranks, double bytes, struct grid_link l);

/* Seconds that were measured between n_nodes, all of them in one row. */
struct grid_times {
    double tree;         /* an all-reduce of a few bytes over the tree */
    double small, large; /* buckets: messages weigh in the one, bytes in the other */
    double small_bytes, large_bytes; /* on the wire */
};
/* The link that takes these times: what the two functions above are made of. */
struct grid_link grid_solve(size_t n_nodes, struct grid_times t);
