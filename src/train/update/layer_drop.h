/*
 * layer_drop - which layers an update goes without: a function of seed, step and layer,
 * the same for all ranks and micro-batches.
 */
#pragma once

#include <stdint.h>

struct layer_drop {
    uint64_t seed, step;
    double rate; /* of each layer on its own */
};

/* Bit l: without layer l of the n <= 64 of this stack. One stays: where all would go, the
 * one that is nearest to staying. */
uint64_t layer_drop_mask(struct layer_drop drop, const char *stack, int64_t n);
