/* The bias of a product, one group a row, and its gradient; formulas: device/cpu/bias.c.
 */
#pragma once

#include "device/gpu/columns.h"

KERNEL(ROW_ITEMS)
void bias_forward(GLOBAL stored *y, GLOBAL const stored *bias, struct relu_args a)
{
    const u32 r = GROUP(0);

    for (u32 c = ITEM; c < a.h.cols; c += ITEMS) {
        const u64 i = AT(a.h, r, c);
        STORE(y, i, LOAD(y, i) + LOAD(bias, a.bias + c));
    }
}

KERNEL(COLUMN_ITEMS)
void bias_columns(GLOBAL float *part, GLOBAL const stored *dy, struct columns_args a)
{
    SHARED(float, tmp, COLUMN_ITEMS);
    const u32 c = GROUP(0) * COLUMN_WIDTH + ITEM % COLUMN_WIDTH;
    float sum = 0;

    if (c < a.x.cols)
        FOR_SHARE(r, a, a.x.rows)
        {
            sum += LOAD(dy, AT(a.x, r, c));
        }
    column_store(part, a, 0, a.x.cols, sum, tmp);
}
