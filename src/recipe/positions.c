#include "recipe/positions.h"

#include <math.h>

#include "base/err.h"

/* Which w_i a channel has, and whether it is a sine. */
static double rate_of(enum positions kind, size_t c, size_t D, int *is_sine)
{
    BUG_ON(kind == POSITIONS_LEARNED);
    const size_t half = D / 2;
    const size_t i = kind == POSITIONS_INTERLEAVED ? c / 2 : c % half;
    const double last = kind == POSITIONS_REFERENCE ? (double)half - 1 : (double)half;

    *is_sine = kind == POSITIONS_INTERLEAVED ? c % 2 == 0 : c < half;
    return exp(-(double)i * log(10000.0) / last);
}

double positions_signal(enum positions kind, size_t p, size_t c, size_t D)
{
    int is_sine;
    const double angle = (double)p * rate_of(kind, c, D, &is_sine);

    return is_sine ? sin(angle) : cos(angle);
}

void positions_fill(enum positions kind, float *signal, size_t n, size_t D)
{
    int is_sine;

    for (size_t c = 0; c < D; c++) {
        const double rate = rate_of(kind, c, D, &is_sine);
        for (size_t p = 0; p < n; p++) {
            const double angle = (double)p * rate;
            signal[p * D + c] = (float)(is_sine ? sin(angle) : cos(angle));
        }
    }
}
