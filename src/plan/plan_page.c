/* The forecast as a page that needs nothing but itself: answer, pictures, tables. */
#include "plan/plan.h"

#include <math.h>
#include <stdio.h>

#include "page/fmt.h"
#include "page/page.h"
#include "page/plot_axis.h"

/* The drawing of one step: WIDTH units for the whole of it, in two lanes. */
enum { WIDTH = 440, LANE = 20, GAP = 12, LEFT = 56 };

static void write_bill_facts(struct str *out, const struct plan *p)
{
    const struct forecast *f = p->forecast;
    const struct forecast_bill b = forecast_bill(f, &p->step);
    char value[64];

    page_fact(out, "Run", fmt_seconds(3600 * b.hours).s, "to %s steps",
              fmt_count(f->steps).s);
    snprintf(value, sizeof value, "%.4g kWh", b.kwh);
    if (f->device.busy_watts > 0)
        page_fact(out, "Energy", value, "of the devices alone");
    snprintf(value, sizeof value, "%.2f", b.total);
    if (f->options.price > 0 || f->options.price_kwh > 0)
        page_fact(out, "Cost", value, "machines %.2f, energy %.2f", b.machines, b.energy);
}

/* The reference beside Ferry's way, or the other way round. */
static void write_gain(struct str *out, const struct plan *p)
{
    const bool is_reference = p->forecast->variant.method == FORECAST_REFERENCE;
    const double theirs = p->way[SWEEP_REFERENCE].seconds;
    const double ours = is_reference ? p->way[SWEEP_BF16].seconds : p->step.sim.seconds;
    char value[64];

    snprintf(value, sizeof value, "%.2f\u00a0\u00d7", theirs / ours);
    page_fact(out, is_reference ? "Ferry's way" : "Against the reference", value,
              "%s: %s per step on this cluster",
              is_reference ? "bf16, node first" : "its way",
              fmt_seconds(is_reference ? ours : theirs).s);
}

static void write_facts(struct str *out, const struct plan *p)
{
    const struct simulate_result *r = &p->step.sim;

    str_puts(out, "<ul class=\"facts\">\n");
    page_fact(out, "Seconds per step", fmt_number(r->seconds, 4).s,
              "%.4g steps per second", 1 / r->seconds);
    page_fact(out, "Tokens per second", fmt_count(p->step.tokens / r->seconds).s,
              "%s per update; padding %.0f %%", fmt_count(p->step.tokens).s,
              100 * (1 - p->step.useful));
    page_fact(out, "Through each card", fmt_bytes(r->card_bytes).s,
              "each way per step; load %.0f %%", 100 * p->step.card_load);
    page_fact(out, "Limit", forecast_limit_words[p->limits.limit],
              "where an improvement helps most");
    write_bill_facts(out, p);
    write_gain(out, p);
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

static void write_lanes(struct str *out, const struct plan *p)
{
    const struct simulate_result *r = &p->step.sim;
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

static void write_step(struct str *out, const struct plan *p)
{
    const double T = p->step.sim.seconds;
    double tick[PLOT_AXIS_TICKS];
    const size_t n_ticks = plot_axis_ticks(tick, 0, T, 5);
    const int bottom = 2 * LANE + GAP;

    str_puts(out, "<figure><h3>Where the time goes</h3>\n<ul class=\"legend\">"
                  "<li><i class=\"c1\"></i>forward and backward</li>"
                  "<li><i class=\"c2\"></i><i class=\"c4\"></i>exchanges of gradients, "
                  "in turn</li>"
                  "<li><i class=\"c3\"></i>update of the weights</li></ul>\n");
    str_printf(out,
               "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"one step in "
               "time\">\n",
               WIDTH + 8, bottom + 26);
    str_printf(out,
               "<text x=\"0\" y=\"%d\">device</text><text x=\"0\" y=\"%d\">network"
               "</text>\n",
               LANE - 8, 2 * LANE + GAP - 8);
    write_lanes(out, p);
    for (size_t i = 0; i < n_ticks; i++) {
        const double x = LEFT + tick[i] / T * (WIDTH - LEFT);
        str_printf(out,
                   "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
                   "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g%s</text>\n",
                   x, x, bottom + 4, bottom + 8, x, bottom + 22, tick[i], i ? "" : " s");
    }
    str_puts(out, "</svg>\n");
    page_tagf(out, "figcaption", NULL,
              "Rank 0: computing %s, then waiting %s for the last exchange, then the "
              "update. Backward finishes gradients from the last layer to the first; "
              "they are sent in %zu exchanges, the embedding last.",
              fmt_seconds(p->step.sim.t_compute).s, fmt_seconds(p->step.sim.t_exposed).s,
              p->step.sim.n_buckets);
    str_puts(out, "</figure>\n");
}

/* Twice as fast, one resource at a time. */
static void write_limits(struct str *out, const struct plan *p)
{
    struct str s = str_new(4096);

    str_puts(out, "<div><h3>What limits it</h3>\n<p>The ");
    plan_text_verdict(&s, p);
    page_text(out, str_text(&s));
    str_puts(out, ".</p>\n<table><tbody>\n");
    for (int i = 0; i < FORECAST_N_LIMITS; i++) {
        char text[128];
        snprintf(text, sizeof text, "%s per step, %.1f %% less",
                 fmt_seconds(p->limits.seconds[i]).s,
                 100 * (1 - p->limits.seconds[i] / p->step.sim.seconds));
        page_row(out, plan_text_remedy[i], text);
    }
    str_puts(out, "</tbody></table></div>\n");
    str_release(&s);
}

static void cell(struct str *out, const char *text)
{
    page_tag(out, "td", NULL, text);
}

static void write_ways(struct str *out, const struct plan *p)
{
    static const char *const name[] = {
        "way",         "seconds per step", "tokens per second",
        "MB per card", "card load",        "speed-up over the reference",
        NULL};
    const enum sweep_way own = sweep_own_way(p->forecast);

    page_numbers(out, name);
    for (int i = 0; i < SWEEP_N_WAYS; i++) {
        const struct sweep_cell *c = &p->way[i];
        str_puts(out, "<tr>");
        page_tagf(out, "th", NULL, "%s%s", sweep_way_name((enum sweep_way)i),
                  i == (int)own ? " (this plan)" : "");
        cell(out, fmt_number(c->seconds, 4).s);
        cell(out, fmt_count(c->tokens_per_s).s);
        page_tagf(out, "td", NULL, "%.1f", c->card_bytes / 1e6);
        page_tagf(out, "td", NULL, "%.0f %%", 100 * c->card_load);
        page_tagf(out, "td", NULL, "%.2f", p->way[SWEEP_REFERENCE].seconds / c->seconds);
        str_puts(out, "</tr>\n");
    }
    page_numbers_end(out);
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
                                       "tokens per second, bf16",
                                       "efficiency, bf16",
                                       NULL};
    static const enum sweep_way columns[] = {SWEEP_REFERENCE,  SWEEP_NODE, SWEEP_BF16,
                                             SWEEP_INT8,       SWEEP_FLAT, SWEEP_TREE,
                                             SWEEP_BF16_SERIAL};

    str_puts(out, "<h3 class=\"apart\">Seconds per step</h3>\n");
    page_numbers(out, name);
    for (int n = 0; n < SWEEP_N_NODES; n++) {
        const struct sweep_cell *c = s->by_nodes[n];
        str_puts(out, "<tr>");
        page_tag(out, "th", NULL, fmt_count((double)s->nodes[n]).s);
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
            cell(out, fmt_number(c[columns[i]].seconds, 4).s);
        cell(out, fmt_count(c[SWEEP_BF16].tokens_per_s).s);
        page_tagf(out, "td", NULL, "%.0f %%", 100 * c[SWEEP_BF16].efficiency);
        str_puts(out, "</tr>\n");
    }
    page_numbers_end(out);
}

static void write_failures_table(struct str *out, const struct plan *p)
{
    static const char *const name[] = {
        "nodes",     "a failure every",       "Young", "Daly", "simulated best",
        "time lost", "of it work done twice", NULL};
    const struct sweep *s = p->sweep;

    page_numbers(out, name);
    for (int n = 0; n < SWEEP_N_NODES; n++) {
        str_puts(out, "<tr>");
        page_tag(out, "th", NULL, fmt_count((double)s->nodes[n]).s);
        cell(out, fmt_seconds(s->failures[n].mtbf).s);
        cell(out, fmt_seconds(s->young[n]).s);
        cell(out, fmt_seconds(s->daly[n]).s);
        cell(out, fmt_seconds(s->played[n]).s);
        page_tagf(out, "td", NULL, "%.2f %%", 100 * s->overhead[n]);
        page_tagf(out, "td", NULL, "%.2f %%", 100 * s->lost[n]);
        str_puts(out, "</tr>\n");
    }
    page_numbers_end(out);
}

/* What the plot and the table of failures count. */
static void write_failure_words(struct str *out, const struct plan *p)
{
    const struct failures *f = &p->sweep->failures[0];

    str_puts(out, "<div>");
    page_tagf(out, "p", NULL,
              "One machine fails every %s; a save stops training for %s, and a restart "
              "takes %s.",
              p->forecast->options.mtbf, fmt_seconds(f->save).s,
              fmt_seconds(f->restart).s);
    page_tag(out, "p", NULL,
             "Saving too often costs saves; saving too rarely costs work that is done "
             "again after a failure. Young and Daly gave formulas for the best interval; "
             "\u201csimulated\u201d plays failures at random and takes the interval that "
             "lost least.");
    str_puts(out, "</div>\n");
}

static status write_nodes(struct str *out, const struct plan *p, struct err *err)
{
    page_tag(out, "p", "quiet",
             "The same devices, the same batch on each, the same link.");
    str_puts(out, "<div class=\"plots\">\n");
    TRY(plan_curves_nodes(out, p->sweep, err));
    str_puts(out, "</div>\n");
    write_nodes_table(out, p->sweep);
    return OK;
}

static status write_failures(struct str *out, const struct plan *p, struct err *err)
{
    str_puts(out, "<div class=\"plots\">\n");
    TRY(plan_curves_failures(out, p, err));
    write_failure_words(out, p);
    str_puts(out, "</div>\n");
    write_failures_table(out, p);
    return OK;
}

static void row_number(struct str *out, const char *label, double x, const char *unit)
{
    char text[96];

    snprintf(text, sizeof text, "%.5g %s", x, unit);
    page_row(out, label, text);
}

/* What the numbers rest on. */
static void write_basis(struct str *out, const struct plan *p)
{
    const struct hardware_device *d = &p->forecast->device;

    str_puts(out, "<table><tbody>\n");
    page_row(out, "device", d->title);
    if (p->forecast->options.compute_seconds > 0) {
        row_number(out, "measured step of one device",
                   p->forecast->options.compute_seconds, "s");
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
    page_row(out, "link", p->forecast->link.title);
    row_number(out, "operations per device and step", p->step.operations / 1e12, "TFLOP");
    row_number(out, "parameters", p->step.n_parameters / 1e6, "million");
    str_puts(out, "</tbody></table>\n");
}

enum { STEP, WAYS, NODES, FAILURES, BASIS, N_HEADINGS };

static status write_sections(struct str *out, const struct plan *p,
                             const struct page_heading *heading, struct err *err)
{
    page_heading(out, &heading[STEP]);
    str_puts(out, "<div class=\"plots\">\n");
    write_step(out, p);
    write_limits(out, p);
    str_puts(out, "</div>\n");
    page_heading(out, &heading[WAYS]);
    write_ways(out, p);
    if (p->sweep) {
        page_heading(out, &heading[NODES]);
        TRY(write_nodes(out, p, err));
        page_heading(out, &heading[FAILURES]);
        TRY(write_failures(out, p, err));
    }
    page_heading(out, &heading[BASIS]);
    write_basis(out, p);
    return OK;
}

status plan_page(struct str *out, const struct plan *p, struct err *err)
{
    const struct page_heading heading[N_HEADINGS] = {
        [STEP] = {"step", "One step"},
        [WAYS] = {"ways", "Other ways to exchange"},
        [NODES] = {"nodes", p->sweep ? "1 to 1,000 nodes" : NULL},
        [FAILURES] = {"failures", p->sweep ? "Failures and checkpoints" : NULL},
        [BASIS] = {"basis", "What this rests on"}};
    struct str s = str_new(4096);

    page_begin(out, "Ferry plan");
    page_contents(out, heading, N_HEADINGS);
    page_tag(out, "p", "kicker", "Ferry plan");
    page_tag(out, "h1", NULL, p->config);
    plan_text_headline(&s, p);
    str_putc(&s, ' ');
    plan_text_basis(&s, p);
    page_tag(out, "p", "lead", str_text(&s));
    str_reset(&s);
    plan_text_cluster(&s, p);
    str_puts(&s, ". Network: ");
    plan_text_link(&s, p);
    page_tagf(out, "p", NULL, "%s.", str_text(&s));
    str_release(&s);
    page_tag(out, "p", "quiet",
             "The wire is what gradients travel on between machines, and fp32, bf16 and "
             "int8 are their formats on it. Node first: the devices of a machine sum "
             "among themselves before the machines do. The reference is NVIDIA's "
             "OpenSeq2Seq, which exchanges gradients by Horovod.");
    write_facts(out, p);
    TRY(write_sections(out, p, heading, err));
    page_end(out);
    return str_check(out, "the plan's page", err);
}
