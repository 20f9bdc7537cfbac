/*
 * doctor - does a device compute what the CPU computes?
 *
 * Every kernel and a small model in each precision, the speed of the device, and the sum
 * over the cards of all ranks. Each check prints a line; more than rounding apart is BAD.
 *
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

struct comm;

/* A collective call. Of several ranks the first examines its device and prints, and all
 * take part in the sum over cards. ERR_CHECK when something was BAD. */
status doctor_run(struct comm *c, const char *device, FILE *out, struct err *err);

/* ---- for its parts ---- */

enum { DOCTOR_PRECISIONS = 3 };
extern const char *const doctor_precision[DOCTOR_PRECISIONS]; /* their names */

struct doctor {
    const char *device;
    FILE *out;
    int n_bad;
};

/* "ok" or "BAD", which is counted. */
const char *doctor_verdict(struct doctor *d, bool is_good);

/* Every kernel on the device and on the CPU, from the same numbers, in every precision
 * and with heads of every width. */
status doctor_kernels(struct doctor *d, struct err *err);

/* A small model in each precision: is its gradient the derivative of its loss, and do
 * two updates lead where they lead on the CPU? */
status doctor_model(struct doctor *d, struct err *err);

/* The sum over the cards of a run, by NCCL. A collective call. */
status doctor_exchange(struct doctor *d, struct comm *c, struct err *err);
