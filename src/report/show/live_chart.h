/* live_chart - curves in letters: dots of a braille cell where the terminal has them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "page/series.h"

enum { LIVE_CHART_WIDE = 200, LIVE_CHART_HIGH = 40 };

struct live_chart {
    size_t columns, rows; /* of letters, within the limits above */
    double lo, hi;        /* of the y axis, logarithmic */
    double x_lo, x_hi;
    bool is_empty;
    unsigned char dots[LIVE_CHART_HIGH][LIVE_CHART_WIDE]; /* eight in a cell */
    char mark[LIVE_CHART_HIGH][LIVE_CHART_WIDE];          /* a letter over them, or 0 */
};

/* `line` as dots joined up, `points` as the letter o over them. */
void live_chart_draw(struct live_chart *c, const struct series *line,
                     const struct series *points);
/* One row of it in `out`: UTF-8 or ASCII. */
void live_chart_row(const struct live_chart *c, size_t row, bool has_utf8,
                    struct str *out);
