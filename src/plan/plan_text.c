/* The forecast for a terminal: the answer first, then the tables around it. */
#include "plan/plan.h"

#include <math.h>
#include <string.h>

#include "page/fmt.h"
#include "plan/amount.h"

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
    if (f->variant.is_sharded)
        str_puts(out, ", optimizer sharded");
    if (f->variant.local_steps > 1)
        str_printf(out, ", nodes exchange every %.0f steps", f->variant.local_steps);
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

/* ---- the verdict ---- */

double plan_speedup(const struct plan *p)
{
    return p->alone.sim.seconds / p->step.sim.seconds; /* of the same update */
}

/* "two", "16" */
static struct fmt count_word(size_t n)
{
    static const char *const words[] = {"no",  "one",   "two",   "three", "four", "five",
                                        "six", "seven", "eight", "nine",  "ten"};

    return n < sizeof words / sizeof *words ? fmt_printf("%s", words[n])
                                            : fmt_count((double)n);
}

/* As many digits as the model deserves. */
static struct fmt times(double x)
{
    return fmt_printf(x < 10 ? "%.1f" : "%.0f", x);
}

/* The link as its owner calls it: "1 Gb/s", "205 MB/s". */
static struct fmt link_name(const struct forecast *f)
{
    struct amount_rate rate = {0};
    struct err ignored;

    BUG_ON(amount_rate(&rate, f->options.network, &ignored) != OK); /* read before */
    const double bits = 8 * rate.bytes_per_s;
    if (!rate.is_bits)
        return fmt_printf("%s/s", fmt_bytes(rate.bytes_per_s).s);
    return bits >= 1e9 ? fmt_printf("%.4g Gb/s", bits / 1e9)
                       : fmt_printf("%.4g Mb/s", bits / 1e6);
}

static void one_machine(struct str *out, const struct plan *p)
{
    const struct forecast *f = p->forecast;
    const double seconds = p->step.sim.seconds;

    str_printf(out, "One machine trains on %s tokens per second",
               fmt_count(round(p->step.tokens / seconds)).s);
    if (f->tokens > 0)
        str_printf(out, " and needs %s for %s tokens", fmt_seconds(seconds * f->steps).s,
                   fmt_short(f->tokens).s);
    str_putc(out, '.');
}

void plan_text_headline(struct str *out, const struct plan *p)
{
    static const double SAME = 0.05; /* what the model cannot tell apart */
    const struct fmt n = count_word(p->step.n_nodes), at = link_name(p->forecast);
    const double gain = plan_speedup(p);
    const double share = p->step.sim.t_exposed / p->step.sim.seconds;

    if (p->step.n_nodes == 1) {
        one_machine(out, p);
        return;
    }
    if (gain < 1 - SAME)
        str_printf(out, "At %s, one machine is %s times as fast as %s", at.s,
                   times(1 / gain).s, n.s);
    else if (gain <= 1 + SAME)
        str_printf(out, "At %s, %s machines are only as fast as one", at.s, n.s);
    else
        str_printf(out, "At %s, %s machines are %s times as fast as one", at.s, n.s,
                   times(gain).s);
    if (share < 0.005)
        str_puts(out, "; the exchange is hidden behind the computation.");
    else
        str_printf(out, "; waiting for the network is %.0f %% of a step.", 100 * share);
}

void plan_text_basis(struct str *out, const struct plan *p)
{
    const struct forecast *f = p->forecast;
    const char *title = f->device.title;

    if (f->options.compute_seconds > 0)
        str_printf(out, "The time of a step on one device is as given, %s.",
                   fmt_seconds(f->options.compute_seconds).s);
    else if (*f->options.bench)
        str_printf(out, "The speed of a device is the one that %s measured.",
                   f->options.bench);
    else if (f->device.is_measured)
        str_printf(out,
                   "The device is one that was measured, %s; for yours give bench=FILE.",
                   title);
    else
        str_printf(out,
                   "No %s was ever measured with Ferry: the speed of the device is "
                   "computed from published numbers.",
                   title);
}

void plan_text_run(struct str *out, const struct plan *p)
{
    const struct forecast *f = p->forecast;
    const struct forecast_training *t = &f->training;
    const bool is_planned = t->planned.pairs > 0 || t->planned.tokens > 0;

    str_printf(out, "%.4g hours for %s tokens: %s updates of %s tokens",
               forecast_bill(f, &p->step).hours, fmt_short(f->tokens).s,
               fmt_count(round(f->steps)).s, fmt_short(p->step.tokens).s);
    if (is_planned && !(f->options.tokens > 0) && !(t->max_epochs > 0) &&
        fabs(f->steps - t->max_steps) > 0.5)
        str_printf(out, ", as many tokens as the config's %s updates have",
                   fmt_count(t->max_steps).s);
}

/* ---- the rest ---- */

static void line(struct str *out, const char *label, const char *text)
{
    str_printf(out, "%-10s %s\n", label, text);
}

static void write_answer(struct str *out, const struct plan *p)
{
    const struct simulate_result *r = &p->step.sim;
    struct str s = str_new(4096);

    plan_text_headline(&s, p);
    str_puts(&s, "\n");
    plan_text_basis(&s, p);
    str_printf(out, "%s\n\n", str_text(&s));
    str_reset(&s);
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

    str_puts(out, "run        ");
    plan_text_run(out, p);
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

/* Messages that a node sends for one bucket, about; and those of the busiest rank for
 * what is summed behind the last one. */
static double bucket_messages(size_t n_nodes, size_t n_rows)
{
    const double n = (double)n_nodes, rows = (double)n_rows;

    return 2 * (ceil(n / rows) + rows - 2);
}

static void write_many(struct str *out, const struct sweep *s)
{
    str_puts(out, "\nwhat the number of nodes costs (bf16, node first), beside direct "
                  "exchange and sums through the first rank\n"
                  "nodes  rows  messages/bucket  direct   sums ms  first rank ms   "
                  "s/step  s/step so  waiting\n");
    for (int n = 1; n < SWEEP_N_NODES; n++) {
        const struct sweep_cell *c = &s->by_nodes[n][SWEEP_BF16], *b = &s->before[n];
        str_printf(out, "%5zu %5zu %16.0f %7.0f %9.3g %14.3g %8.4g %10.4g %7.0f%%\n",
                   s->nodes[n], c->n_rows, bucket_messages(s->nodes[n], c->n_rows),
                   bucket_messages(s->nodes[n], 1), 1e3 * c->t_tree, 1e3 * b->t_tree,
                   c->seconds, b->seconds, 100 * c->exposed / c->seconds);
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
        write_many(out, p->sweep);
        write_jitter(out, p->sweep);
        write_failures(out, p);
    }
    return str_check(out, "the plan", err);
}
