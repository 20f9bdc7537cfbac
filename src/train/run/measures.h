/*
 * measures - what patience and the choice of the best model can follow: the loss, or any
 * metric of translations (score/metric.h).
 *
 * The run log has a field for each metric (recipe/runlog_schema.h).
 */
#pragma once

#include <stdbool.h>

#include "score/metric.h"

/* A metric's number, or the one behind them. */
enum { MEASURE_LOSS = N_METRIC, MEASURE_N };

#define MEASURE_NAMES "loss|" METRIC_NAMES

/* By its name, which is one of MEASURE_NAMES. */
unsigned measures_find(const char *name);
bool measures_is_better(unsigned measure, double now, double before);
