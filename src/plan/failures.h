/*
 * failures - how often to save when machines fail, and what failing costs.
 *
 * Failures arrive at random, on average every `mtbf` seconds of the whole cluster. Each
 * discards the work since the last checkpoint; the run continues from there after a
 * restart, which may fail too. Times are seconds.
 *
 * Young:  interval = sqrt(2 C M);  Daly adds the next terms of the same expansion.
 * The mean is exact for this model:  M e^(R/M) (e^((t+C)/M) - 1) / t  per second of work.
 * The simulation draws failures at random and finds its own best interval, as a check on
 * the formulas.
 */
#pragma once

#include <stdint.h>

struct failures {
    double mtbf;    /* M, of all nodes together */
    double save;    /* C, a checkpoint that training waits for */
    double restart; /* R, noticing, starting again and reading */
};

double failures_young(const struct failures *f);
double failures_daly(const struct failures *f);

/* Time lost for each second of work when saving every `interval` seconds of work. */
double failures_overhead(const struct failures *f, double interval);
/* The part of it that was computed and thrown away. */
double failures_lost_work(const struct failures *f, double interval);

/* failures_overhead as played: `n_failures` failures, the same ones for each interval. */
double failures_played(const struct failures *f, double interval, int n_failures,
                       uint64_t seed);

/* The interval with the least played overhead, on a fine grid around Young's. */
double failures_best_played(const struct failures *f, int n_failures, uint64_t seed);
