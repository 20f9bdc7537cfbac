#include "recipe/positions.h"

#include <math.h>

double positions_rate(size_t i, size_t D)
{
    const size_t half = D / 2;

    return exp(-(double)i * log(10000.0) / ((double)half - 1));
}

double positions_signal(size_t p, size_t c, size_t D)
{
    const size_t half = D / 2;
    const double angle = (double)p * positions_rate(c % half, D);

    return c < half ? sin(angle) : cos(angle);
}
