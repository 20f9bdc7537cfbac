/*
 * setup - from a configuration to a trainer that can take its first step, and back.
 *
 * Opening takes what may be missing or contradictory first (data, run directory, old
 * configuration), then what is expensive (weights, memory). All but setup_release() are
 * collective.
 */
#pragma once

#include "train/trainer.h"

/* Data, run directory, device, model, optimizer. On failure call setup_close() too. */
status setup_open(struct trainer *t, const struct train_config *config,
                  const struct train_host *host, struct err *err) MUST_CHECK;

/* Weights and state (from a checkpoint or fresh), files of the run, memory, data. */
status setup_run(struct trainer *t, struct err *err) MUST_CHECK;

status setup_close(struct trainer *t, struct err *err) MUST_CHECK;

/* Release everything but the record. A zeroed trainer is fine. */
void setup_release(struct trainer *t);
