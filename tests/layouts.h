/* Ranks on nodes, for tests of the exchange, and the gradients that they bring. */
#pragma once

#include "base/rng.h"
#include "sim/comm_sim.h"
#include "test.h"

enum { MAX_RANKS = 64, MAX_NODES = 40 };

struct layout {
    int ranks[MAX_NODES], n_nodes;
};

static const struct layout layouts[] = {
    {{1}, 1},       {{2}, 1},       {{3}, 1},          {{1, 1}, 2},
    {{2, 1}, 2},    {{1, 2}, 2},    {{2, 2}, 2},       {{3, 1}, 2},
    {{1, 1, 1}, 3}, {{2, 1, 2}, 3}, {{1, 1, 1, 1}, 4}, {{1, 2, 1, 1, 1}, 5}};
enum { N_LAYOUTS = sizeof layouts / sizeof *layouts };

static int size_of(const struct layout *l)
{
    int n = 0;

    for (int i = 0; i < l->n_nodes; i++)
        n += l->ranks[i];
    return n;
}

static struct comm_sim_options sim(const struct layout *l, uint64_t seed)
{
    return (struct comm_sim_options){
        .ranks = l->ranks, .n_nodes = l->n_nodes, .seed = seed};
}

static void gradient(float *g, size_t n, int rank, int step)
{
    struct rng r = rng_open(rng_key(test_seed() + (uint64_t)step, "gradient"));

    r.next = (uint64_t)rank << 32;
    for (size_t i = 0; i < n; i++)
        g[i] = (float)(rng_normal(&r) * (i % 3 ? 1e-3 : 1));
}
