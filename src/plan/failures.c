#include "plan/failures.h"

#include <math.h>

#include "base/rng.h"

double failures_young(const struct failures *f)
{
    return sqrt(2 * f->save * f->mtbf);
}

double failures_daly(const struct failures *f)
{
    const double q = sqrt(f->save / (2 * f->mtbf));

    if (f->save >= 2 * f->mtbf)
        return f->mtbf;
    return failures_young(f) * (1 + q / 3 + q * q / 9) - f->save;
}

double failures_overhead(const struct failures *f, double interval)
{
    const double M = f->mtbf;

    return M * exp(f->restart / M) * expm1((interval + f->save) / M) / interval - 1;
}

/* A failed attempt at a segment of length s lasts M - s / (e^(s/M) - 1) on average, and
 * there are e^(s/M) - 1 of them for each that succeeds. */
double failures_lost_work(const struct failures *f, double interval)
{
    const double s = interval + f->save, fails = expm1(s / f->mtbf);

    return (f->mtbf * fails - s) / interval;
}

/* Go through the failures one by one: whole segments before each count as work. */
double failures_played(const struct failures *f, double interval, int n_failures,
                       uint64_t seed)
{
    struct rng r = rng_open(rng_key(seed, "failures"));
    double work = 0, time = 0;
    int is_restarting = 0;

    for (int i = 0; i < n_failures; i++) {
        const double up = -f->mtbf * log1p(-rng_unit(&r));
        const double able = up - (is_restarting ? f->restart : 0);
        if (able > 0)
            work += interval * floor(able / (interval + f->save));
        time += up;
        is_restarting = 1;
    }
    return work > 0 ? time / work - 1 : INFINITY;
}

double failures_best_played(const struct failures *f, int n_failures, uint64_t seed)
{
    const double young = failures_young(f);
    double best = young, least = INFINITY;

    for (int i = -40; i <= 40; i++) {
        const double interval = young * pow(8, i / 40.0);
        const double overhead = failures_played(f, interval, n_failures, seed);
        if (overhead < least) {
            least = overhead;
            best = interval;
        }
    }
    return best;
}
