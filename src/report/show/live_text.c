/* The screen of a run, line by line. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "page/fmt.h"
#include "report/judge/judgement.h"
#include "report/judge/network.h"
#include "report/show/live.h"

enum { LINE_MAX = 4096, AXIS = 8, CHART_LEAST = 4, RANKS_LEAST = 2, HOST = 14 };

enum look { PLAIN, BOLD, QUIET, ALARM };

/* The screen while it is filled, top to bottom. */
struct frame {
    struct str *out;
    const struct live_screen *screen;
    size_t n_lines;
};

/* Text without anything that a terminal obeys, cut at the right edge. No-break spaces
 * become plain ones, for terminals without UTF-8. */
static void put_clipped(struct frame *f, const char *text)
{
    const size_t n = strlen(text);
    size_t shown = 0;

    for (size_t at = 0, len; at < n; at += len) {
        const uint32_t code = utf8_decode(text + at, n - at, &len);
        shown += f->screen->has_utf8 ? utf8_columns(code) : 1;
        if (shown > f->screen->columns)
            break;
        if (!utf8_is_shown(code))
            str_putc(f->out, '?');
        else if (code == 0xA0)
            str_putc(f->out, ' ');
        else if (code < 0x80 || f->screen->has_utf8)
            str_add(f->out, text + at, len);
        else
            str_putc(f->out, code == 0x2212 ? '-' : '?');
    }
}

static void put_line(struct frame *f, enum look look, const char *text)
{
    static const char *const on[] = {"", "\033[1m", "\033[2m", "\033[33m"};

    if (f->n_lines == f->screen->rows)
        return;
    if (f->screen->has_color)
        str_puts(f->out, on[look]);
    put_clipped(f, text);
    if (f->screen->has_color && look != PLAIN)
        str_puts(f->out, "\033[0m");
    str_putc(f->out, '\n');
    f->n_lines++;
}

static void linef(struct frame *f, enum look look, const char *fmt, ...) PRINTF(3, 4);
static void linef(struct frame *f, enum look look, const char *fmt, ...)
{
    char text[LINE_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap); /* a line is cut anyway */
    va_end(ap);
    put_line(f, look, text);
}

/* n letters of which `part` are full. */
static const char *bar(char *out, size_t n, double part)
{
    const size_t full =
        isfinite(part) ? (size_t)lround(fmin(fmax(part, 0), 1) * (double)n) : 0;

    memset(out, '#', full);
    memset(out + full, '-', n - full);
    out[n] = '\0';
    return out;
}

static void put_head(struct frame *f, const struct judgement *j)
{
    const struct run *r = &j->run;
    const struct runlog_start *s = runlog_latest(&r->log);
    const bool runs = r->state == RUN_RUNNING && r->max_steps > r->step;
    const bool has_eta = runs && isfinite(r->times.to_go);
    char done[64];

    linef(f, BOLD, "%s  %s%s%s", r->name, run_state_words[r->state],
          s && s->device ? "  " : "", s && s->device ? s->device : "");
    if (isfinite(r->max_steps))
        linef(f, PLAIN, "step %s of %s  [%s]  %s%s%s", fmt_count(r->step).s,
              fmt_count(r->max_steps).s, bar(done, 24, r->step / r->max_steps),
              fmt_percent(r->step / r->max_steps).s, runs ? "  ETA " : "",
              has_eta ? fmt_seconds(r->times.to_go).s
              : runs  ? "too early"
                      : "");
    else
        linef(f, PLAIN, "step %s  wall time %s", fmt_count(r->step).s,
              fmt_seconds(r->times.wall).s);
}

/* How to go on where it stands, otherwise what it does. */
static void put_state(struct frame *f, const struct run *r)
{
    struct str text = str_new(LINE_MAX);

    run_state_command(&text, r);
    if (text.len) {
        linef(f, BOLD, "continue with: %s", str_text(&text));
    } else {
        run_state_say(&text, r);
        put_line(f, QUIET, str_text(&text));
    }
    str_release(&text);
}

static void put_numbers(struct frame *f, const struct judgement *j)
{
    const struct run *r = &j->run;
    const struct learning *l = &r->learning;
    const struct runlog_step *last =
        r->log.n_step ? &r->log.step[r->log.n_step - 1] : NULL;
    const struct runlog_start *s = runlog_latest(&r->log);

    linef(f, PLAIN, "loss %s  validation %s%s%s  BLEU %s  rate %s",
          fmt_number(last ? last->loss : NAN, 4).s,
          fmt_number(l->loss.n ? l->loss.y[l->loss.n - 1] : NAN, 4).s,
          l->loss.n ? " at step " : "",
          l->loss.n ? fmt_count(l->loss.x[l->loss.n - 1]).s : "",
          fmt_number(l->bleu.n ? l->bleu.y[l->bleu.n - 1] : NAN, 3).s,
          fmt_number(last ? last->rate : NAN, 3).s);
    linef(f, PLAIN, "%s tokens/s  %s GFLOP/s  %s of roof  trained? %s",
          fmt_count(last ? last->tokens_per_s : NAN).s,
          fmt_number(last ? last->gflops : NAN, 3).s,
          fmt_percent(s && last ? last->gflops / s->roof_gflops : NAN).s,
          learning_trends[l->trend].text);
}

/* ---- the chart: curves in letters, dots of a braille cell where there are any ---- */

enum { CHART_WIDE = 200, CHART_HIGH = 40 };

struct chart {
    size_t columns, rows; /* of letters, within the limits above */
    double lo, hi;        /* of the y axis, logarithmic */
    double x_lo, x_hi;
    bool is_empty;
    unsigned char dots[CHART_HIGH][CHART_WIDE]; /* eight in a cell */
    char mark[CHART_HIGH][CHART_WIDE];          /* a letter over them, or 0 */
};

static bool is_shown(double y)
{
    return isfinite(y) && y > 0;
}

static void widen(struct chart *c, const struct series *s)
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

static size_t place_x(const struct chart *c, double x, size_t n)
{
    return place(x, c->x_lo, c->x_hi, n);
}

/* From the top; a logarithmic axis shows small losses as well as large ones. */
static size_t place_y(const struct chart *c, double y, size_t n)
{
    return n - 1 - place(log(y), log(c->lo), log(c->hi), n);
}

/* Dot (x, y) of the grid that is twice as wide and four times as high. */
static void set_dot(struct chart *c, size_t x, size_t y)
{
    static const unsigned char bit[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

    c->dots[y / 4][x / 2] |= bit[y % 4][x % 2];
}

static void draw_line(struct chart *c, const struct series *s)
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
        const double from = (double)(is_open ? last_y : y);
        for (size_t k = 1; k <= steps; k++) {
            const double part = (double)k / (double)steps;
            set_dot(c, x - steps + k, (size_t)lround(from + part * ((double)y - from)));
        }
        is_open = true;
        last_x = x;
        last_y = y;
    }
}

/* `line` as dots joined up, `points` as the letter o over them. */
static void draw_chart(struct chart *c, const struct series *line,
                       const struct series *points)
{
    memset(c->dots, 0, sizeof c->dots);
    memset(c->mark, 0, sizeof c->mark);
    c->lo = c->x_lo = INFINITY;
    c->hi = c->x_hi = -INFINITY;
    c->columns = c->columns < CHART_WIDE ? c->columns : CHART_WIDE;
    c->rows = c->rows < CHART_HIGH ? c->rows : CHART_HIGH;
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

/* One row of it in `out`: UTF-8 or ASCII. */
static void put_chart_row(const struct chart *c, size_t row, bool has_utf8,
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

static void put_chart(struct frame *f, const struct judgement *j, size_t rows)
{
    struct chart c = {
        .columns = f->screen->columns > AXIS + 2 ? f->screen->columns - AXIS - 1 : 1,
        .rows = rows};
    struct str line = str_new(LINE_MAX);

    draw_chart(&c, &j->run.learning.train, &j->run.learning.loss);
    put_line(f, QUIET,
             "training loss (dots) and validation loss (o), logarithmic, by step");
    for (size_t i = 0; i < c.rows && !c.is_empty; i++) {
        str_reset(&line);
        const struct fmt end = fmt_number(i == 0 ? c.hi : c.lo, 3);
        str_printf(&line, "%*.*s|", AXIS - 1, AXIS - 1,
                   i == 0 || i + 1 == c.rows ? end.s : "");
        put_chart_row(&c, i, f->screen->has_utf8, &line);
        put_line(f, PLAIN, str_text(&line));
    }
    if (c.is_empty)
        put_line(f, PLAIN, "  no loss was logged yet");
    else
        linef(f, QUIET, "%*s%s%*s", AXIS, "", fmt_count(c.x_lo).s,
              (int)(c.columns - strlen(fmt_count(c.x_lo).s)), fmt_count(c.x_hi).s);
    str_release(&line);
}

static void put_phases(struct frame *f, const struct judgement *j)
{
    const struct run_pace *p = &j->run.pace;

    if (!(p->mean > 0)) {
        put_line(f, PLAIN, "no step was timed yet");
        return;
    }
    /* Whole percents: 80 columns must do. */
    linef(f, PLAIN,
          "step %s, p95 %s: compute %.0f %%, exchange %.0f %%, data %.0f %%, update %.0f "
          "%%",
          fmt_seconds(p->mean).s, fmt_seconds(p->p95).s, 100 * p->t_compute / p->mean,
          100 * p->t_comm / p->mean, 100 * p->t_data / p->mean,
          100 * p->t_update / p->mean);
}

static void put_network(struct frame *f, const struct judgement *j)
{
    struct network w;

    network_judge(&w, &j->run);
    if (w.verdict == NETWORK_NONE || w.verdict == NETWORK_UNKNOWN)
        return;
    linef(f, PLAIN, "network the bottleneck? %s; %s of %s MB/s (%s Mb/s)",
          network_verdicts[w.verdict].text, fmt_number(1e-6 * w.rate, 3).s,
          fmt_number(1e-6 * w.capacity, 3).s, fmt_number(8e-6 * w.rate, 3).s);
}

/* The letters of a host's name that fit its column, and blanks for the rest of it. */
static const char *host_column(char out[4 * HOST + 1], const char *host)
{
    size_t columns;
    const size_t n = utf8_fit(host, strlen(host), HOST, (size_t)4 * HOST, &columns);

    memcpy(out, host, n);
    memset(out + n, ' ', HOST - columns);
    out[n + HOST - columns] = '\0';
    return out;
}

static void put_ranks(struct frame *f, const struct judgement *j, size_t n_shown)
{
    const struct rank_means *r = &j->run.by_rank;

    if (!r->n)
        return;
    put_line(f, QUIET,
             "rank host             a step  compute     wait     data cores   MiB");
    for (size_t i = 0; i < r->n && i < n_shown; i++) {
        const struct rank_mean *m = &r->of[i];
        char host[4 * HOST + 1];
        linef(f, i == r->slowest && r->n > 1 ? BOLD : PLAIN,
              "%4.0f %s %8.3fs %7.1f%% %7.1f%% %7.1f%% %5.2f %5.0f", m->rank,
              host_column(host, m->host ? m->host : "?"), m->t_step,
              100 * m->t_compute / m->t_step, 100 * m->t_comm / m->t_step,
              100 * m->t_data / m->t_step, m->cores, m->memory_mib);
    }
    if (r->n > n_shown)
        linef(f, QUIET, "     and %zu more rank%s; rank %.0f is the slowest",
              r->n - n_shown, r->n - n_shown == 1 ? "" : "s", r->of[r->slowest].rank);
}

static void put_findings(struct frame *f, const struct judgement *j)
{
    for (size_t i = 0; i < j->health.n; i++)
        linef(f, ALARM, "! %s: %s", j->health.found[i].title,
              str_text(&j->health.found[i].evidence));
    if (!j->health.n)
        put_line(f, QUIET, "nothing stands out");
}

/* The chart takes what the rest leaves: head 5, chart's own 2, phases and network 2,
 * ranks with a heading, findings. */
status live_text(struct str *out, const struct judgement *j,
                 const struct live_screen *screen, struct err *err)
{
    struct frame f = {.out = out, .screen = screen};
    const size_t findings = j->health.n ? j->health.n : 1;
    const size_t fixed = 5 + 2 + 2 + (findings < 4 ? findings : 4);
    const size_t rows = screen->rows > fixed ? screen->rows - fixed : 0;
    const size_t n_ranks = j->run.by_rank.n;
    size_t ranks = n_ranks ? n_ranks + 1 : 0;

    if (ranks + CHART_LEAST + 1 > rows)
        ranks = rows > CHART_LEAST + 2 + RANKS_LEAST ? rows - CHART_LEAST : 0;
    put_head(&f, j);
    put_state(&f, &j->run);
    put_numbers(&f, j);
    if (rows >= ranks + CHART_LEAST)
        put_chart(&f, j, rows - ranks);
    put_phases(&f, j);
    put_network(&f, j);
    if (ranks > 1)
        put_ranks(&f, j, ranks - 1 < n_ranks ? ranks - 2 : n_ranks);
    put_findings(&f, j);
    return str_check(out, "the screen", err);
}
