/*
 * significance - how far a score or a difference of two may be chance, as sacreBLEU says.
 *
 * A metric's sums are kept for every segment. The bootstrap draws as many segments as
 * there are, again and again, and looks at the scores of these corpora: 95 % of them are
 * in an interval, and the share in which two systems differ by more than they really do
 * is the p-value of the hypothesis that they are equally good. Approximate randomisation
 * asks the same of pairs of corpora in which segments changed sides at random.
 *
 * With the same seed all draws and therefore all digits are those of sacreBLEU 2.6 with
 * NumPy 2.
 *
 *     struct significance_kept a = {0}, b = {0};
 *     for every segment: metric_add() into zeroed sums, significance_keep(&a, &o, &sums,
 * err) TRY(significance_compare(&r, &a, &b, &o, &how, err));
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "score/metric.h"

/* A system's sums, segment by segment. Zeroed = none yet. */
struct significance_kept {
    double *x; /* metric_n_sums() of the first segment, of the second... */
    size_t n_segments, cap;
    struct metric_sums whole;
};

/* How many bytes of sums are kept at most, of one system. */
#define SIGNIFICANCE_BYTES_MAX ((size_t)1 << 30)

status significance_keep(struct significance_kept *k, const struct metric_options *o,
                         const struct metric_sums *one, struct err *err);
void significance_release(struct significance_kept *k);

/* Trials that sacreBLEU makes unless told otherwise. */
enum { SIGNIFICANCE_RESAMPLES = 1000, SIGNIFICANCE_SHUFFLES = 10000 };

struct significance_how {
    bool is_shuffled; /* approximate randomisation instead of the bootstrap */
    size_t n_trials;
    size_t n_resamples; /* for the interval beside a randomisation; 0: none */
    uint64_t seed;
};

struct significance_result {
    double score;
    bool has_interval;
    double mean, half; /* of the resamples; half of what holds 95 % of them */
    double p;
};

/* The interval of a single system, whose mean is exact. */
status significance_interval(struct significance_result *r,
                             const struct significance_kept *k,
                             const struct metric_options *o, size_t n_trials,
                             uint64_t seed, struct err *err);

/* That of a baseline, by NumPy's mean. p is 1. */
status significance_baseline(struct significance_result *r,
                             const struct significance_kept *k,
                             const struct metric_options *o,
                             const struct significance_how *how, struct err *err);

/* `k` against the baseline `base`, which has as many segments. */
status significance_compare(struct significance_result *r,
                            const struct significance_kept *base,
                            const struct significance_kept *k,
                            const struct metric_options *o,
                            const struct significance_how *how, struct err *err);
