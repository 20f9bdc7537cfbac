#include "report/judge/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { POINTS_MAX = 100, MANY_POINTS = 6, ENOUGH_FOR_AUTOCORRELATION = 8 };

/* The fall at the end, relative and per part of the run, is c / (1 + d). */
static const double FALL_LEAST = 0.03, FALL_MOST = 12;
static const double START_LEAST = 0.03, START_MOST = 100; /* d, beside 0 */
/* Before the points are seen: level with this probability, else any shape alike. */
static const double PRIOR_OF_LEVEL = 0.0125;
/* Noise as a part of the level, and how many points that knowledge is worth. */
static const double NOISE = 0.002, NOISE_POINTS = 2;
/* The early part is a exp(-x / end), a normal with 0 as its mean and this multiple of the
 * noise; one in four has none. */
static const double EARLY = 300, EARLY_ENDS[FIT_EARLIES] = {0, 0.06, 0.12, 0.24};
/* Residuals with a larger autocorrelation belong to another curve. */
static const double AUTOCORRELATION_MOST = 0.1;
/* What no shape knows of other curves: a part of the gain, times 1 - 1 / factor. */
static const double UNKNOWN = 0.05;
/* A lower limit of the gain below this part of the level is none. */
static const double NO_GAIN = 2e-4;

/* Points of the curve, x the step as a part of the last one. */
struct points {
    const double *x, *y;
    size_t n;
    double worth; /* of a point: less than 1 if neighbours are alike */
    double size;  /* mean of |y| */
    struct early {
        double at[POINTS_MAX]; /* as a multiple of the noise */
        double norm;           /* 1 + worth * its square */
    } early[FIT_EARLIES];
};

static double power(double x, double c, double d)
{
    return pow((x + d) / (1 + d), -c) - 1;
}

/* 0 at the last step (x = 1), 1 at half of it, falling to the limit for ever. */
static double shape(const struct fit_shape *a, double x)
{
    return a->c > 0 ? power(x, a->c, a->d) / a->half : 0;
}

static double normal_below(double z)
{
    return 0.5 * erfc(-z / sqrt(2));
}

/* The normal deviate as improbable as Student's t (Wallace 1959, within 0.02 here). */
static double normal_of(double t, double degrees)
{
    const double z =
        (8 * degrees + 1) / (8 * degrees + 3) * sqrt(degrees * log1p(t * t / degrees));

    return t < 0 ? -z : z;
}

static double student_below(double t, double degrees)
{
    return normal_below(normal_of(t, degrees));
}

/* Weighted sums over the points, with the early part integrated out: the inverse of
 * 1 + e e' is 1 - e e' / (1 + e'e). */
struct sums {
    double one, v, vv, y, vy, det;
};

static struct sums sums_of(const struct points *p, const struct early *early,
                           const double *v)
{
    double e1 = 0, ev = 0, ey = 0;
    struct sums s = {0};

    for (size_t i = 0; i < p->n; i++) {
        s.one += 1;
        s.v += v[i];
        s.vv += v[i] * v[i];
        s.y += p->y[i];
        s.vy += v[i] * p->y[i];
        e1 += early->at[i];
        ev += early->at[i] * v[i];
        ey += early->at[i] * p->y[i];
    }
    const double w = p->worth, e = w * w / early->norm;
    s.one = w * s.one - e * e1 * e1;
    s.v = w * s.v - e * e1 * ev;
    s.vv = w * s.vv - e * ev * ev;
    s.y = w * s.y - e * e1 * ey;
    s.vy = w * s.vy - e * ev * ey;
    s.det = s.one * s.vv - s.v * s.v;
    return s;
}

/* Squared residuals that neither the curve nor the early part explains. */
static double residuals(const struct points *p, const struct early *early,
                        const double *v, double m, double g)
{
    double rr = 0, er = 0;

    for (size_t i = 0; i < p->n; i++) {
        const double r = p->y[i] - m - g * v[i];
        rr += r * r;
        er += early->at[i] * r;
    }
    return fmax(0, p->worth * rr - p->worth * p->worth * er * er / early->norm);
}

/* The noise's variance times its degrees of freedom. */
static double noise_sum(const struct points *p, double residual)
{
    return 1e-18 + NOISE_POINTS * NOISE * NOISE * p->size * p->size + residual;
}

/* Means and variances once g > 0 is known: those of a normal that is cut at 0. */
static void cut(struct fit_shape *a)
{
    const double z = a->g_best / a->g_sd, pi = acos(-1);
    const double hazard =
        z < -8 ? -z - 1 / z : exp(-z * z / 2) / sqrt(2 * pi) / normal_below(z);
    const double more = a->g_sd * hazard, left = fmax(0, 1 - hazard * (hazard + z));

    a->g = a->g_best + more;
    a->m += a->cov / a->var_g * more;
    a->var_m -= a->cov * a->cov / a->var_g * (1 - left);
    a->cov *= left;
    a->var_g *= left;
}

/* Fits one shape with one early part; the logarithm of its probability, up to a
 * constant. The prior is flat in m and in the fall since the first point, g v(x[0]). */
static double solve(struct fit_shape *a, const struct points *p,
                    const struct early *early, const double *v, double degrees)
{
    const struct sums s = sums_of(p, early, v);
    const double m = (s.vv * s.y - s.v * s.vy) / s.det;
    const double g = (s.one * s.vy - s.v * s.y) / s.det;
    const double sum = noise_sum(p, residuals(p, early, v, m, g)), noise = sum / degrees;
    a->noise = noise;
    a->g_best = g;
    a->g_sd = sqrt(noise * s.one / s.det);
    a->m = m;
    a->var_m = noise * s.vv / s.det;
    a->cov = -noise * s.v / s.det;
    a->var_g = noise * s.one / s.det;
    const double falls = student_below(g / a->g_sd, degrees);
    cut(a);
    return log((1 - PRIOR_OF_LEVEL) / (FIT_SHAPES - 1)) + log(v[0] / p->size) -
           0.5 * log(s.det) - 0.5 * log(early->norm) - 0.5 * degrees * log(sum) +
           log(falls);
}

/* The same where the curve is level: g = 0, one degree of freedom more, and the ratio of
 * two gamma functions, (degrees + 1) / 2 and degrees / 2, from its asymptotic series. */
static double solve_level(struct fit_shape *a, const struct points *p,
                          const struct early *early, const double *v, double degrees)
{
    const struct sums s = sums_of(p, early, v);
    const double m = s.y / s.one, sum = noise_sum(p, residuals(p, early, v, m, 0));

    *a = (struct fit_shape){.noise = sum / (degrees + 1), .m = m};
    a->var_m = a->noise / s.one;
    return log(PRIOR_OF_LEVEL) + 0.5 * log((2 * degrees - 1) / (4 * acos(-1))) -
           0.5 * log(s.one) - 0.5 * log(early->norm) - 0.5 * (degrees + 1) * log(sum);
}

static double start_of(size_t i)
{
    return i ? START_LEAST *
                   pow(START_MOST / START_LEAST, (double)(i - 1) / (FIT_STARTS - 2))
             : 0;
}

static void set_shape(struct fit_shape *a, size_t k)
{
    const double part = (double)(k % FIT_FALLS) / (FIT_FALLS - 1);

    *a = (struct fit_shape){0};
    if (k == (size_t)FIT_FALLS * FIT_STARTS)
        return; /* level */
    a->d = start_of(k / FIT_FALLS);
    a->c = FALL_LEAST * pow(FALL_MOST / FALL_LEAST, part) * (1 + a->d);
    a->half = power(0.5, a->c, a->d);
}

/* Of neighbouring residuals at one shape. The early part counts among them: where it is
 * large, the fit had better begin later. */
static double autocorrelation(const struct fit_shape *a, const struct points *p,
                              const double *v)
{
    double before = 0, products = 0, all = 1e-18;

    for (size_t i = 0; i < p->n; i++) {
        const double r = p->y[i] - a->m - a->g * v[i];
        all += r * r;
        products += before * r;
        before = r;
    }
    return products / all;
}

/* From logarithms to probabilities. Of the many shapes a systematic sample is kept: in
 * the order of the grid, one for every FIT_DRAWS-th part of the probability. */
static void draw(struct fit *f, const struct fit_shape *grid, const double *log_p,
                 double most)
{
    double all = 0, before = 0.5;

    for (size_t k = 0; k < FIT_SHAPES; k++)
        if (isfinite(log_p[k]))
            all += exp(log_p[k] - most);
    for (size_t k = 0; k < FIT_SHAPES; k++) {
        if (!isfinite(log_p[k]))
            continue;
        const double after = before + FIT_DRAWS * exp(log_p[k] - most) / all;
        const double drawn = floor(after) - floor(before);
        before = after;
        if (!(drawn > 0) || f->n_shapes == FIT_DRAWS)
            continue;
        f->shape[f->n_shapes] = grid[k];
        f->shape[f->n_shapes++].p = drawn / FIT_DRAWS;
    }
}

/* Fits all shapes to the points and returns the autocorrelation of the residuals of the
 * likeliest. */
static double solve_all(struct fit *f, struct fit_shape *grid, const struct points *p)
{
    double log_p[FIT_SHAPES], v[POINTS_MAX] = {0}, most = -INFINITY, rho = 0;

    f->n = p->n;
    f->n_shapes = 0;
    f->degrees = fmax(1, NOISE_POINTS + p->worth * (double)p->n - 2);
    for (size_t k = 0; k < FIT_SHAPES; k++) {
        struct fit_shape *a = &grid[k];
        const struct early *early = &p->early[k % FIT_EARLIES];
        if (k % FIT_EARLIES == 0) {
            set_shape(a, k / FIT_EARLIES);
            for (size_t i = 0; i < p->n; i++)
                v[i] = shape(a, p->x[i]);
        } else {
            *a = a[-1];
        }
        log_p[k] = k + 1 < FIT_SHAPES ? solve(a, p, early, v, f->degrees)
                                      : solve_level(a, p, early, v, f->degrees);
        if (isfinite(log_p[k]) && log_p[k] > most) {
            most = log_p[k];
            rho = autocorrelation(a, p, v);
        }
    }
    draw(f, grid, log_p, most);
    return rho;
}

/* Each point is worth `worth` independent ones. */
static double solve_from(struct fit *f, struct fit_shape *grid, const double *x,
                         const double *y, size_t n, double worth)
{
    struct points p = {.x = x, .y = y, .n = n, .worth = worth};

    for (size_t i = 0; i < n; i++)
        p.size += fabs(y[i]) / (double)n;
    for (size_t k = 0; k < FIT_EARLIES; k++) {
        struct early *e = &p.early[k];
        e->norm = 1;
        for (size_t i = 0; i < n; i++) {
            e->at[i] = k ? EARLY * exp(-x[i] / EARLY_ENDS[k]) : 0;
            e->norm += worth * e->at[i] * e->at[i];
        }
    }
    p.size = fmax(p.size, 1e-9);
    return solve_all(f, grid, &p);
}

/* The last nine tenths of the steps, or less where early points bend the curve in a way
 * that later ones do not go on with. Returns the index of the first point. */
static size_t solve_late(struct fit *f, struct fit_shape *grid, const double *x,
                         const double *y, size_t n)
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
        rho = solve_from(f, grid, x + first, y + first, n - first, 1);
    }
    rho = fmin(0.8, rho + 2 / (double)f->n); /* fitting hides some of it */
    if (f->n >= ENOUGH_FOR_AUTOCORRELATION && rho > 0)
        solve_from(f, grid, x + first, y + first, n - first, (1 - rho) / (1 + rho));
    return first;
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

static void fill_table(struct fit *f)
{
    for (int i = 1; i < FIT_TABLE; i++) {
        const double u = 2.0 * i / FIT_TABLE - 1;
        f->student[i] = student_below(u / (1 - fabs(u)), f->degrees);
    }
    f->student[FIT_TABLE] = 1;
}

/* What the shapes say of now. */
static void sum_up(struct fit *f, double sign)
{
    double noise = 0;

    f->is_known = f->n_shapes > 0;
    for (size_t k = 0; k < f->n_shapes; k++) {
        f->level += sign * f->shape[k].p * f->shape[k].m;
        noise += f->shape[k].p * f->shape[k].noise;
    }
    f->noise = sqrt(noise);
    fill_table(f);
}

/* `grid` is scratch for FIT_SHAPES shapes, `x` for two numbers a point. */
static void solve_series(struct fit *f, struct fit_shape *grid, double *x,
                         const struct series *s, double sign)
{
    double *y = x + s->n;
    const size_t n = collect(x, y, s, sign, f->to);

    if (n < FIT_MIN_POINTS || !(x[n - FIT_MIN_POINTS] < x[n - 1]))
        return;
    f->from = f->to * x[solve_late(f, grid, x, y, n)];
    sum_up(f, sign);
}

status fit_curve(struct fit *f, const struct series *s, double sign, double bound,
                 struct err *err)
{
    struct fit_shape *grid = NULL;
    double *x;

    memset(f, 0, sizeof *f);
    f->bound = bound;
    for (size_t i = 0; i < s->n; i++)
        if (s->x[i] > 0 && isfinite(s->y[i]))
            f->to = fmax(f->to, s->x[i]);
    TRY(mem_alloc(&x, 2 * s->n, sizeof *x, err));
    const status result = mem_alloc(&grid, FIT_SHAPES, sizeof *grid, err);
    if (result == OK)
        solve_series(f, grid, x, s, sign);
    free(grid);
    free(x);
    return result;
}

/* One Student's t of a mixture, cut below `least`; the part above that is left. */
struct part {
    double p, at, sd, least, left;
};

struct mixture {
    const double *table; /* fit.student */
    double mean;
    size_t n;
    struct part part[FIT_DRAWS];
};

/* student_below() by its table, at equal steps of t / (1 + |t|). */
static double look_up(const double *table, double t)
{
    const double at = (t / (1 + fabs(t)) + 1) * FIT_TABLE / 2;

    if (!(at >= 0 && at < FIT_TABLE))
        return t > 0 ? 1 : 0;
    const size_t i = (size_t)at;
    return table[i] + (at - (double)i) * (table[i + 1] - table[i]);
}

static double below(const struct mixture *m, double z)
{
    double sum = 0;

    for (size_t k = 0; k < m->n; k++) {
        const struct part *t = &m->part[k];
        if (!(t->sd > 0))
            sum += z >= t->at ? t->p : 0;
        else if (z > t->least)
            sum += t->p * (1 - look_up(m->table, (t->at - z) / t->sd) / t->left);
    }
    return sum;
}

/* Where a part q of the mixture lies below: false position on a bracket around the mean,
 * halving the weight of the end that stays (Illinois). */
static double quantile(const struct mixture *m, double q, double step)
{
    enum { TRIES = 80 };
    const double fine = 1e-6 * step;
    double a = m->mean, b = m->mean, at_a = below(m, a) - q, at_b = at_a;

    for (int i = 0; i < TRIES && at_a > 0; i++, step *= 2)
        at_a = below(m, a -= step) - q;
    for (int i = 0; i < TRIES && at_b < 0; i++, step *= 2)
        at_b = below(m, b += step) - q;
    for (int i = 0; i < TRIES && b - a > fine; i++) {
        double z = i % 4 == 3 ? (a + b) / 2 : a + (b - a) * at_a / (at_a - at_b);
        if (!(z > a && z < b))
            z = (a + b) / 2;
        const double at_z = below(m, z) - q;
        if (at_z < 0) {
            a = z;
            at_a = at_z;
            at_b /= 2;
        } else {
            b = z;
            at_b = at_z;
            at_a /= 2;
        }
    }
    return b;
}

/* The interval and the median. */
static struct fit_range range_of(const struct mixture *m)
{
    double spread = 0;

    for (size_t k = 0; k < m->n; k++) {
        const struct part *t = &m->part[k];
        spread += t->p * (t->sd * t->sd + (t->at - m->mean) * (t->at - m->mean));
    }
    const double step = fmax(sqrt(spread), 1e-12 * fabs(m->mean) + 1e-15);
    return (struct fit_range){quantile(m, 0.025, step), quantile(m, 0.5, step),
                              quantile(m, 0.975, step)};
}

static double unknown(double factor)
{
    return factor > 1 ? UNKNOWN * (1 - 1 / factor) : 0;
}

struct fit_range fit_gain(const struct fit *f, double factor)
{
    struct mixture m = {.table = f->student, .n = f->n_shapes};

    for (size_t k = 0; k < f->n_shapes; k++) {
        const struct fit_shape *a = &f->shape[k];
        const double more = -shape(a, factor); /* 0 if it is level */
        const double sd = hypot(a->g_sd, unknown(factor) * a->g_best);
        m.part[k] = (struct part){a->p, more * a->g_best, more * sd, 0,
                                  student_below(a->g_best / sd, f->degrees)};
        m.mean += a->p * more * a->g;
    }
    struct fit_range r = range_of(&m);
    const double most = fabs(f->bound - f->level);
    if (r.low < NO_GAIN * fabs(f->level))
        r.low = 0;
    r.high = fmin(r.high, most);
    r.low = fmin(r.low, r.high);
    r.mid = fmin(fmax(r.mid, r.low), r.high);
    return r;
}

struct fit_range fit_value(const struct fit *f, double step, double sign)
{
    struct mixture m = {.table = f->student, .n = f->n_shapes};
    const double x = step / f->to;

    for (size_t k = 0; k < f->n_shapes; k++) {
        const struct fit_shape *a = &f->shape[k];
        const double v = shape(a, x), more = unknown(x) * v * a->g;
        const double var = a->var_m + 2 * v * a->cov + v * v * a->var_g + more * more;
        m.part[k] =
            (struct part){a->p, a->m + v * a->g, sqrt(fmax(0, var)), -INFINITY, 1};
        m.mean += a->p * m.part[k].at;
    }
    struct fit_range r = range_of(&m);
    const double least = sign * f->bound;
    r = (struct fit_range){fmax(r.low, least), fmax(r.mid, least), fmax(r.high, least)};
    if (sign > 0)
        return r;
    return (struct fit_range){-r.high, -r.mid, -r.low};
}
