/*
 * y = x in the type of y. A CPU keeps 16-bit numbers in reals, so that a cast rounds: to
 * the device's precision when y is a MAT_HALF, and not at all otherwise. What is too
 * large becomes the largest finite number.
 */
#include "device/cpu/cpu.h"
#include "device/cpu/span.h"
#include "device/half.h"

struct job {
    struct mat y, x;
    enum precision precision;
};

static real rounded(real x, enum precision to)
{
    if (to == PRECISION_FP16)
        return (real)half_to(half_from(half_clip((float)x)));
    return to == PRECISION_BF16 ? (real)half_to_b(half_from_b((float)x)) : x;
}

static void cast_part(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const struct pool_range range = pool_split(j->y.rows * j->y.cols, part, n_parts);

    for (size_t i = range.begin; i < range.end;) {
        const struct span s = span_at(j->y.cols, i, range.end);
        real *y = (real *)j->y.mem + span_offset(j->y, s);
        const real *x = (const real *)j->x.mem + span_offset(j->x, s);
        for (size_t c = 0; c < s.n; c++)
            y[c] = rounded(x[c], j->precision);
        i += s.n;
    }
}

void CPU(cast)(struct device *d, struct mat y, struct mat x)
{
    struct job j = {y, x, y.type == MAT_HALF ? d->precision : PRECISION_FP32};

    pool_run(d->pool, cast_part, &j);
}
