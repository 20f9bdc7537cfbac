/*
 * y = x in the type of y. A CPU keeps 16-bit numbers in reals, so that a cast rounds: to
 * the device's precision when y is a MAT_HALF, and not at all otherwise. What is too
 * large becomes the largest finite number.
 */
#include "device/cpu/cpu.h"
#include "device/half.h"

static real rounded(real x, enum precision to)
{
    if (to == PRECISION_FP16)
        return (real)half_to(half_from(half_clip((float)x)));
    return to == PRECISION_BF16 ? (real)half_to_b(half_from_b((float)x)) : x;
}

static void cast_each(real *const at[], size_t n, void *how)
{
    const enum precision to = *(const enum precision *)how;

    for (size_t c = 0; c < n; c++)
        at[0][c] = rounded(at[1][c], to);
}

void CPU(cast)(struct device *d, struct mat y, struct mat x)
{
    enum precision to = y.type == MAT_HALF ? d->precision : PRECISION_FP32;

    CPU(each)(d, (struct mat[]){y, x}, 2, cast_each, &to);
}
