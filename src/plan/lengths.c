#include "plan/lengths.h"

#include <math.h>

/* P(X > x) of three exponential phases of mean `scale` each. */
static double beyond(double x, double scale)
{
    const double u = x / scale;

    return exp(-u) * (1 + u + u * u / 2);
}

/* Integral over [0, cap] of f(l) P(X > l), f being 1 or 2l: E min(X,cap) or its square.
 */
static double moment(double scale, double cap, int power)
{
    enum { PARTS = 512 };
    const double h = cap / PARTS;
    double sum = 0;

    for (int i = 0; i < PARTS; i++) {
        const double x = (i + 0.5) * h;
        sum += beyond(x, scale) * (power == 2 ? 2 * x : 1) * h;
    }
    return sum;
}

struct lengths lengths_of(double mean, double cap)
{
    struct lengths l = {.mean = mean, .cap = cap};
    double lo = mean / 3, hi = 1e3 * cap; /* uncut, the mean is 3 scales */

    if (mean > 0.99 * cap)
        return l;
    for (int i = 0; i < 60; i++) {
        const double middle = sqrt(lo * hi);
        if (moment(middle, cap, 1) < mean)
            lo = middle;
        else
            hi = middle;
    }
    l.scale = hi;
    return l;
}

double lengths_mean_square(const struct lengths *l)
{
    return l->scale > 0 ? moment(l->scale, l->cap, 2) : l->mean * l->mean;
}

double lengths_longest(const struct lengths *l, double n)
{
    enum { PARTS = 512 };
    const double h = l->cap / PARTS;
    double sum = 0;

    if (!(l->scale > 0))
        return l->mean;
    for (int i = 0; i < PARTS; i++)
        sum += (1 - pow(1 - beyond((i + 0.5) * h, l->scale), n)) * h;
    return sum;
}
