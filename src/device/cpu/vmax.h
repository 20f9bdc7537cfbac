/*
 * vmax - the largest of n reals.
 *
 * Compilers do not vectorise the plain loop, because a maximum may not drop a NaN that
 * comes first. Sixteen running maxima, each of every sixteenth element, are independent.
 * A NaN is passed over; without a number the result is -inf.
 */
#pragma once

#include <math.h>

#include "device/cpu/cpu.h"

enum { VMAX_LANES = 16 };

static inline real vmax(const real *x, size_t n)
{
    real top[VMAX_LANES];
    size_t i = 0;

    for (size_t l = 0; l < VMAX_LANES; l++)
        top[l] = -(real)INFINITY;
    for (; i + VMAX_LANES <= n; i += VMAX_LANES)
        for (size_t l = 0; l < VMAX_LANES; l++)
            top[l] = x[i + l] > top[l] ? x[i + l] : top[l];
    for (; i < n; i++)
        top[0] = x[i] > top[0] ? x[i] : top[0];
    for (size_t l = 1; l < VMAX_LANES; l++)
        top[0] = top[l] > top[0] ? top[l] : top[0];
    return top[0];
}
