/*
 * group - sums and maxima over the items of a group, through local memory.
 *
 * Every item gets the result. tmp has one place for each item and may be used again at
 * once. ITEMS is a power of two, so that the order of additions is always the same.
 */
#pragma once

#include "device/gpu/numbers.h"

/* The function `name`, which folds the items' values by COMBINE(one, other). */
#define GROUP_FOLD(type, name, COMBINE)                        \
    FN type name(type x, LOCAL type *tmp)                      \
    {                                                          \
        tmp[ITEM] = x;                                         \
        BARRIER;                                               \
        for (u32 n = ITEMS / 2; n > 0; n /= 2) {               \
            if (ITEM < n)                                      \
                tmp[ITEM] = COMBINE(tmp[ITEM], tmp[ITEM + n]); \
            BARRIER;                                           \
        }                                                      \
        x = tmp[0];                                            \
        BARRIER;                                               \
        return x;                                              \
    }

#define GROUP_PLUS(x, y)  ((x) + (y))
#define GROUP_ABOVE(x, y) ((y) > (x) ? (y) : (x))
#define GROUP_BELOW(x, y) ((y) < (x) ? (y) : (x))

GROUP_FOLD(float, group_sum, GROUP_PLUS)
GROUP_FOLD(float, group_max, GROUP_ABOVE) /* passes over a NaN, as cpu/vmax.h does */
GROUP_FOLD(u32, group_min, GROUP_BELOW)
