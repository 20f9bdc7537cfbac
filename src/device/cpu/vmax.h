/*
 * vmax - the largest of n reals.
 *
 * Compilers do not vectorise the plain loop, because a maximum may not drop a NaN that
 * comes first, nor reliably one over an array of running maxima, which they may take
 * apart into scalars. So the maxima are vectors, several of them, because each waits for
 * the one before it. A NaN is passed over; without a number the result is -inf.
 */
#pragma once

#include <math.h>

#include "device/cpu/tile.h"

enum { VMAX_SIDE = 4 }; /* vectors side by side */

/* Lane by lane the larger; x where either is a NaN. */
TILE_INLINE tile_vec vmax_larger(tile_vec x, tile_vec y)
{
    const tile_lanes is_y = y > x;

    return (tile_vec)((is_y & (tile_lanes)y) | (~is_y & (tile_lanes)x));
}

static inline real vmax(const real *x, size_t n)
{
    tile_vec top[VMAX_SIDE];
    real lane[TILE_LANES];
    size_t i = 0;

    TILE_UNROLL
    for (size_t v = 0; v < VMAX_SIDE; v++)
        top[v] = (tile_vec){0} - (real)INFINITY;
    for (; i + (size_t)VMAX_SIDE * TILE_LANES <= n; i += (size_t)VMAX_SIDE * TILE_LANES)
        TILE_UNROLL
    for (size_t v = 0; v < VMAX_SIDE; v++)
        top[v] = vmax_larger(top[v], *(const tile_loose *)(x + i + v * TILE_LANES));
    for (; i + TILE_LANES <= n; i += TILE_LANES)
        top[0] = vmax_larger(top[0], *(const tile_loose *)(x + i));
    TILE_UNROLL
    for (size_t v = 1; v < VMAX_SIDE; v++)
        top[0] = vmax_larger(top[0], top[v]);
    memcpy(lane, &top[0], sizeof lane);
    for (; i < n; i++)
        lane[0] = x[i] > lane[0] ? x[i] : lane[0];
    TILE_UNROLL
    for (size_t half = TILE_LANES / 2; half; half /= 2)
        TILE_UNROLL
    for (size_t l = 0; l < half; l++)
        lane[l] = lane[l + half] > lane[l] ? lane[l + half] : lane[l];
    return lane[0];
}
