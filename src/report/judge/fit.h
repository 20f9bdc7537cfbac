/*
 * fit - where a learning curve is going, and how sure that is.
 *
 * The curve is y(s) = m + g v(s), v(s) = (h(s) - 1) / (h(S/2) - 1) and
 * h(s) = ((s + dS) / (S + dS))^-c: a power law that flattens, begun dS steps early (an
 * exponential when d is large), with m its value at the last step S and g > 0 its fall
 * over the last doubling; or it is level. A part that dies early, a exp(-s / eS), may
 * come on top, and noise does. Where residuals are autocorrelated, another law held early
 * on, and the fit begins later.
 *
 * All shapes (c, d, e) of a grid are averaged, each weighed by the probability of the
 * points with m, g, the early part and the noise integrated out, so that few points lead
 * to a wide interval and not to a wrong one. Noise is expected near 0.2 % of the level,
 * as strongly as two points would tell. What is foretold is a mixture of Student's t, one
 * a shape; its 2.5 % and 97.5 % points are the interval, its median the middle. It does
 * not know of a change to come: another learning rate, data seen for the second time.
 *
 * A pure function of the points. Owns nothing. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "page/series.h"

enum { FIT_FALLS = 41, FIT_STARTS = 8, FIT_EARLIES = 4 };
enum { FIT_SHAPES = FIT_FALLS * FIT_STARTS * FIT_EARLIES + 1, FIT_DRAWS = 256 };
enum { FIT_MIN_POINTS = 4, FIT_TABLE = 2048 };

/* What the points say of m and g at one shape, beside one early part. The last of the
 * grid is level (c = 0) and has none. */
struct fit_shape {
    double c, d, half;              /* h(S/2) - 1 */
    double p;                       /* probability of the shape */
    double noise;                   /* variance of a point */
    double g_best, g_sd;            /* Student's t of g, before g > 0 cuts it */
    double m, g, var_m, cov, var_g; /* means and variances after */
};

struct fit {
    bool is_known;   /* false: too few points, nothing below is set */
    size_t n;        /* points used: the last nine tenths of the steps, or less */
    double from, to; /* steps of the first and last of them */
    double level;    /* the fitted value at the last step */
    double noise;    /* standard deviation of a point */
    double degrees;  /* of Student's t */
    double bound;    /* that no curve passes */
    double student[FIT_TABLE + 1]; /* below t, at equal steps of t / (1 + |t|) */
    size_t n_shapes;               /* a sample of the probable ones */
    struct fit_shape shape[FIT_DRAWS];
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
