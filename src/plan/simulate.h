/*
 * simulate - training steps of all ranks, event by event.
 *
 * Every rank computes forward and backward; its gradients become ready one after the
 * other; one communication thread per rank exchanges them in a fixed order while backward
 * goes on; when both are done, the weights are updated and the next step begins. The
 * clock of every rank is carried from step to step, so that a late rank delays those
 * that wait for it and nobody else.
 *
 *   ferry       the buckets of recipe/buckets, from the flat gradient's end to its
 *               front; a rank enters an exchange as soon as its own bucket is ready
 *   reference   Horovod: tensors that are ready on all ranks are fused up to a limit, at
 *               the next tick of its cycle
 *
 * Deterministic: jitter is a function of (seed, step, rank). Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "plan/rounds.h"
#include "recipe/wire.h"

struct workload;

enum { SIMULATE_BUCKETS_MAX = 256 };

struct simulate_way {
    bool is_horovod;
    bool overlaps;       /* exchange while backward runs */
    double fusion_bytes; /* Horovod's limit, of fp32 */
    double cycle;        /* seconds between its ticks */
    enum wire wire;      /* what travels between nodes */
    bool is_sharded;     /* each rank updates its part of the weights, then all travel */
    double jitter;       /* standard deviation of a rank's compute time, as a share */
    double t_tree;       /* all-reduce of a few numbers, behind the last bucket */
    double slow_factor;  /* the last rank's compute time against the others'; 1: none */
    uint64_t seed;
};

/* One exchange of the first step, as rank 0 saw it, seconds after the step began. */
struct simulate_bucket {
    double elements, t_ready, t_begin, t_end;
};

struct simulate_result {
    double seconds;   /* per step, mean */
    double t_compute; /* forward and backward of a rank, mean */
    double t_exposed; /* waiting for the exchange after backward, mean */
    double t_update;
    double t_exchange; /* inside exchanges, hidden or not; rank 0, mean */
    double card_bytes; /* each way, through a node's card */
    size_t n_buckets;
    struct simulate_bucket bucket[SIMULATE_BUCKETS_MAX]; /* as many as fit */
};

/* n_steps >= 1 steps of w on every rank of x. */
status simulate_steps(struct simulate_result *out, const struct workload *w,
                      struct rounds *x, const struct simulate_way *way, int n_steps,
                      struct err *err);
