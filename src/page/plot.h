/*
 * plot - a line plot as one <figure> of HTML and SVG.
 *
 * The drawing is 400 units wide and scales with the page, so that its letters stay
 * readable on a phone (390 pixels) and on a desk (two plots side by side). Colours are
 * classes of page_style. Series of any length are thinned to what can be seen, and keep
 * their extremes; a value that is not finite, or not positive on a logarithmic axis, is
 * a gap. A line that lies on an earlier one is dashed, so that both colours show, and the
 * legend says which it lies on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "page/series.h"

enum plot_kind {
    PLOT_LINE,
    PLOT_THIN,   /* a line that is one of many samples: training loss */
    PLOT_POINTS, /* line and filled points: evaluations */
    PLOT_DOTS,   /* filled points without a line: what a curve is fitted to */
    PLOT_DASHED, /* dashed line and hollow points: evaluations of another kind */
    PLOT_RULE,   /* dashed line without points: limits */
    PLOT_BAND,   /* wide and pale, beneath a line that should follow it */
    PLOT_AREA    /* filled down to the axis; later curves are painted over earlier */
};

enum plot_best { PLOT_NO_BEST, PLOT_BEST_LOW, PLOT_BEST_HIGH };

struct plot_curve {
    const char *name; /* NULL: not in the legend */
    enum plot_kind kind;
    int color; /* 1..6 */
    enum plot_best best;
    const struct series *points;
};

struct plot {
    const char *id; /* anchor in the page */
    const char *title;
    const char *y_unit; /* what the y axis counts */
    const char *x_unit;
    const char *note; /* caption; NULL for none */
    const struct plot_curve *curve;
    size_t n_curves;
    const double *mark; /* vertical marks at these x, named in the legend */
    size_t n_marks;
    const char *mark_name;
    bool is_log;    /* the y axis */
    bool is_log_x;  /* points at x <= 0 are gaps */
    bool from_zero; /* linear only */
};

/* Append the figure to `out`; a plot without a finite value says so in words. */
status plot_write(struct str *out, const struct plot *p, struct err *err);
