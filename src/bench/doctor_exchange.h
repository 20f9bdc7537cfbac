/*
 * doctor_exchange - a sum over the cards of a run, by NCCL, against what it should be.
 *
 * Alone or, started by mpirun, with all ranks. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct comm;

struct doctor_exchange {
    bool is_gpu;      /* otherwise there is nothing to tell */
    char library[32]; /* "NCCL 2.28.9"; "": why_not says why there was no sum */
    char why_not[512];
    size_t n_bytes;  /* of a rank */
    double seconds;  /* of one sum, as the card saw it */
    double furthest; /* from the right result */
};

/* A meeting of all ranks. */
status doctor_exchange(struct doctor_exchange *r, struct comm *c, const char *device,
                       struct err *err) MUST_CHECK;
