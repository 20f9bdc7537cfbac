/* Bias, ReLU and dropout in place, one group a row; backward is in columns.h. */
#pragma once

#include "device/gpu/group.h"

KERNEL(ROW_ITEMS)
void relu_forward(GLOBAL stored *h, GLOBAL const stored *bias, GLOBAL const i32 *pair,
                  GLOBAL const i32 *pos, struct relu_args a)
{
    const u32 r = GROUP(0), row = hash_of_row(a.drop, pair, pos, r);

    for (u32 c = ITEM; c < a.h.cols; c += ITEMS) {
        const u64 i = AT(a.h, r, c);
        const float v = LOAD(h, i) + LOAD(bias, a.bias + c);
        /* a NaN passes: it must reach the loss */
        STORE(h, i, dropped(a.drop, row, c, v < 0 ? 0.0f : v));
    }
}
