/*
 * loss_scale - the factor of the loss in mixed precision, and how it follows overflows.
 *
 * The gradient of a loss times S uses the range of a half; the optimizer divides by S.
 * With the reference's constants:
 *
 *   static    S = loss_scale
 *   backoff   S begins at 2^14, its limit; halved when an update overflows, doubled when
 *             2000 updates went by without
 *   logmax    S = 2^(16 - (mean + 3.09 deviations)) of log2 max |gradient|, both of them
 *             moving averages; between 1 and 2^14, at first 1
 *
 * The reference's LogMax takes 2^16 for the logarithm of an overflow's maximum, which
 * holds S at 1 for thousands of updates; here it is 16, the logarithm of that.
 *
 * Owns: nothing; the struct is part of a checkpoint. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "device/device.h"

enum loss_scale_rule {
    LOSS_SCALE_NONE,
    LOSS_SCALE_STATIC,
    LOSS_SCALE_BACKOFF,
    LOSS_SCALE_LOGMAX
};

struct loss_scale {
    enum loss_scale_rule rule;
    float scale;
    int64_t iteration;     /* updates tried, overflows too */
    int64_t last_overflow; /* -1: never one */
    float x_hat, slow_x_hat, xsquared_hat, b1_correction, b2_correction;
};

/* rule: none, static, backoff or logmax; `fixed` is the scale of static. */
void loss_scale_begin(struct loss_scale *s, const char *rule, double fixed);

/* What gradients are multiplied by now; 1 where nothing was begun. */
static inline double loss_scale_factor(const struct loss_scale *s)
{
    return s->scale > 0 ? (double)s->scale : 1;
}

/* After an update: max_abs is the largest magnitude of the mean gradient, unscaled; not
 * finite means that the update overflowed and was skipped. */
void loss_scale_follow(struct loss_scale *s, double max_abs);

/* The same with the summed gradient, which is `divisor` times the mean and the scale. */
status loss_scale_update(struct loss_scale *s, struct device *d, struct mat gradient,
                         double divisor, bool is_finite, struct err *err);
