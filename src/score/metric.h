/*
 * metric - any of the metrics by its name, over sums that add up.
 *
 * What a metric needs of a segment is a few numbers, and a corpus needs their sums: so
 * segments may be added in any order and on any number of ranks, which then add up
 * x[0..METRIC_SUMS_MAX) (TER's sums with an odd number of references round).
 *
 *     const struct metric_options o = metric_options(metric_find("chrf"));
 *     struct metric_sums sums = {0};
 *     for every segment: TRY(metric_add(&sums, &o, hyp, &ref, 1, err));
 *     RELEASED_BY(result_release) struct result r = metric_result(&sums, &o, 1);
 *     ... r.score, metric_is_better(o.metric, r.score, best), r.signature ...
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/lines.h"
#include "score/bleu.h"
#include "score/chrf.h"
#include "score/result.h"
#include "score/ter.h"

/* metric, its name, whether more is better */
#define METRIC_LIST(M)            \
    M(BLEU, "bleu", true)         \
    M(CHRF, "chrf", true)         \
    M(CHRF_WORDS, "chrf++", true) \
    M(TER, "ter", false)

/* For options: ONE_OF(METRIC_NAMES). */
#define METRIC_NAMES "bleu|chrf|chrf++|ter"

enum metric {
#define M(code, name, is_up) METRIC_##code,
    METRIC_LIST(M) N_METRIC
#undef M
};

/* How a number is made: which metric, and that metric's own options. */
struct metric_options {
    enum metric metric;
    struct bleu_options bleu;
    struct chrf_options chrf;
    struct ter_options ter;
};

enum { METRIC_SUMS_MAX = 3 * CHRF_ORDERS_MAX };

/* Zeroed = no segment yet. */
struct metric_sums {
    double x[METRIC_SUMS_MAX];
};

/* The metric called `name`, N_METRIC when there is none. */
enum metric metric_find(const char *name);
const char *metric_name(enum metric m);

/* Whether score a says of a translation that it is better than one of score b. */
bool metric_is_better(enum metric m, double a, double b);

/* What sacreBLEU does unless told otherwise. */
struct metric_options metric_options(enum metric m);

/* Count one segment against its n_refs >= 1 references, all of them UTF-8. */
status metric_add(struct metric_sums *s, const struct metric_options *o, struct line hyp,
                  const struct line *ref, size_t n_refs, struct err *err);

/* How many of x[] the metric uses, the first ones. */
size_t metric_n_sums(const struct metric_options *o);

/* The score alone, of sums in that kind of numbers; *kind becomes that of the score. */
double metric_score(const struct metric_sums *s, const struct metric_options *o,
                    enum numbers *kind);

/* Score, signature and details; the caller releases them. */
struct result metric_result(const struct metric_sums *s, const struct metric_options *o,
                            size_t n_refs);
