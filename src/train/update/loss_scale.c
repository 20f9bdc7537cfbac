#include "train/update/loss_scale.h"

#include <math.h>
#include <string.h>

#define SCALE_MIN 1.0f
#define SCALE_MAX 16384.0f

enum { FACTOR = 2, WINDOW = 2000, LOG_MAX = 16 };

static const double beta1 = 0.99, beta2 = 0.999, deviations = 3.09;

static enum loss_scale_rule rule_of(const char *name)
{
    if (strcmp(name, "static") == 0)
        return LOSS_SCALE_STATIC;
    if (strcmp(name, "backoff") == 0)
        return LOSS_SCALE_BACKOFF;
    return strcmp(name, "logmax") == 0 ? LOSS_SCALE_LOGMAX : LOSS_SCALE_NONE;
}

void loss_scale_begin(struct loss_scale *s, const char *rule, double fixed)
{
    *s = (struct loss_scale){.rule = rule_of(rule),
                             .scale = 1,
                             .last_overflow = -1,
                             .b1_correction = 1,
                             .b2_correction = 1};
    if (s->rule == LOSS_SCALE_STATIC)
        s->scale = (float)fixed;
    if (s->rule == LOSS_SCALE_BACKOFF)
        s->scale = SCALE_MAX;
}

static float clip(double scale)
{
    const float x = (float)scale;

    return x < SCALE_MIN ? SCALE_MIN : x > SCALE_MAX ? SCALE_MAX : x;
}

static void back_off(struct loss_scale *s, bool overflowed)
{
    if (overflowed) {
        s->scale = clip((double)s->scale / FACTOR);
        s->last_overflow = s->iteration;
    } else if ((s->iteration - s->last_overflow) % WINDOW == 0) {
        s->scale = clip((double)s->scale * FACTOR);
    }
}

static float averaged(float old, double beta, double x)
{
    return (float)(beta * (double)old + (1 - beta) * x);
}

/* A gradient of nothing but zeros says nothing about its range. */
static void log_max(struct loss_scale *s, double max_abs)
{
    const double x = isfinite(max_abs) ? log2(max_abs) : LOG_MAX;

    if (max_abs == 0)
        return;
    s->b1_correction *= (float)beta1;
    s->b2_correction *= (float)beta2;
    s->x_hat = averaged(s->x_hat, beta1, x);
    s->slow_x_hat = averaged(s->slow_x_hat, beta2, x);
    s->xsquared_hat = averaged(s->xsquared_hat, beta2, x * x);
    const double mean = (double)s->x_hat / (1 - (double)s->b1_correction);
    const double rest = 1 - (double)s->b2_correction;
    const double slow = (double)s->slow_x_hat / rest;
    const double variance = (double)s->xsquared_hat / rest - slow * slow;
    const double cutoff = mean + deviations * sqrt(variance > 0 ? variance : 0);
    s->scale = clip(exp2(LOG_MAX - cutoff));
}

void loss_scale_follow(struct loss_scale *s, double max_abs)
{
    if (s->rule == LOSS_SCALE_BACKOFF)
        back_off(s, !isfinite(max_abs));
    if (s->rule == LOSS_SCALE_LOGMAX)
        log_max(s, max_abs);
    s->iteration++;
}

status loss_scale_update(struct loss_scale *s, struct device *d, struct mat gradient,
                         double divisor, bool is_finite, struct err *err)
{
    double max = is_finite ? 1 : (double)INFINITY;

    if (is_finite && s->rule == LOSS_SCALE_LOGMAX) {
        d->k->maxabs(d, &max, gradient);
        TRY(device_sync(d, err));
        max /= divisor;
    }
    loss_scale_follow(s, max);
    return OK;
}
