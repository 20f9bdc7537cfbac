#include "page/series.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

status series_add(struct series *s, double x, double y, struct err *err)
{
    TRY(mem_grow(&s->x, &s->cap_x, s->n + 1, sizeof *s->x, err));
    TRY(mem_grow(&s->y, &s->cap_y, s->n + 1, sizeof *s->y, err));
    s->x[s->n] = x;
    s->y[s->n++] = y;
    return OK;
}

void series_release(struct series *s)
{
    free(s->x);
    free(s->y);
    *s = (struct series){0};
}

/* The points [begin, end) of one bucket: first, lowest, highest, last, in order. */
static status thin_bucket(struct series *out, const struct series *in, size_t begin,
                          size_t end, struct err *err)
{
    size_t keep[4] = {end, end, end, end}; /* first, lowest, highest, last */
    size_t last_added = end;

    for (size_t i = begin; i < end; i++) {
        if (!isfinite(in->y[i]))
            continue;
        if (keep[0] == end)
            keep[0] = keep[1] = keep[2] = i;
        keep[1] = in->y[i] < in->y[keep[1]] ? i : keep[1];
        keep[2] = in->y[i] > in->y[keep[2]] ? i : keep[2];
        keep[3] = i;
    }
    if (keep[0] == end)
        return series_add(out, in->x[begin], NAN, err);
    if (keep[1] > keep[2]) {
        const size_t swap = keep[1];
        keep[1] = keep[2];
        keep[2] = swap;
    }
    for (size_t k = 0; k < 4; k++) {
        if (keep[k] != last_added)
            TRY(series_add(out, in->x[keep[k]], in->y[keep[k]], err));
        last_added = keep[k];
    }
    return OK;
}

status series_thin(struct series *out, const struct series *in, size_t n_buckets,
                   struct err *err)
{
    *out = (struct series){0};
    const bool is_short = in->n <= 4 * n_buckets;
    const double span = in->n ? in->x[in->n - 1] - in->x[0] : 0;

    for (size_t i = 0; i < in->n;) {
        size_t end = i + 1;
        if (!is_short && span > 0) {
            const double width = span / (double)n_buckets;
            const double limit =
                in->x[0] + width * (floor((in->x[i] - in->x[0]) / width) + 1);
            while (end < in->n && in->x[end] < limit)
                end++;
        }
        const status result = thin_bucket(out, in, i, end, err);
        if (result != OK) {
            series_release(out);
            return result;
        }
        i = end;
    }
    return OK;
}

size_t series_best(const struct series *s, double sign)
{
    size_t best = s->n;

    for (size_t i = 0; i < s->n; i++)
        if (isfinite(s->y[i]) && (best == s->n || sign * s->y[i] < sign * s->y[best]))
            best = i;
    return best;
}

/* Weighted values begin with the value, so this orders them too. */
struct weighted {
    double v, w;
};

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void series_sort(double *v, size_t n)
{
    if (n)
        qsort(v, n, sizeof *v, by_value);
}

status series_quantile(double *out, const double *v, const double *w, size_t n, double q,
                       struct err *err)
{
    struct weighted *sorted;
    size_t n_sorted = 0;
    double total = 0, seen = 0;

    *out = NAN;
    TRY(mem_alloc(&sorted, n, sizeof *sorted, err));
    for (size_t i = 0; i < n; i++)
        if (isfinite(v[i]) && w[i] > 0) {
            sorted[n_sorted++] = (struct weighted){v[i], w[i]};
            total += w[i];
        }
    if (n_sorted)
        qsort(sorted, n_sorted, sizeof *sorted, by_value);
    for (size_t i = 0; i < n_sorted; i++) {
        seen += sorted[i].w;
        *out = sorted[i].v;
        if (seen >= q * total)
            break;
    }
    free(sorted);
    return OK;
}

double series_student(size_t degrees)
{
    static const double table[] = {0,     12.706, 4.303, 3.182, 2.776, 2.571,
                                   2.447, 2.365,  2.306, 2.262, 2.228};

    if (degrees < sizeof table / sizeof *table)
        return table[degrees]; /* then within 1 % */
    return 1.96 + 2.4 / (double)(degrees - 1);
}

/* Of the pairs that are finite: their means, and sums of products around them. */
struct moments {
    size_t n;
    double x, y, xx, yy, xy;
};

static struct moments moments_of(const double *x, const double *y, size_t n)
{
    struct moments m = {0};

    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]) && isfinite(y[i])) {
            m.n++;
            m.x += x[i];
            m.y += y[i];
        }
    m.x /= (double)m.n;
    m.y /= (double)m.n;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]) && isfinite(y[i])) {
            m.xx += (x[i] - m.x) * (x[i] - m.x);
            m.yy += (y[i] - m.y) * (y[i] - m.y);
            m.xy += (x[i] - m.x) * (y[i] - m.y);
        }
    return m;
}

struct series_fit series_fit(const double *x, const double *y, size_t n)
{
    const struct moments m = moments_of(x, y, n);
    struct series_fit f = {m.n, m.x, m.y, .slope = NAN, .se = NAN, .t_95 = NAN};
    double residual = 0;

    if (m.n < 3 || m.xx <= 0)
        return f;
    f.slope = m.xy / m.xx;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]) && isfinite(y[i])) {
            const double r = y[i] - m.y - f.slope * (x[i] - m.x);
            residual += r * r;
        }
    f.se = sqrt(residual / (double)(m.n - 2) / m.xx);
    f.t_95 = series_student(m.n - 2);
    return f;
}

double series_correlation(const double *x, const double *y, size_t n)
{
    const struct moments m = moments_of(x, y, n);

    return m.xx > 0 && m.yy > 0 ? m.xy / sqrt(m.xx * m.yy) : NAN;
}
