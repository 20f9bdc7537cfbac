#include "page/plot_axis.h"

#include <math.h>
#include <stdio.h>

static double nice_step(double span, size_t want)
{
    const double raw = span / (double)(want ? want : 1);
    const double unit = pow(10, floor(log10(raw)));

    if (raw <= unit * 1.0000001)
        return unit;
    if (raw <= 2 * unit)
        return 2 * unit;
    return raw <= 5 * unit ? 5 * unit : 10 * unit;
}

/* The multiples of `step` in [lo, hi]. */
static size_t ticks_of(double out[PLOT_AXIS_TICKS], double lo, double hi, double step)
{
    const double slack = 1e-9 * (hi - lo);
    size_t n = 0;

    if (!(step > 0) || !isfinite(step))
        return 0;
    for (double i = ceil((lo - slack) / step); n < PLOT_AXIS_TICKS; i++) {
        const double at = i * step;
        if (!(at <= hi + slack))
            break;
        out[n++] = fabs(at) < slack ? 0 : at;
        if (i + 1 == i) /* values so large that steps vanish */
            break;
    }
    return n;
}

size_t plot_axis_ticks(double out[PLOT_AXIS_TICKS], double lo, double hi, size_t want)
{
    return ticks_of(out, lo, hi, nice_step(hi - lo, want));
}

/* Powers of ten, with round numbers between them when the decades are few. */
static size_t log_ticks(double out[PLOT_AXIS_TICKS], double lo, double hi)
{
    static const double many[] = {1, 1.5, 2, 3, 4, 6, 8}, few[] = {1, 2, 5};
    const double decades = log10(hi / lo);
    const bool is_fine = decades < 1;
    const double *mantissa = is_fine ? many : few;
    const size_t n_mantissas = is_fine ? 7 : decades < 2.2 ? 3 : 1;
    const int stride = decades > 8 ? (int)ceil(decades / 8) : 1;
    size_t n = 0;

    for (int e = (int)floor(log10(lo)); e <= log10(hi); e += stride)
        for (size_t m = 0; m < n_mantissas; m++) {
            const double at = mantissa[m] * pow(10, e);
            if (at >= lo && at <= hi && n < PLOT_AXIS_TICKS)
                out[n++] = at;
        }
    return n >= 2 ? n : plot_axis_ticks(out, lo, hi, 4);
}

static void choose_labels(struct plot_axis *a)
{
    static const char *const suffix[] = {"", "\u00a0k", "\u00a0M", "\u00a0G", "\u00a0T"};
    const double top = fmax(fabs(a->lo), fabs(a->hi));
    const int magnitude = top > 0 ? (int)floor(log10(top)) : 0;
    const int thousands = magnitude / 3;

    a->divide = 1;
    if (magnitude >= 4 && magnitude < 15) {
        snprintf(a->suffix, sizeof a->suffix, "%s", suffix[thousands]);
        a->divide = pow(1000, thousands);
    } else if (!a->is_log && (magnitude >= 15 || magnitude < -3)) {
        a->exponent = magnitude;
        a->divide = pow(10, magnitude);
    }
}

/* Digits after the point that tell neighbouring ticks apart. */
static int tick_decimals(const struct plot_axis *a)
{
    const double step = a->n_ticks > 1 ? (a->tick[1] - a->tick[0]) / a->divide : 0.1;
    const double digits = ceil(-log10(step) - 1e-6);

    return digits > 0 ? (int)fmin(digits, 9) : 0;
}

struct fmt plot_axis_label(const struct plot_axis *a, double v)
{
    if (a->is_log)
        return v < 1e6 ? fmt_printf("%g", v) : fmt_short(v);
    if (v == 0.0)
        return fmt_printf("0");
    return fmt_printf("%s%.*f%s", v < 0 ? "\u2212" : "", tick_decimals(a),
                      fabs(v) / a->divide, a->suffix);
}

static void widen(struct plot_axis *a)
{
    const double half = a->lo == 0.0 ? 1 : fabs(a->lo) * 0.1;

    if (a->hi - a->lo > 1e-12 * fabs(a->hi))
        return;
    a->lo -= half;
    a->hi += half;
}

void plot_axis_choose_y(struct plot_axis *y, bool from_zero)
{
    if (y->is_log) {
        const double pad = pow(y->hi / y->lo, 0.05) * 1.05;
        y->lo /= pad;
        y->hi *= pad;
        y->n_ticks = log_ticks(y->tick, y->lo, y->hi);
    } else {
        if (from_zero && y->lo > 0)
            y->lo = 0;
        widen(y);
        const double step = nice_step(y->hi - y->lo, 4);
        y->lo = floor(y->lo / step + 1e-9) * step;
        y->hi = ceil(y->hi / step - 1e-9) * step;
        y->n_ticks = ticks_of(y->tick, y->lo, y->hi, step);
    }
    choose_labels(y);
}

void plot_axis_choose_x(struct plot_axis *x)
{
    if (x->is_log && x->lo == x->hi) {
        x->lo /= 2;
        x->hi *= 2;
    } else if (!x->is_log) {
        if (x->lo >= 0 && x->lo < 0.5 * x->hi)
            x->lo = 0;
        widen(x);
    }
    x->n_ticks = x->is_log ? log_ticks(x->tick, x->lo, x->hi)
                           : plot_axis_ticks(x->tick, x->lo, x->hi, 5);
    choose_labels(x);
}

double plot_axis_place(const struct plot_axis *a, double v, double from, double to)
{
    const double part =
        a->is_log ? log(v / a->lo) / log(a->hi / a->lo) : (v - a->lo) / (a->hi - a->lo);

    return from + (to - from) * fmin(fmax(part, 0), 1);
}
