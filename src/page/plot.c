#include "page/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page/fmt.h"
#include "page/page.h"
#include "page/plot_axis.h"

/* The drawing: WIDTH x HEIGHT units, the data between LEFT..RIGHT and TOP..BOTTOM. */
enum { WIDTH = 400, HEIGHT = 236, LEFT = 44, RIGHT = 390, TOP = 26, BOTTOM = 200 };
enum { BUCKETS = 240, POINTS_MAX = 60 };

/* Beyond this a difference of two values may overflow; such a value is a gap. */
static const double HUGE_VALUE = 1e300;

struct frame {
    struct plot_axis x, y;
};

static bool is_shown(const struct plot *p, double x, double y)
{
    return isfinite(y) && fabs(y) < HUGE_VALUE && (!p->is_log || y > 0) && isfinite(x) &&
           (!p->is_log_x || x > 0);
}

/* The smallest frame around every point that can be shown; false when there is none. */
static bool find_range(const struct plot *p, struct frame *f)
{
    f->x = (struct plot_axis){.lo = INFINITY, .hi = -INFINITY, .is_log = p->is_log_x};
    f->y = (struct plot_axis){.lo = INFINITY, .hi = -INFINITY, .is_log = p->is_log};
    for (size_t c = 0; c < p->n_curves; c++) {
        const struct series *s = p->curve[c].points;
        for (size_t i = 0; i < s->n; i++) {
            if (!is_shown(p, s->x[i], s->y[i]))
                continue;
            f->x.lo = fmin(f->x.lo, s->x[i]);
            f->x.hi = fmax(f->x.hi, s->x[i]);
            f->y.lo = fmin(f->y.lo, s->y[i]);
            f->y.hi = fmax(f->y.hi, s->y[i]);
        }
    }
    return f->x.lo <= f->x.hi;
}

static double at_x(const struct frame *f, double v)
{
    return plot_axis_place(&f->x, v, LEFT, RIGHT);
}

static double at_y(const struct frame *f, double v)
{
    return plot_axis_place(&f->y, v, BOTTOM, TOP);
}

/* "x 10^e" in the digits that stand high. */
static void write_unit(struct str *out, const char *unit, int exponent)
{
    static const char *const high[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                                       "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
    const struct fmt digits = fmt_printf("%d", exponent);

    page_text(out, unit);
    if (!exponent)
        return;
    str_puts(out, " \u00d7 10");
    for (const char *d = digits.s; *d; d++)
        str_puts(out, *d == '-' ? "\u207b" : high[*d - '0']);
}

static void write_axes(struct str *out, const struct plot *p, const struct frame *f)
{
    for (size_t i = 0; i < f->y.n_ticks; i++) {
        const double y = at_y(f, f->y.tick[i]);
        str_printf(out,
                   "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                   "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                   LEFT, RIGHT, y, y, LEFT - 6, y + 4,
                   plot_axis_label(&f->y, f->y.tick[i]).s);
    }
    str_printf(out, "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n",
               LEFT, RIGHT, BOTTOM, BOTTOM);
    for (size_t i = 0; i < f->x.n_ticks; i++) {
        const double x = at_x(f, f->x.tick[i]);
        str_printf(out,
                   "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
                   "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>\n",
                   x, x, BOTTOM, BOTTOM + 4, x, BOTTOM + 17,
                   x > RIGHT - 12 ? "end" : "middle",
                   plot_axis_label(&f->x, f->x.tick[i]).s);
    }
    str_puts(out, "<text x=\"0\" y=\"11\">");
    write_unit(out, p->y_unit, f->y.exponent);
    str_printf(out, "</text>\n<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", RIGHT,
               HEIGHT - 3);
    write_unit(out, p->x_unit, f->x.exponent);
    str_puts(out, "</text>\n");
}

static void write_marks(struct str *out, const struct plot *p, const struct frame *f)
{
    for (size_t i = 0; i < p->n_marks; i++) {
        if (!(p->mark[i] >= f->x.lo && p->mark[i] <= f->x.hi))
            continue;
        const double x = at_x(f, p->mark[i]);
        str_printf(out,
                   "<line class=\"mark\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\">"
                   "<title>",
                   x, x, TOP, BOTTOM);
        page_textf(out, "%s at %s %s", p->mark_name, p->x_unit, fmt_count(p->mark[i]).s);
        str_puts(out, "</title></line>\n");
    }
}

/* class of the path, and of its points; NULL for none */
static const struct {
    const char *path, *point;
} looks[] = {
    [PLOT_LINE] = {"line", NULL},          [PLOT_THIN] = {"line thin", NULL},
    [PLOT_POINTS] = {"line", "dot"},       [PLOT_DOTS] = {NULL, "dot"},
    [PLOT_DASHED] = {"line dash", "ring"}, [PLOT_RULE] = {"line dash", NULL},
    [PLOT_BAND] = {"line band", NULL},     [PLOT_AREA] = {"area", NULL},
};

/* Whether a reader could take two lines for one. */
static bool is_same_line(const struct plot *p, const struct frame *f,
                         const struct plot_curve *a, const struct plot_curve *b)
{
    const struct series *s = a->points, *t = b->points;
    size_t n = 0;

    if (s->n != t->n || !looks[a->kind].path || !looks[b->kind].path ||
        a->kind >= PLOT_BAND || b->kind >= PLOT_BAND)
        return false;
    for (size_t i = 0; i < s->n; i++) {
        const bool shown = is_shown(p, s->x[i], s->y[i]);
        if (shown != is_shown(p, t->x[i], t->y[i]))
            return false;
        if (!shown)
            continue;
        if (fabs(at_x(f, s->x[i]) - at_x(f, t->x[i])) > 1 ||
            fabs(at_y(f, s->y[i]) - at_y(f, t->y[i])) > 1.5)
            return false;
        n++;
    }
    return n >= 2;
}

/* The earlier curve that a named one lies on; NULL for none. `f` NULL: nothing is drawn.
 */
static const struct plot_curve *beneath(const struct plot *p, const struct frame *f,
                                        const struct plot_curve *c)
{
    for (const struct plot_curve *b = p->curve; f && c->name && b < c; b++)
        if (b->name && is_same_line(p, f, b, c))
            return b;
    return NULL;
}

/* How a curve is drawn: dashed on top of another. */
static struct plot_curve as_drawn(const struct plot *p, const struct frame *f,
                                  const struct plot_curve *c)
{
    struct plot_curve drawn = *c;

    if (beneath(p, f, c))
        drawn.kind = PLOT_RULE;
    return drawn;
}

/* One subpath for each run of points that can be shown. */
static void write_path(struct str *out, const struct plot *p, const struct frame *f,
                       const struct plot_curve *c, const struct series *s)
{
    const bool is_area = c->kind == PLOT_AREA;
    bool is_open = false;
    double last_x = 0;

    if (!looks[c->kind].path)
        return;
    str_printf(out, "<path class=\"%s c%d\" d=\"", looks[c->kind].path, c->color);
    for (size_t i = 0; i < s->n; i++) {
        const bool shown = is_shown(p, s->x[i], s->y[i]);
        if (is_open && !shown && is_area)
            str_printf(out, "L%.1f %dZ", last_x, BOTTOM);
        if (shown) {
            last_x = at_x(f, s->x[i]);
            const double y = at_y(f, s->y[i]);
            if (!is_open && is_area)
                str_printf(out, "M%.1f %dL%.1f %.1f", last_x, BOTTOM, last_x, y);
            else if (!is_open)
                str_printf(out, "M%.1f %.1fh0", last_x, y); /* a lone point is a dot */
            else
                str_printf(out, "L%.1f %.1f", last_x, y);
        }
        is_open = shown;
    }
    if (is_open && is_area)
        str_printf(out, "L%.1f %dZ", last_x, BOTTOM);
    str_puts(out, "\"/>\n");
}

static void write_points(struct str *out, const struct plot *p, const struct frame *f,
                         const struct plot_curve *c, const struct series *s)
{
    const char *css = looks[c->kind].point;

    if (!css || (s->n > POINTS_MAX && c->kind != PLOT_DOTS))
        return;
    for (size_t i = 0; i < s->n; i++) {
        if (!is_shown(p, s->x[i], s->y[i]))
            continue;
        str_printf(out,
                   "<circle class=\"%s c%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>",
                   css, c->color, at_x(f, s->x[i]), at_y(f, s->y[i]));
        page_textf(out, "%s, %s %s: %s", c->name ? c->name : "", p->x_unit,
                   fmt_count(s->x[i]).s, fmt_number(s->y[i], 4).s);
        str_puts(out, "</title></circle>\n");
    }
}

/* Index of the curve's best point; the number of points when none is to be marked. */
static size_t best_point(const struct plot *p, const struct plot_curve *c)
{
    const struct series *s = c->points;
    const size_t i = series_best(s, c->best == PLOT_BEST_HIGH ? -1 : 1);

    return c->best == PLOT_NO_BEST || i == s->n || !is_shown(p, s->x[i], s->y[i]) ? s->n
                                                                                  : i;
}

/* A ring around the best point; its value stands in the legend, where nothing is hidden
 * by it. */
static void write_best(struct str *out, const struct plot *p, const struct frame *f,
                       const struct plot_curve *c)
{
    const struct series *s = c->points;
    const size_t i = best_point(p, c);

    if (i < s->n)
        str_printf(out, "<circle class=\"best\" cx=\"%.1f\" cy=\"%.1f\" r=\"5.5\"/>",
                   at_x(f, s->x[i]), at_y(f, s->y[i]));
}

#define KEY "<li><svg class=\"key\" viewBox=\"0 0 22 10\" aria-hidden=\"true\">"

static void write_best_key(struct str *out, const struct plot *p,
                           const struct plot_curve *c)
{
    const struct series *s = c->points;
    const size_t i = best_point(p, c);

    if (i == s->n)
        return;
    str_puts(out, KEY "<circle class=\"best\" cx=\"11\" cy=\"5\" r=\"4\"/></svg>");
    page_textf(out, "best %s at %s", fmt_number(s->y[i], 4).s, fmt_count(s->x[i]).s);
    str_puts(out, "</li>");
}

static void write_key(struct str *out, const struct plot_curve *c,
                      const struct plot_curve *under)
{
    if (!c->name)
        return;
    if (c->kind == PLOT_AREA) {
        str_printf(out, "<li><i class=\"c%d\"></i>", c->color);
    } else {
        str_puts(out, KEY);
        if (looks[c->kind].path)
            str_printf(out, "<path class=\"%s c%d\" d=\"M1 5H21\"/>", looks[c->kind].path,
                       c->color);
        if (looks[c->kind].point)
            str_printf(out, "<circle class=\"%s c%d\" cx=\"11\" cy=\"5\" r=\"3.2\"/>",
                       looks[c->kind].point, c->color);
        str_puts(out, "</svg>");
    }
    page_textf(out, "%s", c->name);
    if (series_best(c->points, 1) == c->points->n)
        page_tag(out, "span", "quiet", " (missing)");
    if (under)
        page_tagf(out, "span", "quiet", " (same line as %s)", under->name);
    str_puts(out, "</li>");
}

static void write_legend(struct str *out, const struct plot *p, const struct frame *f)
{
    str_puts(out, "<ul class=\"legend\">");
    for (size_t c = 0; c < p->n_curves; c++) {
        const struct plot_curve drawn = as_drawn(p, f, &p->curve[c]);
        write_key(out, &drawn, beneath(p, f, &p->curve[c]));
    }
    for (size_t c = 0; c < p->n_curves; c++)
        write_best_key(out, p, &p->curve[c]);
    if (p->n_marks) {
        str_puts(out, KEY "<path class=\"mark\" d=\"M11 0V10\"/></svg>");
        page_text(out, p->mark_name);
        str_puts(out, "</li>");
    }
    str_puts(out, "</ul>\n");
}

static status write_curve(struct str *out, const struct plot *p, const struct frame *f,
                          const struct plot_curve *c, struct err *err)
{
    const bool is_few = c->points->n <= BUCKETS; /* to draw them, wherever they lie */
    struct series thin = {0};

    if (!is_few)
        TRY(series_thin(&thin, c->points, BUCKETS, err));
    write_path(out, p, f, c, is_few ? c->points : &thin);
    write_points(out, p, f, c, is_few ? c->points : &thin);
    series_release(&thin);
    return OK;
}

static status write_drawing(struct str *out, const struct plot *p, const struct frame *f,
                            struct err *err)
{
    str_printf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH,
               HEIGHT);
    page_textf(out, "%s, %s by %s", p->title, p->y_unit, p->x_unit);
    str_puts(out, "\">\n");
    write_axes(out, p, f);
    for (size_t c = 0; c < p->n_curves; c++) {
        const struct plot_curve drawn = as_drawn(p, f, &p->curve[c]);
        TRY(write_curve(out, p, f, &drawn, err));
    }
    write_marks(out, p, f);
    for (size_t c = 0; c < p->n_curves; c++)
        write_best(out, p, f, &p->curve[c]);
    str_puts(out, "</svg>\n");
    return OK;
}

status plot_write(struct str *out, const struct plot *p, struct err *err)
{
    struct frame f;
    const bool has_values = find_range(p, &f);

    if (has_values) {
        plot_axis_choose_x(&f.x);
        plot_axis_choose_y(&f.y, p->from_zero);
    }
    str_puts(out, "<figure id=\"");
    page_text(out, p->id);
    str_puts(out, "\">\n");
    page_tag(out, "h3", NULL, p->title);
    write_legend(out, p, has_values ? &f : NULL);
    if (has_values)
        TRY(write_drawing(out, p, &f, err));
    else
        page_tag(out, "p", "none", "The log holds no value for this plot.");
    if (p->note)
        page_tag(out, "figcaption", NULL, p->note);
    str_puts(out, "</figure>\n");
    return str_check(out, p->title, err);
}
