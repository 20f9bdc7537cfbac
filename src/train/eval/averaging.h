/*
 * averaging - whether the mean of checkpoints is worth having: what `ferry average` asks
 * before it writes the mean, and measures after.
 *
 * Averaging helps near the end of training, when the loss falls slowly and checkpoints
 * differ by the noise of the last updates. The mean of models far apart is not a model
 * between them.
 */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "decode/average.h"

/* Checkpoints this many epochs apart are refused. */
enum { AVERAGING_MAX_EPOCHS = 100 };

/* ERR_USAGE when the checkpoints are too far apart, by their .state files; those without
 * one are taken as they are. */
status averaging_check(const struct average *a, struct err *err);

/* Tell on `console` by how much the mean in directory `out` is better on the validation
 * set than the newest of the checkpoints and than the best of the run; `data` "" is what
 * the run was trained on. Where that cannot be measured, why. */
void averaging_tell(const struct average *a, const char *run, const char *out,
                    const char *data, FILE *console);
