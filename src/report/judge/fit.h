/*
 * fit - where a learning curve is going, and how sure that is.
 *
 * The curve is y(s) = m + g v(s), v(s) = (h(s) - 1) / (h(S/2) - 1) and
 * h(s) = ((s + dS) / (S + dS))^-c: a power law that flattens, begun dS steps early (an
 * exponential when d is large), with m its value at the last step S and g its fall over
 * the last doubling. For every shape (c, d) of a grid, m and g follow by least squares,
 * in which late points weigh more. Where residuals are autocorrelated, another law held
 * early on, and the fit begins later.
 *
 * A 95 % interval is the profile of the likelihood: all values that some shape reaches
 * while its squared residuals stay within what Student's t allows above the best shape's.
 * Autocorrelation that remains widens it, and so does a part of the gain that stands for
 * curves which are no power law. The middle is the mean over shapes, weighed
 * by likelihood. It does not know of a change to come: another learning rate, data seen
 * for the second time.
 *
 * A pure function of the points. Owns nothing. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "page/series.h"

enum { FIT_FALLS = 49, FIT_STARTS = 26, FIT_SHAPES = FIT_FALLS * FIT_STARTS };
enum { FIT_MIN_POINTS = 5 };

/* Least squares at one shape; the covariance of (m, g) is inv times the noise's variance.
 */
struct fit_shape {
    double c, d, half; /* h(S/2) - 1 */
    double m, g, sse;
    double inv_mm, inv_mg, inv_gg;
};

struct fit {
    bool is_known;             /* false: too few points, nothing below is set */
    size_t n;                  /* points used: the last nine tenths of the steps */
    double from, to;           /* steps of the first and last of them */
    double level;              /* the fitted value at the last step */
    double noise;              /* standard deviation of a point */
    double sse_best, sse_most; /* of the best shape, and of the worst that is believed */
    double floor;              /* that no curve ends below; points are sign * y */
    struct fit_shape shape[FIT_SHAPES];
};

struct fit_range {
    double low, mid, high;
};

/* `sign` is 1 for a curve that falls (loss) and -1 for one that rises (BLEU, at most
 * `bound`; a loss is at least that). */
status fit_curve(struct fit *f, const struct series *s, double sign, double bound,
                 struct err *err);

/* How much better after `factor` times the steps: positive is better. */
struct fit_range fit_gain(const struct fit *f, double factor);
/* The curve at a step, in the units of the points. */
struct fit_range fit_value(const struct fit *f, double step, double sign);
