/* The forecast as a page that needs nothing but itself: answer, pictures, tables. */
#include "plan/plan_views.h"

#include <math.h>
#include <stdio.h>

#include "page/fmt.h"
#include "page/page.h"
#include "page/plot.h"

/* The drawing of one step: WIDTH units for the whole of it, in two lanes. */
enum { WIDTH = 440, LANE = 20, GAP = 12, LEFT = 56 };

static void fact(struct str *out, const char *label, const char *value,
                 const char *detail)
{
    str_puts(out, "<li>");
    page_tag(out, "span", NULL, label);
    page_tag(out, "b", NULL, value);
    if (*detail)
        page_tag(out, "small", NULL, detail);
    str_puts(out, "</li>\n");
}

static void write_bill_facts(struct str *out, const struct plan_views *v)
{
    const struct forecast *f = v->forecast;
    const struct forecast_bill b = forecast_bill(f, &v->step);
    char detail[128], value[64];

    snprintf(detail, sizeof detail, "to %s steps", fmt_count(f->steps).s);
    fact(out, "Run", fmt_seconds(3600 * b.hours).s, detail);
    if (f->device.busy_watts > 0) {
        snprintf(value, sizeof value, "%.4g kWh", b.kwh);
        fact(out, "Energy", value, "of the devices alone");
    }
    if (f->options.price > 0 || f->options.price_kwh > 0) {
        snprintf(value, sizeof value, "%.2f", b.total);
        snprintf(detail, sizeof detail, "machines %.2f, energy %.2f", b.machines,
                 b.energy);
        fact(out, "Cost", value, detail);
    }
}

/* The reference beside Ferry's way, or the other way round. */
static void write_gain(struct str *out, const struct plan_views *v)
{
    const bool is_reference = v->forecast->variant.method == FORECAST_REFERENCE;
    const double theirs = v->way[SWEEP_REFERENCE].seconds;
    const double ours = is_reference ? v->way[SWEEP_BF16].seconds : v->step.sim.seconds;
    char detail[128], value[64];

    snprintf(value, sizeof value, "%.2f\u00a0\u00d7", theirs / ours);
    snprintf(detail, sizeof detail, "%s: %s a step on this cluster",
             is_reference ? "bf16, node first" : "its way",
             fmt_seconds(is_reference ? ours : theirs).s);
    fact(out, is_reference ? "Ferry's way" : "Against the reference", value, detail);
}

static void write_facts(struct str *out, const struct plan_views *v)
{
    const struct simulate_result *r = &v->step.sim;
    char detail[128];

    str_puts(out, "<ul class=\"facts\">\n");
    snprintf(detail, sizeof detail, "%.4g steps a second", 1 / r->seconds);
    fact(out, "Seconds a step", fmt_number(r->seconds, 4).s, detail);
    snprintf(detail, sizeof detail, "%s an update, %.0f %% of those computed",
             fmt_count(v->step.tokens).s, 100 * v->step.useful);
    fact(out, "Tokens a second", fmt_count(v->step.tokens / r->seconds).s, detail);
    snprintf(detail, sizeof detail, "each way a step; load %.0f %%",
             100 * v->step.card_load);
    fact(out, "Through each card", fmt_bytes(r->card_bytes).s, detail);
    fact(out, "Limit", forecast_limit_word(v->limits.limit), "what would help most");
    write_bill_facts(out, v);
    write_gain(out, v);
    str_puts(out, "</ul>\n");
}

static void block(struct str *out, double from, double to, double seconds, int lane,
                  int color, const char *what)
{
    const double scale = (WIDTH - LEFT) / seconds;

    str_printf(out,
               "<rect class=\"area c%d\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" "
               "height=\"%d\"><title>",
               color, LEFT + from * scale, lane * (LANE + GAP),
               fmax(0.5, (to - from) * scale - 1), LANE);
    page_textf(out, "%s: %s to %s", what, fmt_seconds(from).s, fmt_seconds(to).s);
    str_puts(out, "</title></rect>\n");
}

static void write_lanes(struct str *out, const struct plan_views *v)
{
    const struct simulate_result *r = &v->step.sim;
    const double T = r->seconds;
    const size_t n =
        r->n_buckets < SIMULATE_BUCKETS_MAX ? r->n_buckets : SIMULATE_BUCKETS_MAX;
    char name[128];

    block(out, 0, r->t_compute, T, 0, 1, "forward and backward");
    block(out, T - r->t_update, T, T, 0, 3, "update");
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "exchange %zu of %zu, %s elements", i + 1,
                 r->n_buckets, fmt_short(r->bucket[i].elements).s);
        block(out, r->bucket[i].t_begin, r->bucket[i].t_end, T, 1, i % 2 ? 4 : 2, name);
    }
}

static void write_step(struct str *out, const struct plan_views *v)
{
    const double T = v->step.sim.seconds;
    double tick[PLOT_TICKS_MAX];
    const size_t n_ticks = plot_ticks(tick, 0, T, 5);
    const int bottom = 2 * LANE + GAP;

    str_printf(out,
               "<h2>One step</h2>\n<figure style=\"max-width:640px\"><svg viewBox=\"0 0 "
               "%d %d\" role=\"img\" "
               "aria-label=\"one step in time\">\n",
               WIDTH + 8, bottom + 26);
    str_printf(out,
               "<text x=\"0\" y=\"%d\">device</text><text x=\"0\" y=\"%d\">network"
               "</text>\n",
               LANE - 8, 2 * LANE + GAP - 8);
    write_lanes(out, v);
    for (size_t i = 0; i < n_ticks; i++)
        str_printf(out,
                   "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
                   "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g%s</text>\n",
                   LEFT + tick[i] / T * (WIDTH - LEFT),
                   LEFT + tick[i] / T * (WIDTH - LEFT), bottom + 4, bottom + 8,
                   LEFT + tick[i] / T * (WIDTH - LEFT), bottom + 22, tick[i],
                   i ? "" : " s");
    str_puts(out, "</svg>\n");
    page_tagf(out, "figcaption", NULL,
              "Rank 0: computing %s, then waiting %s for the last exchange, then the "
              "update. Gradients leave in %zu exchanges in the order of backward; the "
              "embedding is final last.",
              fmt_seconds(v->step.sim.t_compute).s, fmt_seconds(v->step.sim.t_exposed).s,
              v->step.sim.n_buckets);
    str_puts(out, "</figure>\n");
}

/* Twice as fast, one resource at a time. */
static void write_limits(struct str *out, const struct plan_views *v)
{
    static const char *const name[] = {
        "devices twice as fast", "link twice as fast", "half the latency",
        "bus inside the nodes twice as fast", "no late devices"};
    struct str s = str_new(4096);

    str_puts(out, "<h2>What limits it</h2>\n<p>The ");
    plan_views_verdict(&s, v);
    page_text(out, str_text(&s));
    str_puts(out, ".</p>\n<table><tbody>\n");
    for (int i = 0; i < FORECAST_N_LIMITS; i++) {
        char text[128];
        snprintf(text, sizeof text, "%s a step, %.1f %% less",
                 fmt_seconds(v->limits.seconds[i]).s,
                 100 * (1 - v->limits.seconds[i] / v->step.sim.seconds));
        page_row(out, name[i], text);
    }
    str_puts(out, "</tbody></table>\n");
    str_release(&s);
}

static void head(struct str *out, const char *const *name, size_t n)
{
    str_puts(out, "<div style=\"overflow-x:auto\"><table><thead><tr>");
    for (size_t i = 0; i < n; i++)
        page_tag(out, "th", NULL, name[i]);
    str_puts(out, "</tr></thead><tbody>\n");
}

static void number(struct str *out, const char *fmt, double x)
{
    char text[64];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, fmt, x);
#pragma GCC diagnostic pop
    page_tag(out, "td", "narrow", text);
}

static void write_ways(struct str *out, const struct plan_views *v)
{
    static const char *const name[] = {
        "way",       "seconds a step",   "tokens a second",
        "MB a card", "load of the card", "times the reference"};
    const enum sweep_way own = sweep_own_way(v->forecast);

    str_puts(out, "<h2>The same cluster in other ways</h2>\n");
    head(out, name, 6);
    for (int i = 0; i < SWEEP_N_WAYS; i++) {
        const struct sweep_cell *c = &v->way[i];
        str_puts(out, "<tr>");
        page_tagf(out, "th", "narrow", "%s%s", sweep_way_name((enum sweep_way)i),
                  i == (int)own ? " (this plan)" : "");
        page_tag(out, "td", "narrow", fmt_number(c->seconds, 4).s);
        page_tag(out, "td", "narrow", fmt_count(c->tokens_per_s).s);
        number(out, "%.1f", c->card_bytes / 1e6);
        number(out, "%.0f %%", 100 * c->card_load);
        number(out, "%.2f", v->way[SWEEP_REFERENCE].seconds / c->seconds);
        str_puts(out, "</tr>\n");
    }
    str_puts(out, "</tbody></table></div>\n");
}

/* Curves over the same x, each with a name. */
enum { CURVES_MAX = 8 };
struct curves {
    struct series points[CURVES_MAX];
    struct plot_curve curve[CURVES_MAX];
    size_t n;
};

static void release(struct curves *c)
{
    for (size_t i = 0; i < CURVES_MAX; i++)
        series_release(&c->points[i]);
}

/* y of entry i of n, in steps of `stride` bytes from `first`. */
static status curve(struct curves *c, const char *name, enum plot_kind kind, int color,
                    const double *x, const double *first, size_t stride, size_t n,
                    struct err *err)
{
    struct series *s = &c->points[c->n];

    c->curve[c->n++] = (struct plot_curve){name, kind, color, PLOT_NO_BEST, s};
    for (size_t i = 0; i < n; i++) {
        const char *at = (const char *)first + i * stride;
        TRY(series_add(s, x[i], *(const double *)(const void *)at, err));
    }
    return OK;
}

static status draw(struct str *out, struct curves *c, struct plot p, struct err *err)
{
    p.curve = c->curve;
    p.n_curves = c->n;
    p.is_log_x = true;
    return plot_write(out, &p, err);
}

/* Steps by nodes or by rate: the cell [0][way] of a table of SWEEP_N_WAYS columns. */
static status way_curve(struct curves *c, enum sweep_way way, int color,
                        enum plot_kind kind, const double *x,
                        const struct sweep_cell *table, size_t n, size_t field,
                        struct err *err)
{
    const char *first = (const char *)&table[way] + field;

    return curve(c, sweep_way_name(way), kind, color, x,
                 (const double *)(const void *)first, SWEEP_N_WAYS * sizeof *table, n,
                 err);
}

struct chosen {
    enum sweep_way way;
    int color;
    enum plot_kind kind;
};

static const struct chosen by_wire[] = {{SWEEP_REFERENCE, 2, PLOT_POINTS},
                                        {SWEEP_NODE, 4, PLOT_POINTS},
                                        {SWEEP_BF16, 1, PLOT_POINTS},
                                        {SWEEP_INT8, 3, PLOT_POINTS}};
static const struct chosen by_shape[] = {{SWEEP_FLAT, 5, PLOT_POINTS},
                                         {SWEEP_NODE, 4, PLOT_POINTS},
                                         {SWEEP_TREE, 3, PLOT_POINTS},
                                         {SWEEP_BF16, 1, PLOT_POINTS}};
static const struct chosen by_overlap[] = {{SWEEP_REFERENCE, 2, PLOT_POINTS},
                                           {SWEEP_REFERENCE_SERIAL, 2, PLOT_DASHED},
                                           {SWEEP_BF16, 1, PLOT_POINTS},
                                           {SWEEP_BF16_SERIAL, 1, PLOT_DASHED}};

static status plot_ways(struct str *out, const struct chosen *list, struct plot p,
                        const double *x, const struct sweep_cell *table, size_t n,
                        size_t field, struct err *err)
{
    struct curves c = {.n = 0};
    status result = OK;

    for (size_t i = 0; i < 4 && result == OK; i++)
        result = way_curve(&c, list[i].way, list[i].color, list[i].kind, x, table, n,
                           field, err);
    if (result == OK)
        result = draw(out, &c, p, err);
    release(&c);
    return result;
}

static status write_node_plots(struct str *out, const struct sweep *s, struct err *err)
{
    const size_t seconds = offsetof(struct sweep_cell, seconds);
    const size_t efficiency = offsetof(struct sweep_cell, efficiency);
    const struct sweep_cell *table = s->by_nodes[0];
    double x[SWEEP_N_NODES];

    for (int i = 0; i < SWEEP_N_NODES; i++)
        x[i] = (double)s->nodes[i];
    TRY(plot_ways(out, by_wire,
                  (struct plot){.id = "wires",
                                .title = "Step time by wire",
                                .y_unit = "seconds a step",
                                .x_unit = "nodes",
                                .from_zero = true},
                  x, table, SWEEP_N_NODES, seconds, err));
    TRY(plot_ways(
        out, by_wire,
        (struct plot){.id = "efficiency",
                      .title = "Efficiency",
                      .y_unit = "share of a device alone",
                      .x_unit = "nodes",
                      .note =
                          "Each way against one device of its own that waits for nobody.",
                      .from_zero = true},
        x, table, SWEEP_N_NODES, efficiency, err));
    TRY(plot_ways(out, by_shape,
                  (struct plot){.id = "topologies",
                                .title = "Step time by topology",
                                .y_unit = "seconds a step",
                                .x_unit = "nodes",
                                .from_zero = true},
                  x, table, SWEEP_N_NODES, seconds, err));
    return plot_ways(out, by_overlap,
                     (struct plot){.id = "overlap",
                                   .title = "What overlap is worth",
                                   .y_unit = "seconds a step",
                                   .x_unit = "nodes",
                                   .from_zero = true},
                     x, table, SWEEP_N_NODES, seconds, err);
}

static status write_rate_plot(struct str *out, const struct sweep *s, struct err *err)
{
    double x[SWEEP_N_RATES];

    for (int i = 0; i < SWEEP_N_RATES; i++)
        x[i] = s->rates[i] / 1e6;
    return plot_ways(out, by_wire,
                     (struct plot){.id = "rates",
                                   .title = "Step time by link",
                                   .y_unit = "seconds a step",
                                   .x_unit = "Mb/s of the link",
                                   .is_log = true,
                                   .note = "The cluster as given."},
                     x, s->by_rate[0], SWEEP_N_RATES,
                     offsetof(struct sweep_cell, seconds), err);
}

static status write_jitter_plot(struct str *out, const struct sweep *s, struct err *err)
{
    static const char *const name[SWEEP_N_JITTER] = {"none", "1 % spread", "2 %",
                                                     "5 %",  "10 %",       "20 %"};
    struct curves c = {.n = 0};
    double x[SWEEP_N_NODES];
    status result = OK;

    for (int i = 0; i < SWEEP_N_NODES; i++)
        x[i] = (double)s->nodes[i];
    for (int j = 0; j < SWEEP_N_JITTER && result == OK; j++)
        result = curve(&c, name[j], PLOT_POINTS, 1 + (j + 5) % 6, x, s->by_jitter[j],
                       sizeof(double), SWEEP_N_NODES, err);
    if (result == OK)
        result = draw(out, &c,
                      (struct plot){.id = "stragglers",
                                    .title = "Stragglers",
                                    .y_unit = "seconds a step",
                                    .x_unit = "nodes",
                                    .note = "Standard deviation of each device's compute "
                                            "time; everybody waits for the last.",
                                    .from_zero = true},
                      err);
    release(&c);
    return result;
}

static status write_failure_plots(struct str *out, const struct sweep *s,
                                  const struct plan_views *v, struct err *err)
{
    const struct failures f =
        forecast_failures(v->forecast, v->step.n_nodes, v->step.n_parameters);
    const double mark = failures_daly(&f) / 60;
    double x[SWEEP_N_INTERVALS], formula[SWEEP_N_INTERVALS], played[SWEEP_N_INTERVALS];
    struct curves c = {.n = 0};

    for (int i = 0; i < SWEEP_N_INTERVALS; i++) {
        x[i] = s->interval[i] / 60;
        formula[i] = 100 * s->by_formula[i];
        played[i] = 100 * s->by_play[i];
    }
    status result =
        curve(&c, "formula", PLOT_LINE, 1, x, formula, sizeof *x, SWEEP_N_INTERVALS, err);
    if (result == OK)
        result = curve(&c, "simulated", PLOT_POINTS, 2, x, played, sizeof *x,
                       SWEEP_N_INTERVALS, err);
    if (result == OK)
        result = draw(out, &c,
                      (struct plot){.id = "interval",
                                    .title = "How often to save",
                                    .y_unit = "% of time lost",
                                    .x_unit = "minutes between saves",
                                    .mark = &mark,
                                    .n_marks = 1,
                                    .mark_name = "Daly's interval",
                                    .from_zero = true},
                      err);
    release(&c);
    return result;
}

static void write_nodes_table(struct str *out, const struct sweep *s)
{
    static const char *const name[] = {"nodes",
                                       "reference",
                                       "fp32",
                                       "bf16",
                                       "int8",
                                       "flat ring, fp32",
                                       "tree, bf16",
                                       "bf16, no overlap",
                                       "tokens a second, bf16",
                                       "efficiency, bf16"};
    static const enum sweep_way columns[] = {SWEEP_REFERENCE,  SWEEP_NODE, SWEEP_BF16,
                                             SWEEP_INT8,       SWEEP_FLAT, SWEEP_TREE,
                                             SWEEP_BF16_SERIAL};

    str_puts(out, "<h3 style=\"margin-top:36px\">Seconds a step</h3>\n");
    head(out, name, 10);
    for (int n = 0; n < SWEEP_N_NODES; n++) {
        const struct sweep_cell *c = s->by_nodes[n];
        str_puts(out, "<tr>");
        page_tag(out, "th", "narrow", fmt_count((double)s->nodes[n]).s);
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
            page_tag(out, "td", "narrow", fmt_number(c[columns[i]].seconds, 4).s);
        page_tag(out, "td", "narrow", fmt_count(c[SWEEP_BF16].tokens_per_s).s);
        number(out, "%.0f %%", 100 * c[SWEEP_BF16].efficiency);
        str_puts(out, "</tr>\n");
    }
    str_puts(out, "</tbody></table></div>\n");
}

static void write_failures_table(struct str *out, const struct plan_views *v)
{
    static const char *const name[] = {
        "nodes",     "a failure every",      "Young", "Daly", "simulated best",
        "time lost", "of it work done twice"};
    const struct sweep *s = v->sweep;

    str_puts(out, "<div style=\"height:24px\"></div>\n");
    page_tagf(out, "p", "quiet",
              "One machine fails every %s; a save stops training for %s, a restart takes "
              "%s. Best interval between saves by formula and as played.",
              v->forecast->options.mtbf, fmt_seconds(s->failures[0].save).s,
              fmt_seconds(s->failures[0].restart).s);
    head(out, name, 7);
    for (int n = 0; n < SWEEP_N_NODES; n++) {
        str_puts(out, "<tr>");
        page_tag(out, "th", "narrow", fmt_count((double)s->nodes[n]).s);
        page_tag(out, "td", "narrow", fmt_seconds(s->failures[n].mtbf).s);
        page_tag(out, "td", "narrow", fmt_seconds(s->young[n]).s);
        page_tag(out, "td", "narrow", fmt_seconds(s->daly[n]).s);
        page_tag(out, "td", "narrow", fmt_seconds(s->played[n]).s);
        number(out, "%.2f %%", 100 * s->overhead[n]);
        number(out, "%.2f %%", 100 * s->lost[n]);
        str_puts(out, "</tr>\n");
    }
    str_puts(out, "</tbody></table></div>\n");
}

static status write_sweeps(struct str *out, const struct plan_views *v, struct err *err)
{
    str_puts(out, "<h2>1 to 1,000 nodes</h2>\n<p class=\"quiet\">The same devices, the "
                  "same batch on each, the same link.</p>\n<div class=\"plots\">\n");
    TRY(write_node_plots(out, v->sweep, err));
    TRY(write_rate_plot(out, v->sweep, err));
    TRY(write_jitter_plot(out, v->sweep, err));
    str_puts(out, "</div>\n");
    write_nodes_table(out, v->sweep);
    str_puts(out, "<h2>Failures and checkpoints</h2>\n<div class=\"plots\">\n");
    TRY(write_failure_plots(out, v->sweep, v, err));
    str_puts(out, "</div>\n");
    write_failures_table(out, v);
    return OK;
}

static void row_number(struct str *out, const char *label, double x, const char *unit)
{
    char text[96];

    snprintf(text, sizeof text, "%.5g %s", x, unit);
    page_row(out, label, text);
}

/* What the numbers rest on. */
static void write_basis(struct str *out, const struct plan_views *v)
{
    const struct hardware_device *d = &v->forecast->device;

    str_puts(out, "<h2>What this rests on</h2>\n<table><tbody>\n");
    page_row(out, "device", d->title);
    if (v->forecast->options.compute_seconds > 0) {
        row_number(out, "measured step of one device",
                   v->forecast->options.compute_seconds, "s");
    } else if (d->step_gflops > 0) {
        row_number(out, "measured rate of a step", d->step_gflops, "GFLOP/s");
    } else {
        row_number(out, "published peak, fp32", d->fp32_tflops, "TFLOP/s");
        row_number(out, "published peak, 16 bits", d->mixed_tflops, "TFLOP/s");
        row_number(out, "share of it, fp32", 100 * d->share_fp32, "%");
        row_number(out, "share of it, 16 bits", 100 * d->share_mixed, "%");
    }
    row_number(out, "memory", d->memory_gb_per_s, "GB/s");
    row_number(out, "between devices of a node", d->inside_gb_per_s, "GB/s");
    page_row(out, "link", v->forecast->link.title);
    row_number(out, "operations of a device a step", v->step.operations / 1e12, "TFLOP");
    row_number(out, "parameters", v->step.n_parameters / 1e6, "million");
    str_puts(out, "</tbody></table>\n");
}

status plan_views_page(struct str *out, const struct plan_views *v, struct err *err)
{
    struct str s = str_new(4096);

    page_begin(out, "Ferry plan");
    page_tag(out, "p", "kicker", "Ferry plan");
    page_tag(out, "h1", NULL, v->config);
    plan_views_cluster(&s, v);
    str_puts(&s, ". Network: ");
    plan_views_link(&s, v);
    page_tagf(out, "p", "lead", "%s.", str_text(&s));
    str_release(&s);
    write_facts(out, v);
    write_step(out, v);
    write_limits(out, v);
    write_ways(out, v);
    if (v->sweep)
        TRY(write_sweeps(out, v, err));
    write_basis(out, v);
    page_end(out);
    return str_check(out, "the plan's page", err);
}
