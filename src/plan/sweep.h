/*
 * sweep - the tables and curves around one forecast: 1 to 1,000 nodes, wires,
 * topologies, overlap, stragglers, failures.
 *
 * Everything is a call of forecast_step on a variant. Threads: one at a time.
 */
#pragma once

#include "plan/forecast.h"

/* name, method, wire, topology, overlap: the ways that are compared */
/* clang-format off */
#define SWEEP_WAYS(W)                                                                  \
    W(SWEEP_REFERENCE, "reference", FORECAST_REFERENCE, WIRE_FP32, ROUNDS_FLAT, true) \
    W(SWEEP_REFERENCE_SERIAL, "reference, no overlap", FORECAST_REFERENCE, WIRE_FP32, ROUNDS_FLAT, false) \
    W(SWEEP_FLAT, "ferry, fp32, flat ring", FORECAST_FERRY, WIRE_FP32, ROUNDS_FLAT, true) \
    W(SWEEP_NODE, "ferry, fp32, node first", FORECAST_FERRY, WIRE_FP32, ROUNDS_NODE, true) \
    W(SWEEP_TREE, "ferry, bf16, tree", FORECAST_FERRY, WIRE_BF16, ROUNDS_TREE, true) \
    W(SWEEP_BF16, "ferry, bf16, node first", FORECAST_FERRY, WIRE_BF16, ROUNDS_NODE, true) \
    W(SWEEP_BF16_SERIAL, "ferry, bf16, no overlap", FORECAST_FERRY, WIRE_BF16, ROUNDS_NODE, false) \
    W(SWEEP_INT8, "ferry, int8, node first", FORECAST_FERRY, WIRE_INT8, ROUNDS_NODE, true)
/* clang-format on */

#define SWEEP_WAY_ID(id, ...) id,
enum sweep_way { SWEEP_WAYS(SWEEP_WAY_ID) SWEEP_N_WAYS };

/* What the tables need of a step. */
struct sweep_cell {
    double seconds, tokens_per_s, card_bytes, card_load, exposed;
    double efficiency; /* tokens per second and rank, relative to one device alone */
    size_t n_rows;     /* of nodes in the exchange; 1: direct */
    double t_tree;     /* of what is summed behind the last bucket */
};

enum {
    SWEEP_N_NODES = 11,
    SWEEP_N_JITTER = 6,
    SWEEP_N_INTERVALS = 41,
    SWEEP_N_RATES = 13
};

struct sweep {
    size_t nodes[SWEEP_N_NODES];
    struct sweep_cell by_nodes[SWEEP_N_NODES][SWEEP_N_WAYS];
    /* bf16, node first, as it was: direct, and facts through the first rank */
    struct sweep_cell before[SWEEP_N_NODES];
    double rates[SWEEP_N_RATES]; /* nominal bits per second; the cluster as given */
    struct sweep_cell by_rate[SWEEP_N_RATES][SWEEP_N_WAYS];
    double jitter[SWEEP_N_JITTER];                   /* spread of compute times */
    double by_jitter[SWEEP_N_JITTER][SWEEP_N_NODES]; /* seconds, the forecast's way */
    struct failures failures[SWEEP_N_NODES];
    double young[SWEEP_N_NODES], daly[SWEEP_N_NODES], played[SWEEP_N_NODES];
    double overhead[SWEEP_N_NODES], lost[SWEEP_N_NODES]; /* at Daly's interval */
    /* overhead by interval for the cluster as given: formula and played */
    double interval[SWEEP_N_INTERVALS];
    double by_formula[SWEEP_N_INTERVALS], by_play[SWEEP_N_INTERVALS];
};

status sweep_run(struct sweep *s, const struct forecast *f, struct err *err);

/* The variant in each of the ways. */
status sweep_ways(struct sweep_cell out[SWEEP_N_WAYS], const struct forecast *f,
                  struct forecast_variant v, struct err *err);

const char *sweep_way_name(enum sweep_way way);
/* The row that is the forecast's own way, or SWEEP_N_WAYS. */
enum sweep_way sweep_own_way(const struct forecast *f);
