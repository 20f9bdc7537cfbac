/* The network: was it the bottleneck, and does the step follow it? */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "page/series.h"
#include "report/judge/answers.h"
#include "report/judge/estimate.h"
#include "report/judge/network.h"
#include "report/judge/run.h"

/* A rate in both units that people mix up. */
static struct fmt both(double bytes_per_s)
{
    if (!isfinite(bytes_per_s))
        return fmt_number(NAN, 3);
    return fmt_printf("%s\u00a0MB/s = %s\u00a0Mb/s", fmt_number(1e-6 * bytes_per_s, 3).s,
                      fmt_number(8e-6 * bytes_per_s, 3).s);
}

/* True when there is nothing to judge: one process, one host, or nothing known. */
static bool has_no_network(struct answer *a, const struct run *run,
                           const struct network *w)
{
    if (w->verdict == NETWORK_NONE) {
        a->code = "none";
        answers_number(a, "no network");
        if (!isfinite(run->pace.t_comm) && run->ranks != 1)
            answers_say(a, ANSWER_PLAIN,
                        "All ranks ran on one host: no byte passed a network.");
        else if (run->ranks > 1)
            answers_say(a, ANSWER_PLAIN,
                        "%s ranks ran on one host: no byte passed a network. A step "
                        "waited %s for %s.",
                        run->ranks == 2 ? "Both"
                                        : fmt_printf("All %s", fmt_count(run->ranks).s).s,
                        fmt_seconds(run->pace.t_comm).s,
                        run->ranks == 2 ? "the other rank" : "the other ranks");
        else
            answers_say(a, ANSWER_PLAIN,
                        "The run was one process on one machine: no step waited for a "
                        "network.");
        return true;
    }
    if (w->verdict == NETWORK_UNKNOWN && !isfinite(w->rate)) {
        answers_missing(a, !isfinite(run->ranks) ? "the number of ranks"
                           : w->is_computed      ? "the time of a step, or the number of "
                                                   "parameters, from which it follows"
                                                 : "the time spent communicating");
        return true;
    }
    return false;
}

static void say_verdict(struct answer *a, const struct network *w)
{
    switch (w->verdict) {
    case NETWORK_BOUND:
        answers_say(a, ANSWER_WATCH,
                    "Yes: a step waits %s of its %s for the network, and the bytes "
                    "themselves are the reason.",
                    fmt_seconds(w->exposed).s, fmt_seconds(w->t_step).s);
        break;
    case NETWORK_COMPUTE_BOUND:
        answers_say(
            a, ANSWER_GOOD,
            "No: a step waits %s for the network, and a network without any delay "
            "would save no more than that.",
            fmt_seconds(w->exposed).s);
        break;
    case NETWORK_LATENCY:
        answers_say(a, ANSWER_WATCH,
                    "A step waits %s for the exchange, but the link carries only %s of "
                    "what it can: look at latency, settings of the MPI library or a "
                    "rank that is late, not at bandwidth.",
                    fmt_seconds(w->exposed).s, fmt_percent(w->duty).s);
        break;
    default:
        answers_say(a, ANSWER_PLAIN,
                    "In part: a step waits %s for the network, %s of it.",
                    fmt_seconds(w->exposed).s, fmt_percent(w->share).s);
        if (w->share < 0.1)
            answers_say(a, ANSWER_PLAIN,
                        "The link just keeps up: on half of it a step would take %s.",
                        fmt_seconds(w->t_half).s);
    }
    answers_say(a, a->tone,
                "On a link twice as fast the step would take %s instead of %s.",
                fmt_seconds(w->t_twice).s, fmt_seconds(w->t_step).s);
}

static void values_of_network(struct answer *a, const struct network *w)
{
    answers_value(a, "step_s", w->t_step);
    answers_value(a, "exposed_s", w->exposed);
    answers_value(a, "exposed_share", w->share);
    answers_value(a, "hidden_s", w->hidden);
    answers_value(a, "waiting_for_ranks_s", w->straggling);
    answers_value(a, "sent_bytes_per_card_per_step", w->sent);
    answers_value(a, "received_bytes_per_card_per_step", w->received);
    answers_value(a, "mb_per_s", 1e-6 * w->rate);
    answers_value(a, "mbit_per_s", 8e-6 * w->rate);
    answers_value(a, "capacity_mb_per_s", 1e-6 * w->capacity);
    answers_value(a, "duty", w->duty);
    answers_value(a, "elasticity", w->elasticity);
    answers_value(a, "step_on_twice_the_link_s", w->t_twice);
}

static void rows_of_link(struct answer *a, const struct network *w)
{
    if (isfinite(w->sent))
        answers_row(a, "bytes per card and step", "%s sent, %s received",
                    fmt_bytes(w->sent).s, fmt_bytes(w->received).s);
    else
        answers_row(a, "bytes per card and step", "missing: the log does not hold them");
    answers_row(a, "load, mean over a step", "%s", both(w->rate).s);
    answers_row(a, "link, as measured at the start", "%s", both(w->capacity).s);
    if (isfinite(w->duty))
        answers_row(a, "used of the link", "%s%s", fmt_percent(w->duty).s,
                    w->duty > 0.9 ? ": it is saturated" : "");
    answers_row(a, "elasticity", "%s: what a bandwidth of 1 %% less costs, in %%; %s",
                fmt_number(w->elasticity, 2).s,
                isfinite(w->wire) ? "computed from bytes and capacity"
                                  : "at most, as the link's capacity is missing");
}

static void bar_of_network(struct answer *a, const struct run_pace *p,
                           const struct network *w)
{
    const struct page_part parts[] = {
        {"computing, network idle", fmax(0, p->t_compute + p->t_update - w->hidden), 1},
        {"computing, network at work", w->hidden, 5},
        {"waiting for the network", w->exposed, 2},
        {"waiting for the slowest rank", w->straggling, 4},
        {"waiting for data", p->t_data, 3},
    };

    answers_bar(a, "What a step waits for", fmt_seconds, parts,
                sizeof parts / sizeof *parts);
}

/* Nominal rates of links, in bits a second. */
static const struct {
    double bits;
    const char *name;
} links[] = {{1e8, "100 Mb/s"}, {1e9, "1 Gb/s"}, {2e9, "2 Gb/s"}, {1e10, "10 Gb/s"}};
enum { LINKS_N = sizeof links / sizeof *links };

/* The link that would just carry it, and the next smaller one, which would not. */
static void say_links(struct answer *a, double rate)
{
    size_t i = 0;

    while (i < LINKS_N && estimate_payload(links[i].bits) < rate)
        i++;
    if (i == LINKS_N)
        answers_say(a, a->tone, "That is more than a link of 10 Gb/s carries.");
    else if (i == 0)
        answers_say(a, a->tone, "That is %s of what a port of 100 Mb/s carries.",
                    fmt_percent(rate / estimate_payload(links[0].bits)).s);
    else
        answers_say(a, a->tone,
                    "That is more than a link of %s carries, and %s of what one of %s "
                    "does.",
                    links[i - 1].name,
                    fmt_percent(rate / estimate_payload(links[i].bits)).s, links[i].name);
}

static void say_bytes(struct answer *a, const struct run *run, const struct network *w)
{
    const struct estimate *e = &run->estimate;

    if (w->card)
        answers_say(
            a, ANSWER_PLAIN,
            "A capture shows %s on %s, which is %s per step each way; a ring of %s "
            "ranks in fp32 would move %s.",
            both(w->rate).s, w->card, fmt_bytes(w->rate * w->t_step).s,
            fmt_count(run->ranks).s, fmt_bytes(e->bytes).s);
    else
        answers_say(a, ANSWER_PLAIN,
                    "Computed, not measured: a ring that sums the gradients of %s "
                    "parameters over %s ranks in fp32 moves %s per step through each "
                    "card, each way, which is %s.",
                    fmt_short(run_parameters(run)).s, fmt_count(run->ranks).s,
                    fmt_bytes(e->bytes).s, both(w->rate).s);
    say_links(a, w->rate);
    if (isfinite(w->t_alone))
        answers_say(
            a, w->share > 0.25 ? ANSWER_WATCH : a->tone,
            "Alone, a %s would need about %s for its part of a step, as `ferry "
            "plan` computes: %s",
            e->device, fmt_seconds(w->t_alone).s,
            w->share > 0.1
                ? fmt_printf("the other %s are waiting.", fmt_seconds(w->exposed).s).s
                : "there is hardly any waiting.");
}

static void rows_of_computed(struct answer *a, const struct run *run,
                             const struct network *w)
{
    const struct runlog_start *s = runlog_latest(&run->log);
    const double nodes = s ? s->nodes : NAN, bytes = fmax(w->sent, w->received);

    answers_row(a, "ranks", "%s%s%s", fmt_count(run->ranks).s,
                isfinite(nodes) ? " on " : "",
                isfinite(nodes) ? fmt_printf("%s hosts", fmt_count(nodes).s).s : "");
    if (s && s->backend)
        answers_row(a, "network", "%s, %s%s%s", s->backend,
                    s->gradients ? s->gradients : "", s->library ? ", " : "",
                    s->library ? s->library : "");
    answers_row(a, "formula",
                "2 (N - 1) / N x 4 bytes x parameters: one ring over all ranks, fp32 "
                "whatever the precision of the model, as Horovod and NCCL exchange "
                "them");
    for (size_t i = 0; i < LINKS_N; i++)
        answers_row(a, fmt_printf("sending a step at %s", links[i].name).s, "%s",
                    fmt_seconds(bytes / estimate_payload(links[i].bits)).s);
    if (nodes > 1)
        answers_row(a, "as Ferry would exchange them",
                    "%s per step through each host's card: summed inside the host first, "
                    "then in bf16",
                    fmt_bytes(2 * (nodes - 1) / nodes * 2 * run_parameters(run)).s);
}

/* Where nothing was measured: what follows from the size of the model. */
static void answer_computed(struct answer *a, const struct run *run,
                            const struct network *w)
{
    a->code =
        w->verdict == NETWORK_UNKNOWN ? "computed" : network_verdicts[w->verdict].code;
    answers_value(a, "computed", 1);
    answers_value(a, "step_s", w->t_step);
    answers_value(a, "alone_s", w->t_alone);
    answers_value(a, "exposed_share", w->share);
    answers_value(a, "sent_bytes_per_card_per_step", w->sent);
    answers_value(a, "mb_per_s", 1e-6 * w->rate);
    answers_value(a, "mbit_per_s", 8e-6 * w->rate);
    if (w->verdict == NETWORK_UNKNOWN)
        answers_number(a, "%s\u00a0MB/s", fmt_number(1e-6 * w->rate, 3).s);
    else
        answers_number(a, "%s: about %s of a step", network_verdicts[w->verdict].text,
                       fmt_percent(w->share).s);
    say_bytes(a, run, w);
    rows_of_computed(a, run, w);
}

void answers_network_bound(struct answer *a, const struct run *run)
{
    struct network w;

    network_judge(&w, run);
    if (has_no_network(a, run, &w))
        return;
    if (w.is_computed) {
        answer_computed(a, run, &w);
        return;
    }
    a->code = network_verdicts[w.verdict].code;
    values_of_network(a, &w);
    answers_number(a, "%s, %s of a step", network_verdicts[w.verdict].text,
                   fmt_percent(w.share).s);
    say_verdict(a, &w);
    bar_of_network(a, &run->pace, &w);
    answers_row(a, "exposed wait", "%s of %s per step", fmt_seconds(w.exposed).s,
                fmt_seconds(w.t_step).s);
    answers_row(a, "hidden behind computing",
                isfinite(run->pace.t_hidden) ? "%s per step" : "%s",
                fmt_seconds(run->pace.t_hidden).s);
    if (isfinite(w.straggling))
        answers_row(a, "waiting for other ranks", "%s per step, mean of all ranks",
                    fmt_seconds(w.straggling).s);
    rows_of_link(a, &w);
    answers_row(a, "rule",
                "the network binds when it shows in more than 25 %% of a step and the "
                "elasticity exceeds 0.25; computing binds when both are under 10 %%");
    answers_row(a, "ranks", "%s", fmt_count(run->ranks).s);
}

/* r of step time and network wait, over the entries that stand. */
static double correlate(struct answer *a, const struct run *run, size_t *n)
{
    double *x;

    *n = 0;
    a->failed = mem_alloc(&x, 2 * run->log.n_step, sizeof *x, a->err);
    if (a->failed != OK)
        return NAN;
    double *y = x + run->log.n_step;
    for (size_t i = 0; i < run->log.n_step; i++) {
        const struct runlog_step *s = &run->log.step[i];
        if (s->is_lost || (s->is_first && run->pace.n_left_out > 0))
            continue;
        x[*n] = s->t_comm / s->steps;
        y[(*n)++] = s->t_step / s->steps;
    }
    const double r = series_correlation(x, y, *n);
    free(x);
    return r;
}

static void rows_of_slowest(struct answer *a, const struct run *run)
{
    const struct rank_means *r = &run->by_rank;

    if (r->n < 2) {
        if (run->ranks > 1 && !run->log.foreign.origin)
            answers_row(a, "slowest rank", "missing: the log holds no ranks entries");
        return;
    }
    const struct rank_mean *slow = &r->of[r->slowest];
    answers_value(a, "slowest_rank", slow->rank);
    answers_value(a, "slowest_busy_s", slow->busy);
    answers_value(a, "slowest_share_of_entries", slow->slowest_share);
    answers_row(a, "slowest rank",
                "rank %s on %s: busy %s per step, the slowest in %s of the entries",
                fmt_count(slow->rank).s, slow->host ? slow->host : "a host not named",
                fmt_seconds(slow->busy).s, fmt_percent(slow->slowest_share).s);
    answers_row(a, "ranks compared", "%zu, over %zu entries", r->n, r->n_laps);
}

/* Without times of phases: what a link twice as fast, or half as fast, would change. */
static void follow_computed(struct answer *a, const struct run *run,
                            const struct network *w)
{
    const struct estimate *e = &run->estimate;

    a->figure = ANSWER_NO_FIGURE;
    answers_value(a, "computed", 1);
    answers_value(a, "elasticity", w->elasticity);
    if (!isfinite(w->elasticity)) {
        a->code = "bounded";
        answers_number(a, "at most in full");
        answers_say(a, ANSWER_UNKNOWN,
                    "How much of a step is waiting cannot be computed: %s is missing. If "
                    "all of it were, half the bandwidth would double the step of %s.",
                    e->missing ? e->missing : "what the planner needs",
                    fmt_seconds(w->t_step).s);
        return;
    }
    a->code = w->share > 0.25 ? "follows" : w->share > 0.1 ? "partly" : "does-not";
    answers_number(a, "%s, computed",
                   w->share > 0.25  ? "yes"
                   : w->share > 0.1 ? "in part"
                                    : "hardly");
    answers_say(a, ANSWER_PLAIN,
                "If what a step takes beyond computing is the network, a link twice as "
                "fast would make it %s instead of %s, and half of it %s.",
                fmt_seconds(w->t_twice).s, fmt_seconds(w->t_step).s,
                fmt_seconds(w->t_half).s);
    answers_row(a, "elasticity", "%s: what a bandwidth of 1 %% less costs, in %%",
                fmt_number(w->elasticity, 2).s);
    answers_row(a, "lower limit", "%s per step, without any waiting",
                fmt_seconds(w->t_alone).s);
}

void answers_network_follows(struct answer *a, const struct run *run)
{
    struct network w;
    size_t n;

    network_judge(&w, run);
    a->figure =
        run->by_rank.n || !run->log.foreign.origin ? ANSWER_TIMELINE : ANSWER_NO_FIGURE;
    if (has_no_network(a, run, &w)) {
        rows_of_slowest(a, run);
        return;
    }
    if (w.is_computed) {
        follow_computed(a, run, &w);
        return;
    }
    const double r = correlate(a, run, &n);
    if (!isfinite(r)) {
        answers_missing(a, "step and network times that vary");
        return;
    }
    a->code = fabs(r) >= 0.7 ? "follows" : fabs(r) >= 0.3 ? "partly" : "does-not";
    answers_value(a, "correlation", r);
    answers_number(a, "r = %.2f", r);
    answers_say(a, ANSWER_PLAIN,
                "%s of the variation of the step time goes along with the time spent "
                "waiting for the network. That they move together does not say which "
                "causes which.",
                fmt_percent(r * r).s);
    answers_row(a, "entries compared", "%s", fmt_count((double)n).s);
    rows_of_slowest(a, run);
}
