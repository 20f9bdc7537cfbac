/*
 * setup - from a configuration to a trainer that can take its first step, and back.
 *
 * Opening takes what may be missing or contradictory first (data, run directory, old
 * configuration), then what is expensive (weights, memory). Resuming picks the newest
 * whole checkpoint; one that is damaged is named and the one before it is used.
 */
#pragma once

#include <stdio.h>

#include "base/err.h"

struct trainer;

/* Data, run directory, device, model, optimizer. On failure call setup_close() too. */
status setup_open(struct trainer *t, FILE *console, struct err *err) MUST_CHECK;

/* Weights and state (from a checkpoint or fresh), files of the run, memory, prefetcher.
 */
status setup_run(struct trainer *t, struct err *err) MUST_CHECK;

status setup_close(struct trainer *t, struct err *err) MUST_CHECK;
