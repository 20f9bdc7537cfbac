/*
 * plot_axis - one axis of a plot: its range, round ticks and their labels.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "page/fmt.h"

enum { PLOT_AXIS_TICKS = 16 };

struct plot_axis {
    double lo, hi;
    bool is_log;
    double tick[PLOT_AXIS_TICKS];
    size_t n_ticks;
    double divide; /* tick labels show value / divide, then suffix */
    char suffix[4];
    int exponent; /* of ten, told in the axis' unit; 0 for none */
};

/* Round positions inside [lo, hi], about `want` of them; returns their number. */
size_t plot_axis_ticks(double out[PLOT_AXIS_TICKS], double lo, double hi, size_t want);

/* Range (widened to what reads well), ticks and labels, from lo, hi and is_log. */
void plot_axis_choose_x(struct plot_axis *x);
void plot_axis_choose_y(struct plot_axis *y, bool from_zero);

struct fmt plot_axis_label(const struct plot_axis *a, double v);
/* Where v lies between `from` (its lo) and `to` (its hi). */
double plot_axis_place(const struct plot_axis *a, double v, double from, double to);
