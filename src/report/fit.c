#include "report/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

enum { EXPONENTS = 101, STARTS = 10, GRID = EXPONENTS * STARTS };
enum { TRIES = 20, POINTS_MAX = 2000 };

static const double starts[STARTS] = {0,     0.01, 0.02, 0.035, 0.05,
                                      0.075, 0.1,  0.15, 0.25,  0.5}; /* d */

/* Least squares for one shape (c, d); covariance is inv[3] times the noise's variance. */
struct at_c {
    double c, d, m, g, sse;
    double inv_mm, inv_mg, inv_gg;
    double weight; /* cumulative, up to 1 */
};

static double power(double x, double c, double d)
{
    return pow((x + d) / (1 + d), -c) - 1;
}

/* 0 at the last step (x = 1), 1 at half of it, falling to the limit for ever. */
static double shape(double x, double c, double d)
{
    return power(x, c, d) / power(0.5, c, d);
}

static double limit(double c, double d)
{
    return -1 / power(0.5, c, d);
}

/* x is the step as a part of the last one. */
static void solve(struct at_c *a, const double *x, const double *y, size_t n)
{
    double v = 0, vv = 0, sy = 0, vy = 0;

    for (size_t i = 0; i < n; i++) {
        const double u = shape(x[i], a->c, a->d);
        v += u;
        vv += u * u;
        sy += y[i];
        vy += u * y[i];
    }
    const double det = (double)n * vv - v * v;
    a->inv_mm = vv / det;
    a->inv_mg = -v / det;
    a->inv_gg = (double)n / det;
    a->m = (vv * sy - v * vy) / det;
    a->g = ((double)n * vy - v * sy) / det;
    a->sse = 1e-18;
    for (size_t i = 0; i < n; i++) {
        const double r = y[i] - a->m - a->g * shape(x[i], a->c, a->d);
        a->sse += r * r;
    }
    /* the marginal likelihood of the shape, its logarithm; c and d cost two degrees of
     * freedom more, without which the intervals come out too narrow */
    a->weight = -0.5 * log(det) - 0.5 * (double)(n - 4) * log(a->sse);
}

static void solve_all(struct at_c grid[GRID], const double *x, const double *y, size_t n)
{
    double top = -INFINITY, sum = 0;

    for (size_t k = 0; k < GRID; k++) {
        grid[k].c = 0.1 * pow(30, (double)(k % EXPONENTS) / (EXPONENTS - 1)); /* to 3 */
        grid[k].d = starts[k / EXPONENTS];
        solve(&grid[k], x, y, n);
        top = fmax(top, grid[k].weight);
    }
    for (size_t k = 0; k < GRID; k++)
        sum += exp(grid[k].weight - top);
    double upto = 0;
    for (size_t k = 0; k < GRID; k++) {
        upto += exp(grid[k].weight - top) / sum;
        grid[k].weight = upto;
    }
}

static const struct at_c *pick(const struct at_c grid[GRID], double u)
{
    size_t k = 0;

    while (k + 1 < GRID && u >= grid[k].weight)
        k++;
    return &grid[k];
}

/* Sum of n squared normals; many are nearly one normal. */
static double chi_squared(struct rng *r, size_t n)
{
    double sum = 0;

    if (n > 200)
        return fmax(1, (double)n + sqrt(2 * (double)n) * rng_normal(r));
    for (size_t i = 0; i < n; i++) {
        const double z = rng_normal(r);
        sum += z * z;
    }
    return sum;
}

/* One draw of the posterior; returns the noise. A curve that would end below its floor
 * is drawn again. */
static double draw(struct fit *f, size_t i, const struct at_c grid[GRID], struct rng *r,
                   double floor)
{
    double sigma = 0;

    for (int attempt = 0; attempt < TRIES; attempt++) {
        const struct at_c *a = pick(grid, rng_unit(r));
        sigma = sqrt(a->sse / fmax(1e-3, chi_squared(r, f->n - 4)));
        const double z1 = rng_normal(r), z2 = rng_normal(r);
        const double sd_m = sqrt(a->inv_mm), rho = a->inv_mg / sd_m;
        f->m[i] = a->m + sigma * sd_m * z1;
        f->g[i] = a->g + sigma * (rho * z1 + sqrt(fmax(0, a->inv_gg - rho * rho)) * z2);
        f->c[i] = a->c;
        f->d[i] = a->d;
        if (f->m[i] + f->g[i] * limit(a->c, a->d) >= floor)
            break;
    }
    return sigma;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static struct fit_range range_of(double v[FIT_DRAWS])
{
    qsort(v, FIT_DRAWS, sizeof *v, by_value);
    return (struct fit_range){v[FIT_DRAWS / 40], v[FIT_DRAWS / 2],
                              v[FIT_DRAWS - 1 - FIT_DRAWS / 40]};
}

/* The points to fit, newest last: those of the last nine tenths of the steps, or the
 * last few when that leaves too few. */
static size_t choose(double *x, double *y, const struct series *s, double sign)
{
    double last = 0;
    size_t n = 0, n_good = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->x[i] > 0 && isfinite(s->y[i])) {
            last = fmax(last, s->x[i]);
            n_good++;
        }
    for (size_t i = 0, left = n_good; i < s->n && n < POINTS_MAX; i++) {
        if (!(s->x[i] > 0) || !isfinite(s->y[i]))
            continue;
        if (s->x[i] >= 0.1 * last || left <= FIT_MIN_POINTS) {
            x[n] = s->x[i] / last;
            y[n++] = sign * s->y[i];
        }
        left--;
    }
    return n;
}

void fit_curve(struct fit *f, const struct series *s, double sign, double bound)
{
    double x[POINTS_MAX], y[POINTS_MAX], noise[FIT_DRAWS], at_end[FIT_DRAWS];
    struct at_c grid[GRID];

    memset(f, 0, sizeof *f);
    const size_t n = choose(x, y, s, sign);
    if (n < FIT_MIN_POINTS || !(x[0] < x[n - 1]))
        return;
    struct rng r = rng_open(rng_key(n, "report fit"));
    f->is_known = true;
    f->n = n;
    for (size_t i = 0; i < s->n; i++)
        if (s->x[i] > 0 && isfinite(s->y[i]))
            f->to = fmax(f->to, s->x[i]);
    f->from = x[0] * f->to;
    solve_all(grid, x, y, n);
    for (size_t i = 0; i < FIT_DRAWS; i++) {
        noise[i] = draw(f, i, grid, &r, sign * bound);
        at_end[i] = f->m[i];
    }
    f->noise = range_of(noise).mid;
    f->level = sign * range_of(at_end).mid;
}

struct fit_range fit_gain(const struct fit *f, double factor)
{
    double v[FIT_DRAWS];

    for (size_t i = 0; i < FIT_DRAWS; i++)
        v[i] = -f->g[i] * shape(factor, f->c[i], f->d[i]);
    return range_of(v);
}

struct fit_range fit_value(const struct fit *f, double step, double sign)
{
    double v[FIT_DRAWS];

    for (size_t i = 0; i < FIT_DRAWS; i++)
        v[i] = sign * (f->m[i] + f->g[i] * shape(step / f->to, f->c[i], f->d[i]));
    return range_of(v);
}
