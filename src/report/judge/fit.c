#include "report/judge/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { POINTS_MAX = 100, MANY_POINTS = 6, SHAPE_NUMBERS = 4 /* m, g, c, d */ };

/* The fall at the end, relative and per part of the run, is c / (1 + d). */
static const double FALL_LEAST = 0.03, FALL_MOST = 12;
static const double START_LEAST = 0.01, START_MOST = 20; /* d, beside 0 */
/* What a power law cannot know of other curves, as a part of the gain. */
static const double UNKNOWN = 0.3;
/* Residuals with a larger autocorrelation belong to another curve. */
static const double AUTOCORRELATION_MOST = 0.1;

static double power(double x, double c, double d)
{
    return pow((x + d) / (1 + d), -c) - 1;
}

/* 0 at the last step (x = 1), 1 at half of it, falling to the limit for ever. */
static double shape(const struct fit_shape *a, double x)
{
    return power(x, a->c, a->d) / a->half;
}

static double limit(const struct fit_shape *a)
{
    return -1 / a->half;
}

/* Late points count more: they know more of what comes. */
static double weight(double x)
{
    return x * x * x;
}

/* x is the step as a part of the last one. Weights have a mean of 1. */
static void solve(struct fit_shape *a, const double *x, const double *y, size_t n)
{
    double u[POINTS_MAX], all = 0, v = 0, vv = 0, sy = 0, vy = 0, sse = 0;

    for (size_t i = 0; i < n; i++) {
        const double w = weight(x[i]);
        u[i] = shape(a, x[i]);
        all += w;
        v += w * u[i];
        vv += w * u[i] * u[i];
        sy += w * y[i];
        vy += w * u[i] * y[i];
    }
    const double det = all * vv - v * v, mean = all / (double)n;
    a->inv_mm = mean * vv / det;
    a->inv_mg = mean * -v / det;
    a->inv_gg = mean * all / det;
    a->m = (vv * sy - v * vy) / det;
    a->g = (all * vy - v * sy) / det;
    for (size_t i = 0; i < n; i++) {
        const double r = y[i] - a->m - a->g * u[i];
        sse += weight(x[i]) * r * r;
    }
    a->sse = 1e-18 + sse / mean;
}

/* A weighted sum of m and g at one shape, and the curve's end beside it: estimates, and
 * their variances and covariance as multiples of the noise's. */
struct sum {
    double is, var;
    double end, end_var, cov;
};

static struct sum sum_of(const struct fit_shape *a, double of_m, double of_g)
{
    const double l = limit(a);

    return (struct sum){
        .is = of_m * a->m + of_g * a->g,
        .var = of_m * of_m * a->inv_mm + 2 * of_m * of_g * a->inv_mg +
               of_g * of_g * a->inv_gg,
        .end = a->m + l * a->g,
        .end_var = a->inv_mm + 2 * l * a->inv_mg + l * l * a->inv_gg,
        .cov = of_m * a->inv_mm + (of_m * l + of_g) * a->inv_mg + of_g * l * a->inv_gg,
    };
}

/* The same where the curve is made to end at the floor; it costs residuals. */
static struct sum at_floor(const struct sum *s, double floor, double *sse)
{
    const double below = floor - s->end;

    *sse += below * below / s->end_var;
    return (struct sum){.is = s->is + s->cov / s->end_var * below,
                        .var = fmax(0, s->var - s->cov * s->cov / s->end_var)};
}

/* How far the sum goes to one side (`way` +-1) within the residuals that are believed and
 * above the floor; NAN when this shape cannot. */
static double reach(const struct fit *f, const struct sum *s, double sse, double way)
{
    const double room = f->sse_most - sse;

    if (!(room >= 0))
        return NAN;
    const double far = sqrt(room * s->var);
    if (!(s->var > 0) || s->end + way * s->cov * far / s->var >= f->floor)
        return s->is + way * far;
    const struct sum bound = at_floor(s, f->floor, &sse);
    return sse <= f->sse_most ? bound.is + way * sqrt((f->sse_most - sse) * bound.var)
                              : NAN;
}

/* Of a shape: a power of its squared residuals. */
static double likelihood(const struct fit *f, double sse)
{
    return pow(f->sse_best / sse, 0.5 * (double)(f->n - SHAPE_NUMBERS));
}

/* What of_m * m + of_g * v(x) g may be. */
static struct fit_range range_of(const struct fit *f, double of_m, double of_g, double x)
{
    struct fit_range r = {NAN, 0, NAN};
    double weights = 0;

    for (size_t k = 0; k < FIT_SHAPES; k++) {
        const struct fit_shape *a = &f->shape[k];
        struct sum s = sum_of(a, of_m, of_g * shape(a, x));
        double sse = a->sse;
        r.low = fmin(r.low, reach(f, &s, sse, -1)); /* fmin and fmax ignore a NAN */
        r.high = fmax(r.high, reach(f, &s, sse, 1));
        if (s.end < f->floor)
            s = at_floor(&s, f->floor, &sse);
        const double w = likelihood(f, sse);
        r.mid += w * s.is;
        weights += w;
    }
    r.mid /= weights;
    r.low = fmin(r.low, r.mid);
    r.high = fmax(r.high, r.mid);
    return r;
}

/* Neighbours are averaged where there are very many. */
static size_t thin(double *x, double *y, size_t n)
{
    const size_t each = (n + POINTS_MAX - 1) / POINTS_MAX;
    size_t kept = 0;

    for (size_t i = 0; i < n; i += each, kept++) {
        const size_t here = n - i < each ? n - i : each;
        double sum_x = 0, sum_y = 0;
        for (size_t k = i; k < i + here; k++) {
            sum_x += x[k];
            sum_y += y[k];
        }
        x[kept] = sum_x / (double)here;
        y[kept] = sum_y / (double)here;
    }
    return kept;
}

static double start_of(size_t i)
{
    return i ? START_LEAST *
                   pow(START_MOST / START_LEAST, (double)(i - 1) / (FIT_STARTS - 2))
             : 0;
}

/* Of neighbouring residuals. */
static double autocorrelation(const struct fit_shape *a, const double *x, const double *y,
                              size_t n)
{
    double before = 0, products = 0, all = 1e-18;

    for (size_t i = 0; i < n; i++) {
        const double r = sqrt(weight(x[i])) * (y[i] - a->m - a->g * shape(a, x[i]));
        all += r * r;
        products += before * r;
        before = r;
    }
    return products / all;
}

/* Fits all shapes to the points and returns the autocorrelation of the best one's
 * residuals.
 */
static double solve_all(struct fit *f, const double *x, const double *y, size_t n)
{
    const struct fit_shape *best = f->shape;

    for (size_t k = 0; k < FIT_SHAPES; k++) {
        struct fit_shape *a = &f->shape[k];
        const double part = (double)(k % FIT_FALLS) / (FIT_FALLS - 1);
        a->d = start_of(k / FIT_FALLS);
        a->c = FALL_LEAST * pow(FALL_MOST / FALL_LEAST, part) * (1 + a->d);
        a->half = power(0.5, a->c, a->d);
        solve(a, x, y, n);
        if (a->sse < best->sse)
            best = a;
    }
    f->n = n;
    f->sse_best = best->sse;
    return autocorrelation(best, x, y, n);
}

/* The last nine tenths of the steps, or less where early points bend the curve in a way
 * that later ones do not go on with. */
static size_t solve_late(struct fit *f, const double *x, const double *y, size_t n)
{
    static const double from[] = {0.1, 0.2, 0.3, 0.4, 0.5};
    size_t first = 0;
    double rho = 0;

    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        size_t at = first;
        while (at < n && x[at] < from[i])
            at++;
        if (i && (n - at < MANY_POINTS || rho <= AUTOCORRELATION_MOST))
            break;
        first = n - at < FIT_MIN_POINTS ? n - FIT_MIN_POINTS : at;
        rho = solve_all(f, x + first, y + first, n - first);
    }
    const double free_of = (double)(f->n - SHAPE_NUMBERS),
                 t = series_student(f->n - SHAPE_NUMBERS);
    rho = fmin(0.9, fmax(0, rho + 2 / (double)f->n)); /* fitting hides some of it */
    f->sse_most = f->sse_best * (1 + t * t * (1 + rho) / (1 - rho) / free_of);
    f->noise = sqrt(f->sse_best / free_of);
    return first;
}

/* Points with a step and a value, the step as a part of the last one. */
static size_t collect(double *x, double *y, const struct series *s, double sign,
                      double last)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->x[i] > 0 && isfinite(s->y[i])) {
            x[n] = s->x[i] / last;
            y[n++] = sign * s->y[i];
        }
    return thin(x, y, n);
}

status fit_curve(struct fit *f, const struct series *s, double sign, double bound,
                 struct err *err)
{
    double *x;

    memset(f, 0, sizeof *f);
    for (size_t i = 0; i < s->n; i++)
        if (s->x[i] > 0 && isfinite(s->y[i]))
            f->to = fmax(f->to, s->x[i]);
    TRY(mem_alloc(&x, 2 * s->n, sizeof *x, err));
    double *y = x + s->n;
    const size_t n = collect(x, y, s, sign, f->to);
    if (n >= FIT_MIN_POINTS && x[n - FIT_MIN_POINTS] < x[n - 1]) {
        f->is_known = true;
        f->floor = sign * bound;
        f->from = f->to * x[solve_late(f, x, y, n)];
        f->level = sign * range_of(f, 1, 0, 1).mid;
    }
    free(x);
    return OK;
}

/* Wider by what no power law knows; `gain` is how far the middle lies from now. */
static struct fit_range widen(struct fit_range r, double gain)
{
    return (struct fit_range){r.mid - hypot(r.mid - r.low, UNKNOWN * gain), r.mid,
                              r.mid + hypot(r.high - r.mid, UNKNOWN * gain)};
}

struct fit_range fit_gain(const struct fit *f, double factor)
{
    const struct fit_range r = range_of(f, 0, -1, factor);

    return widen(r, r.mid);
}

struct fit_range fit_value(const struct fit *f, double step, double sign)
{
    struct fit_range r = range_of(f, 1, 1, step / f->to);

    if (step > f->to)
        r = widen(r, r.mid - sign * f->level);
    if (sign > 0)
        return r;
    return (struct fit_range){-r.high, -r.mid, -r.low};
}
