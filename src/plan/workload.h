/*
 * workload - what one rank computes in a step, and when each gradient is ready.
 *
 * Times follow from operation counts (recipe/flops) and a device description. The
 * gradient becomes ready in the order of backward, which is the parameter table from
 * its end to its front; each tensor takes time in proportion to its share of the work.
 * The embedding is the output layer too, so that it is begun first and final last; but
 * rows that no sentence names are final before backward, and Ferry sends them then.
 *
 * Owns: its arrays. Threads: read-only after workload_open.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct model_config;
struct hardware_device;

/* The batch of one rank. */
struct workload_batch {
    double pairs;
    double mean_length, max_length; /* tokens of a side, specials included */
    double views;                   /* times that each pair is computed; 0: once */
    bool is_padded;                 /* to the longest of the batch, as the reference */
    bool is_mixed;
    double bucket_bytes; /* largest bucket, in fp32 */
    double n_naming; /* tokens of all ranks that name rows; 0: the embedding is whole */
    double t_taken;  /* from backward, by the exchange on the same cores; seconds */
};

/* One tensor's gradient. */
struct workload_piece {
    double elements;
    double t_ready; /* seconds after the step began */
};

struct workload {
    struct workload_piece *piece; /* in the order in which they are ready */
    size_t n_pieces;
    struct workload_piece *bucket; /* the same in the buckets of recipe/buckets */
    size_t n_buckets;
    size_t n_parameters;
    double tokens;     /* real ones, source and target */
    double useful;     /* share of the computed tokens that are real */
    double operations; /* floating-point, padding included */
    double t_forward;  /* until backward begins: forward and the output layer */
    double t_backward;
    double t_update; /* of the weights, after the exchange */
};

/*
 * `t_compute` > 0 is a measured time of forward, backward and update together, which
 * then replaces the device's. The model is a checked one.
 */
status workload_open(struct workload *w, const struct model_config *model,
                     const struct hardware_device *device,
                     const struct workload_batch *batch, double t_compute,
                     struct err *err);
void workload_close(struct workload *w);

/* Forward, backward and update: the step of a rank that waits for nobody. */
double workload_seconds(const struct workload *w);

/*
 * How long the sentences of a batch are, when only their mean is known: they follow an
 * Erlang distribution of three phases, cut at max_length as training cuts them; its scale
 * is chosen so that the mean after the cut is the given one. That is enough for the three
 * things that the work depends on: tokens, pairs of tokens within a sentence, and the
 * longest of a batch, to which the reference pads.
 */
struct workload_lengths {
    double mean, cap;
    double scale; /* of the distribution; 0 when every sentence has the same length */
};

/* 0 < mean <= cap. */
struct workload_lengths workload_lengths_of(double mean, double cap);
double workload_lengths_mean_square(const struct workload_lengths *l);
/* The expected longest of n sentences, n >= 1. */
double workload_lengths_longest(const struct workload_lengths *l, double n);
