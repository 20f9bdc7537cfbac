/*
 * fit - where a learning curve is going, and how sure that is.
 *
 * The curve is y(s) = m + g v(s), v(s) = (h(s) - 1) / (h(S/2) - 1) and
 * h(s) = ((s + dS) / (S + dS))^-c: a power law that flattens, begun dS steps early, with
 * m its value at the last step S and g its fall over the last doubling. What the points
 * allow is drawn by Monte-Carlo from the posterior of (m, g, c, d, noise) under flat
 * priors on m, g, log c, ten values of d, and log noise; a gain is the median of the
 * draws, its interval their 2.5 and 97.5 percentiles. The interval knows the scatter of
 * the points and the freedom of the curve's shape. It does not know of a change to come:
 * another learning rate, data seen for the second time.
 *
 * Draws are a pure function of the points. Owns nothing. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "report/series.h"

enum { FIT_DRAWS = 1000, FIT_MIN_POINTS = 5 };

struct fit {
    bool is_known;   /* false: too few points, nothing below is set */
    size_t n;        /* points used: the last nine tenths of the steps */
    double from, to; /* steps of the first and last of them */
    double level;    /* the fitted value at the last step */
    double noise;    /* standard deviation of a point, median of the draws */
    double m[FIT_DRAWS], g[FIT_DRAWS], c[FIT_DRAWS], d[FIT_DRAWS];
};

struct fit_range {
    double low, mid, high;
};

/* `sign` is 1 for a curve that falls (loss) and -1 for one that rises (BLEU, at most
 * `bound`; a loss is at least that). */
void fit_curve(struct fit *f, const struct series *s, double sign, double bound);

/* How much better after `factor` times the steps: positive is better. */
struct fit_range fit_gain(const struct fit *f, double factor);
/* The curve at a step, in the units of the points. */
struct fit_range fit_value(const struct fit *f, double step, double sign);
