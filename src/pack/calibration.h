/*
 * calibration - how much each matrix of a model loses when it is stored in int8.
 *
 * Given pairs are run through the float network, and every product is computed a second
 * time as int8 computes it, on the very activations that the model makes:
 *
 *   error = sqrt( sum |y8 - y|^2 / sum |y|^2 )      over all rows seen
 *
 * Rounding alone costs about one percent. A matrix whose inputs have a few channels far
 * larger than the others loses much more, because a row has one scale; such a matrix is
 * better left in float.
 *
 * Owns: the list. Threads: one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "corpus/dataset.h"
#include "infer/kernels.h"
#include "infer/network.h"

/* One matrix. */
struct calibration_part {
    char name[48];
    const struct linear *real, *int8;
    double error;        /* NAN: it was not used */
    double energy, lost; /* the two sums */
    size_t n_rows;
};

struct calibration {
    struct calibration_part *part;
    size_t n;
};

struct calibration_options {
    const struct infer_kernels *kernels;
    size_t n_pairs;    /* at most so many pairs of the set */
    size_t max_length; /* longer sentences are left out */
};

/* Both networks are of one model, packed in float and in int8. */
status calibration_run(struct calibration *c, struct network *real, struct network *int8,
                       const struct dataset_set *set, struct calibration_options options,
                       struct err *err);
void calibration_release(struct calibration *c);

/* The part of this name; NULL: none. */
const struct calibration_part *calibration_find(const struct calibration *c,
                                                const char *name);
