/*
 * moving_average - a copy of the weights that follows them slowly, for evaluation.
 *
 * Owns: the copy. Borrows: the device. Threads: one at a time.
 */
#pragma once

#include "base/err.h"
#include "device/device.h"

struct moving_average {
    struct device *device;
    double decay;
    struct mat mean; /* [1, n]; none: this run keeps no average */
};

/* decay 0: none. Close it in any case. */
status moving_average_open(struct moving_average *a, struct device *d, size_t n,
                           double decay, struct err *err);
void moving_average_close(struct moving_average *a); /* zeroed is fine */

/* The mean starts as the weights are. */
void moving_average_begin(struct moving_average *a, struct mat weights);

/* After n_updates updates, the last of them number step + 1. */
void moving_average_follow(struct moving_average *a, struct mat weights, int64_t step,
                           int64_t n_updates);

/* Exchange the weights with their mean, for an evaluation and back again. */
status moving_average_swap(struct moving_average *a, struct mat weights, struct err *err);
