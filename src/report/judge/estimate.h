/*
 * estimate - what can be computed of a run that did not measure it.
 *
 * The bytes: a ring that sums the gradients of N ranks in fp32 moves
 *
 *     2 (N - 1) / N x 4 bytes x parameters
 *
 * through each card a step, each way. That is how the reference exchanges them, whatever
 * its precision. The time: the planner's, of a step of the same card on the same batch
 * when it waits for nobody.
 */
#pragma once

#include <stdbool.h>

struct run;

struct estimate {
    double bytes;        /* of a step through each card, each way; NAN: not known */
    double t_alone;      /* seconds of a step on one card alone; NAN: not known */
    const char *missing; /* what the second lacks, in words; NULL: nothing */
    char device[64];     /* the planner's name of the card */
};

void estimate_make(struct estimate *e, const struct run *run);

/* Bytes a second that a link of this nominal rate carries as payload. */
double estimate_payload(double bits_per_s);
