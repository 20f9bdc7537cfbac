/*
 * measures - what patience and the choice of the best model can follow: the loss, or any
 * metric of translations (score/metric.h).
 *
 * The run log has a field for each metric (recipe/runlog_schema.h).
 */
#pragma once

#include <stdbool.h>

#include "score/metric.h"
#include "train/run/score_options.h"

/* A metric's number, or the one behind them. */
enum { MEASURE_LOSS = N_METRIC, MEASURE_N };

#define MEASURE_NAMES "loss|" METRIC_NAMES

/* How text is compared; zeroed: as by the defaults. */
struct measures_text {
    enum tokenize tokenize;
    bool is_lowercase;
};

struct measures_text measures_text(const struct score_options *o);
struct metric_options measures_metric(enum metric m, struct measures_text text);

/* By its name, which is one of MEASURE_NAMES. */
unsigned measures_find(const char *name);
bool measures_is_better(unsigned measure, double now, double before);
