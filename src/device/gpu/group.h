/*
 * group - sums and maxima over the items of a group, through local memory.
 *
 * Every item gets the result. tmp has one place for each item and may be used again at
 * once. ITEMS is a power of two, so that the order of additions is always the same.
 */
#pragma once

#include "device/gpu/numbers.h"

FN float group_sum(float x, LOCAL float *tmp)
{
    tmp[ITEM] = x;
    BARRIER;
    for (u32 n = ITEMS / 2; n > 0; n /= 2) {
        if (ITEM < n)
            tmp[ITEM] += tmp[ITEM + n];
        BARRIER;
    }
    x = tmp[0];
    BARRIER;
    return x;
}

/* A NaN is passed over, as device/cpu/vmax.h does. */
FN float group_max(float x, LOCAL float *tmp)
{
    tmp[ITEM] = x;
    BARRIER;
    for (u32 n = ITEMS / 2; n > 0; n /= 2) {
        if (ITEM < n)
            tmp[ITEM] = tmp[ITEM + n] > tmp[ITEM] ? tmp[ITEM + n] : tmp[ITEM];
        BARRIER;
    }
    x = tmp[0];
    BARRIER;
    return x;
}

FN u32 group_min(u32 x, LOCAL u32 *tmp)
{
    tmp[ITEM] = x;
    BARRIER;
    for (u32 n = ITEMS / 2; n > 0; n /= 2) {
        if (ITEM < n)
            tmp[ITEM] = tmp[ITEM + n] < tmp[ITEM] ? tmp[ITEM + n] : tmp[ITEM];
        BARRIER;
    }
    x = tmp[0];
    BARRIER;
    return x;
}
