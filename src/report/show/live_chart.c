#include "report/show/live_chart.h"

#include <math.h>
#include <string.h>

#include "base/utf8.h"

static bool is_shown(double y)
{
    return isfinite(y) && y > 0;
}

static void widen(struct live_chart *c, const struct series *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (!is_shown(s->y[i]))
            continue;
        c->lo = fmin(c->lo, s->y[i]);
        c->hi = fmax(c->hi, s->y[i]);
        c->x_lo = fmin(c->x_lo, s->x[i]);
        c->x_hi = fmax(c->x_hi, s->x[i]);
    }
}

/* Where a value lies in n places, the first being `from`. */
static size_t place(double v, double from, double to, size_t n)
{
    const double part = to > from ? (v - from) / (to - from) : 0.5;

    return (size_t)lround(fmin(fmax(part, 0), 1) * (double)(n - 1));
}

static size_t place_x(const struct live_chart *c, double x, size_t n)
{
    return place(x, c->x_lo, c->x_hi, n);
}

/* From the top; a logarithmic axis shows small losses as well as large ones. */
static size_t place_y(const struct live_chart *c, double y, size_t n)
{
    return n - 1 - place(log(y), log(c->lo), log(c->hi), n);
}

/* Dot (x, y) of the grid that is twice as wide and four times as high. */
static void set_dot(struct live_chart *c, size_t x, size_t y)
{
    static const unsigned char bit[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

    c->dots[y / 4][x / 2] |= bit[y % 4][x % 2];
}

static void draw_line(struct live_chart *c, const struct series *s)
{
    const size_t wide = 2 * c->columns, high = 4 * c->rows;
    bool is_open = false;
    size_t last_x = 0, last_y = 0;

    for (size_t i = 0; i < s->n; i++) {
        if (!is_shown(s->y[i])) {
            is_open = false;
            continue;
        }
        const size_t x = place_x(c, s->x[i], wide), y = place_y(c, s->y[i], high);
        const size_t steps = is_open && x > last_x ? x - last_x : 1;
        for (size_t k = is_open ? 1 : steps; k <= steps; k++) {
            const double part = (double)k / (double)steps;
            const double mid = is_open
                                   ? (double)last_y + part * ((double)y - (double)last_y)
                                   : (double)y;
            set_dot(c, is_open ? x - steps + k : x, (size_t)lround(mid));
        }
        is_open = true;
        last_x = x;
        last_y = y;
    }
}

void live_chart_draw(struct live_chart *c, const struct series *line,
                     const struct series *points)
{
    memset(c->dots, 0, sizeof c->dots);
    memset(c->mark, 0, sizeof c->mark);
    c->lo = c->x_lo = INFINITY;
    c->hi = c->x_hi = -INFINITY;
    c->columns = c->columns < LIVE_CHART_WIDE ? c->columns : LIVE_CHART_WIDE;
    c->rows = c->rows < LIVE_CHART_HIGH ? c->rows : LIVE_CHART_HIGH;
    widen(c, line);
    widen(c, points);
    c->is_empty = !(c->lo <= c->hi) || !c->columns || !c->rows;
    if (c->is_empty)
        return;
    draw_line(c, line);
    for (size_t i = 0; i < points->n; i++)
        if (is_shown(points->y[i]))
            c->mark[place_y(c, points->y[i], c->rows)]
                   [place_x(c, points->x[i], c->columns)] = 'o';
}

void live_chart_row(const struct live_chart *c, size_t row, bool has_utf8,
                    struct str *out)
{
    for (size_t x = 0; x < c->columns; x++) {
        char bytes[4];
        if (c->mark[row][x])
            str_putc(out, c->mark[row][x]);
        else if (!c->dots[row][x])
            str_putc(out, ' ');
        else if (has_utf8)
            str_add(out, bytes, utf8_encode(bytes, 0x2800 + c->dots[row][x]));
        else
            str_putc(out, '.');
    }
}
