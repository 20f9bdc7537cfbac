/*
 * local_sgd - nodes train alone for some updates, then average what came of it.
 *
 * Between averagings every node follows its own gradients. Then the mean over nodes of
 * their change since the last averaging is taken as a gradient, and a step is made from
 * there with Nesterov's momentum:
 *
 *   d = mean(start - w);  v = momentum v + d;  w = start - rate (d + momentum v)
 *
 * A change that stays the same is taken rate / (1 - momentum) times. Above 1 that goes
 * further than the nodes did; far above, the nodes have to undo it.
 *
 * Owns: start and v. Borrows: the device. What a checkpoint must hold: v; start is the
 * weights themselves, because a checkpoint is made after an averaging. Threads: one at a
 * time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "device/device.h"

struct local_sgd {
    int64_t steps;     /* updates between averagings; below 2: local SGD is off */
    bool is_synced;    /* after the last update all ranks held the same weights */
    int64_t synced_at; /* step of the last averaging */
    struct device *device;
    double rate, momentum;
    struct mat start, v; /* [1, n_flat] */
};

static inline bool local_sgd_is_on(const struct local_sgd *o)
{
    return o->steps > 1;
}

/* Needs o->steps, keeps it. */
status local_sgd_open(struct local_sgd *o, struct device *d, size_t n_flat, double rate,
                      double momentum, struct err *err);
void local_sgd_close(struct local_sgd *o); /* zeroed is fine */

/* All nodes have these weights, after `step` updates. */
status local_sgd_begin(struct local_sgd *o, struct mat weights, int64_t step,
                       struct err *err);

/* change = start - weights, or 0 for all ranks of a node but its first. */
status local_sgd_change(const struct local_sgd *o, struct mat change, struct mat weights,
                        bool is_first, struct err *err);

/* change: summed over n_nodes, finite; the next weights, where all nodes begin again. */
status local_sgd_step(struct local_sgd *o, struct mat weights, struct mat change,
                      size_t n_nodes, struct err *err);
