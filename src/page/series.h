/*
 * series - points of a curve, and the few statistics that the answers rest on.
 *
 * A value that is not finite is a gap: plots break there, statistics leave it out.
 *
 * Owns: its arrays. Threads: one at a time.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct series {
    double *x, *y;
    size_t n, cap_x, cap_y;
};

status series_add(struct series *s, double x, double y, struct err *err);
void series_release(struct series *s);

/*
 * A series of at most 4 * n_buckets points that draws as the same line: of every bucket
 * of equal width in x its first, lowest, highest and last point are kept, in order. A
 * bucket that holds nothing finite stays a gap. x must not decrease.
 */
status series_thin(struct series *out, const struct series *in, size_t n_buckets,
                   struct err *err);

/* Index of the least y (of the greatest when `sign` is -1), or n when there is none. */
size_t series_best(const struct series *s, double sign);

/* v[n] in ascending order; none may be a NAN. */
void series_sort(double *v, size_t n);

/* Weighted quantile of v[n] (weights w), 0 <= q <= 1; NAN when there is nothing. */
status series_quantile(double *out, const double *v, const double *w, size_t n, double q,
                       struct err *err);

/*
 * Least squares y = at_mean + slope (x - x_mean). se is the standard error of the slope
 * from the residuals, t_95 the factor that makes slope +- t_95 se a 95 % interval
 * (Student's t of n - 2 degrees). n counts the points used; with fewer than 3, or all x
 * equal, slope and se are NAN.
 */
struct series_fit {
    size_t n;
    double x_mean, at_mean, slope, se, t_95;
};
struct series_fit series_fit(const double *x, const double *y, size_t n);

/* The 97.5 % point of Student's t. */
double series_student(size_t degrees);

/* Pearson's correlation; NAN when one side does not vary. */
double series_correlation(const double *x, const double *y, size_t n);
