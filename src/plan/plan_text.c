/* The forecast for a terminal: the answer first, then the tables around it. */
#include "plan/plan.h"

#include <math.h>
#include <string.h>

#include "page/fmt.h"

const char *const plan_text_remedy[] = {
    "devices twice as fast", "a link twice as fast", "half the latency",
    "a bus twice as fast inside the nodes", "no late devices"};

/* "2 nodes of 2 V100" or "2 nodes with 1, 2 V100". */
void plan_text_cluster(struct str *out, const struct plan *p)
{
    static const char *const topology[] = {"one flat ring", "node first", "trees"};
    const struct forecast *f = p->forecast;
    bool is_even = true;

    for (size_t i = 1; i < f->n_given; i++)
        is_even = is_even && f->per_node[i] == f->per_node[0];
    str_printf(out, "%zu node%s ", f->n_given, f->n_given == 1 ? "" : "s");
    if (is_even)
        str_printf(out, "of %d", f->per_node[0]);
    else
        str_printf(out, "with %s", f->options.per_node);
    str_printf(out, " \u00d7 %s, ", f->device.title);
    if (f->variant.method == FORECAST_REFERENCE)
        str_puts(out, "the reference's way (Horovod, fp32, one flat ring, padded");
    else
        str_printf(out, "Ferry's way (%s on the wire, %s, no padding",
                   wire_name(f->variant.wire), topology[f->variant.topology]);
    str_printf(out, "%s), %.4g pairs per device in %s",
               f->variant.overlaps ? "" : ", no overlap", f->variant.batch,
               f->variant.is_mixed ? "mixed precision" : "fp32");
}

void plan_text_link(struct str *out, const struct plan *p)
{
    const struct forecast *f = p->forecast;
    const double rate = f->variant.rate;

    if (f->n_given < 2) {
        str_puts(out, "one node: no network");
        return;
    }
    if (f->is_seen && rate >= 999 * f->rate_seen) {
        str_printf(out,
                   "%s/s taken as the mean rate of a card; the step needs less, so the "
                   "link is no limit",
                   fmt_bytes(f->rate_seen).s);
        return;
    }
    if (f->is_seen)
        str_printf(out, "%s/s taken as the mean rate of a card; while it sends, it ",
                   fmt_bytes(f->rate_seen).s);
    else
        str_printf(out, "%s, which ", f->options.network);
    str_printf(out, "carries %s/s (%.0f Mb/s) of data each way, latency %s",
               fmt_bytes(rate).s, rate * 8e-6, fmt_seconds(f->variant.latency).s);
}

void plan_text_verdict(struct str *out, const struct plan *p)
{
    const double now = p->step.sim.seconds;

    str_printf(out, "%s: with %s a step would take %s instead of %s",
               forecast_limit_words[p->limits.limit], plan_text_remedy[p->limits.limit],
               fmt_seconds(p->limits.seconds[p->limits.limit]).s, fmt_seconds(now).s);
    if (p->limits.limit != FORECAST_NETWORK && p->forecast->n_given > 1)
        str_printf(out, ", with a link twice as fast %s",
                   fmt_seconds(p->limits.seconds[FORECAST_NETWORK]).s);
}

static void line(struct str *out, const char *label, const char *text)
{
    str_printf(out, "%-10s %s\n", label, text);
}

static void write_answer(struct str *out, const struct plan *p)
{
    const struct simulate_result *r = &p->step.sim;
    struct str s = str_new(4096);

    plan_text_cluster(&s, p);
    line(out, "config", p->config);
    line(out, "cluster", str_text(&s));
    str_reset(&s);
    plan_text_link(&s, p);
    line(out, "network", str_text(&s));
    str_printf(out,
               "step       %.4g s, %.4g steps per second: compute %.4g s, waiting for "
               "the exchange %.4g s, update %.4g s\n",
               r->seconds, 1 / r->seconds, r->t_compute, r->t_exposed, r->t_update);
    str_printf(out,
               "tokens     %s per second, %s per update, %.0f %% of those computed\n",
               fmt_count(p->step.tokens / r->seconds).s, fmt_count(p->step.tokens).s,
               100 * p->step.useful);
    str_printf(out,
               "card       %.4g MB each way per step, %.4g MB/s = %.4g Mb/s on "
               "average, %.0f %% of what it can carry\n",
               r->card_bytes / 1e6, r->card_bytes / r->seconds / 1e6,
               8 * r->card_bytes / r->seconds / 1e6, 100 * p->step.card_load);
    str_reset(&s);
    plan_text_verdict(&s, p);
    line(out, "limit", str_text(&s));
    str_release(&s);
}

static void write_bill(struct str *out, const struct plan *p)
{
    const struct forecast *f = p->forecast;
    const struct forecast_bill b = forecast_bill(f, &p->step);

    str_printf(out, "run        %.4g hours to %s steps", b.hours, fmt_count(f->steps).s);
    if (f->device.busy_watts > 0)
        str_printf(out, ", %.4g kWh of the devices", b.kwh);
    if (f->options.price > 0 || f->options.price_kwh > 0)
        str_printf(out, ", cost %.2f (machines %.2f, energy %.2f)", b.total, b.machines,
                   b.energy);
    str_putc(out, '\n');
}

static void write_ways(struct str *out, const struct plan *p)
{
    const enum sweep_way own = sweep_own_way(p->forecast);

    str_puts(out,
             "\nthe same cluster in other ways\n"
             "                              s/step   tokens/s   MB/card   load  gain\n");
    for (int i = 0; i < SWEEP_N_WAYS; i++) {
        const struct sweep_cell *c = &p->way[i];
        str_printf(out, "%c %-26s %8.4g %10.0f %9.1f %5.0f%% %5.2f\n",
                   i == (int)own ? '*' : ' ', sweep_way_name((enum sweep_way)i),
                   c->seconds, c->tokens_per_s, c->card_bytes / 1e6, 100 * c->card_load,
                   p->way[SWEEP_REFERENCE].seconds / c->seconds);
    }
}

static void write_nodes(struct str *out, const struct sweep *s)
{
    str_puts(out, "\nseconds per step by nodes, the same batch on every device\n"
                  "nodes  reference      fp32      bf16      int8  flat fp32 tree bf16  "
                  "no overlap  bf16 tokens/s  efficiency\n");
    for (int n = 0; n < SWEEP_N_NODES; n++) {
        const struct sweep_cell *c = s->by_nodes[n];
        str_printf(out,
                   "%5zu  %9.4g %9.4g %9.4g %9.4g  %9.4g %9.4g %11.4g %14.0f %10.0f%%\n",
                   s->nodes[n], c[SWEEP_REFERENCE].seconds, c[SWEEP_NODE].seconds,
                   c[SWEEP_BF16].seconds, c[SWEEP_INT8].seconds, c[SWEEP_FLAT].seconds,
                   c[SWEEP_TREE].seconds, c[SWEEP_BF16_SERIAL].seconds,
                   c[SWEEP_BF16].tokens_per_s, 100 * c[SWEEP_BF16].efficiency);
    }
}

static void write_jitter(struct str *out, const struct sweep *s)
{
    str_puts(out,
             "\nseconds per step when compute times spread (standard deviation)\nnodes");
    for (int j = 0; j < SWEEP_N_JITTER; j++)
        str_printf(out, " %8.0f%%", 100 * s->jitter[j]);
    str_putc(out, '\n');
    for (int n = 0; n < SWEEP_N_NODES; n++) {
        str_printf(out, "%5zu", s->nodes[n]);
        for (int j = 0; j < SWEEP_N_JITTER; j++)
            str_printf(out, " %9.4g", s->by_jitter[j][n]);
        str_putc(out, '\n');
    }
}

static void write_failures(struct str *out, const struct plan *p)
{
    const struct sweep *s = p->sweep;

    str_printf(out,
               "\nfailures, one machine in %s; a save takes %.3g s, a restart %.3g s; "
               "the best interval between saves\n"
               "nodes   fails every     Young s      Daly s  simulated s  time lost  "
               "of it work\n",
               p->forecast->options.mtbf, s->failures[0].save, s->failures[0].restart);
    for (int n = 0; n < SWEEP_N_NODES; n++)
        str_printf(out, "%5zu %10.4g h  %10.4g  %10.4g   %10.4g %9.2f%% %10.2f%%\n",
                   s->nodes[n], s->failures[n].mtbf / 3600, s->young[n], s->daly[n],
                   s->played[n], 100 * s->overhead[n], 100 * s->lost[n]);
}

status plan_text(struct str *out, const struct plan *p, struct err *err)
{
    write_answer(out, p);
    write_bill(out, p);
    write_ways(out, p);
    if (p->sweep) {
        write_nodes(out, p->sweep);
        write_jitter(out, p->sweep);
        write_failures(out, p);
    }
    return str_check(out, "the plan", err);
}
