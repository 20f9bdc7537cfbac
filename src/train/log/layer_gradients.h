/*
 * layer_gradients - the gradient of an update, layer by layer: its norm, and how its
 * elements are spread.
 *
 * It is the mean gradient of all ranks, as the optimizer gets it, before clipping: the
 * squares of the layers' norms add up to that of the global norm (of which frozen tensors
 * are no part). A layer here is a table of embeddings, an encoder or decoder layer, or
 * the norms at the end of a stack.
 *
 * A bucket holds numbers of one sign and one eighth of an octave: the exponent of a float
 * and the upper three bits of its fraction, so that its edges are floats and finding it
 * costs a shift. What is nearer to 0 than 2^-40 is one bucket.
 *
 * With a sharded optimizer every rank counts its own elements and the sums go to all;
 * otherwise the first rank has the whole gradient and counts alone.
 *
 * Owns: a copy of the gradient on the host, and the counts; nothing when it is off.
 * Borrows: parameters and shards. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "device/device.h"
#include "recipe/params.h"

struct comm;
struct reducer_shards;

enum {
    LAYER_GRADIENTS_FINE = 8, /* buckets of an octave */
    LAYER_GRADIENTS_LOW = -40,
    LAYER_GRADIENTS_HIGH = 40, /* octaves */
    LAYER_GRADIENTS_SIDE =
        LAYER_GRADIENTS_FINE * (LAYER_GRADIENTS_HIGH - LAYER_GRADIENTS_LOW),
    LAYER_GRADIENTS_BUCKETS = 2 * LAYER_GRADIENTS_SIDE + 1
};

struct layer_gradient {
    char name[32]; /* "encoder.0" */
    double least, most;
    struct layer_gradient_sums {
        double n, sum, square;
        double count[LAYER_GRADIENTS_BUCKETS];
    } sums;
};

struct layer_gradients {
    int64_t every; /* updates; 0: off */
    const struct params *params;
    const struct reducer_shards *shards; /* NULL: the first rank has all */
    struct comm *comm;
    float *flat; /* [n_flat] */
    struct layer_gradient *layer;
    size_t n;
    bool is_fresh;   /* holds an update's, which is not written yet */
    bool is_counted; /* by this rank: others have nothing to write */
};

/* every = 0: *g is off, and costs nothing. */
status layer_gradients_open(struct layer_gradients *g, const struct params *p,
                            struct comm *comm, const struct reducer_shards *shards,
                            int64_t every, struct err *err);
void layer_gradients_close(struct layer_gradients *g);

/* Whether the update that makes this step is to be looked at. */
bool layer_gradients_are_due(const struct layer_gradients *g, int64_t step);

/* The summed gradient [1, n_flat] of an update, to be divided by `tokens`. Collective
 * with shards. */
status layer_gradients_take(struct layer_gradients *g, struct device *d,
                            struct mat gradient, double tokens, struct err *err);

/* The right edge of a bucket. */
double layer_gradients_edge(size_t bucket);
