/* Processors: did they compute or wait? By phases, by power, or by what is computed. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "report/judge/answers.h"
#include "report/judge/estimate.h"
#include "report/judge/run.h"

static void row_of_waiting(struct answer *a, const struct run_pace *p)
{
    answers_row(a, "working", "%s computing + %s updating", fmt_seconds(p->t_compute).s,
                fmt_seconds(p->t_update).s);
    answers_row(a, "waiting", "%s for data, %s for other ranks and the network",
                fmt_seconds(p->t_data).s, fmt_seconds(p->t_comm).s);
}

static double mean_of(const struct rank_means *r, size_t field)
{
    double sum = 0;

    for (size_t i = 0; i < r->n; i++)
        sum += *(const double *)((const char *)&r->of[i] + field) / (double)r->n;
    return r->n ? sum : NAN;
}

#define MEAN(r, field) mean_of(r, offsetof(struct rank_mean, field))

/* Cards, the mean of all. */
struct gpus {
    double busy, power, limit, clock, clock_max, memory, memory_all;
};

static struct gpus gpus_of_ranks(const struct rank_means *r)
{
    return (struct gpus){MEAN(r, gpu_busy),          MEAN(r, gpu_power_w),
                         MEAN(r, gpu_power_limit_w), MEAN(r, gpu_clock_mhz),
                         MEAN(r, gpu_clock_max_mhz), MEAN(r, gpu_memory_mib),
                         MEAN(r, gpu_memory_all_mib)};
}

/* The cards of all captures; NAN where none is known. */
static struct gpus gpus_of_captures(const struct run *run)
{
    struct gpus g = {0};
    double n = 0;

    for (size_t i = 0; i < run->n_captures; i++)
        for (size_t k = 0; k < run->capture[i].n_gpu; k++, n++) {
            const struct capture_gpu *c = &run->capture[i].gpu[k];
            g.busy += c->busy;
            g.power += c->power_w;
            g.limit += c->power_limit_w;
            g.clock += c->clock_mhz;
            g.clock_max += c->clock_max_mhz;
            g.memory += c->memory_mib;
            g.memory_all += c->memory_all_mib;
        }
    return (struct gpus){g.busy / n,      g.power / n,  g.limit / n,     g.clock / n,
                         g.clock_max / n, g.memory / n, g.memory_all / n};
}

/* Use is what a driver counts: a card that only waits for others can be 100 % busy. Power
 * does not lie. */
static void rows_of_gpus(struct answer *a, const struct gpus *g)
{
    enum { LITTLE = 50 }; /* percent of the limit */
    const double busy = g->busy, power = g->power, share = power / g->limit;

    answers_value(a, "gpu_busy", busy);
    answers_value(a, "gpu_power_w", power);
    if (!isfinite(power)) {
        answers_row(a, "power",
                    "missing: the log holds no power draw of the card; a card that "
                    "only waits can show 100 %% utilisation");
    } else {
        answers_row(a, "power", "%s W per card, %s of the limit", fmt_number(power, 3).s,
                    fmt_percent(share).s);
        if (busy >= 0.9 && 100 * share < LITTLE)
            answers_say(a, ANSWER_WATCH,
                        "The cards call themselves %s busy but draw %s of the power that "
                        "they may: they wait more than they compute.",
                        fmt_percent(busy).s, fmt_percent(share).s);
    }
    if (isfinite(busy))
        answers_row(a, "cards", "%s of the time in use by their own count",
                    fmt_percent(busy).s);
    if (isfinite(g->clock))
        answers_row(a, "clock of the cards",
                    isfinite(g->clock_max) ? "%s MHz of %s" : "%s MHz%.0s",
                    fmt_count(g->clock).s, fmt_count(g->clock_max).s);
    if (isfinite(g->memory_all))
        answers_row(a, "memory of the cards", "%s of %s MiB", fmt_count(g->memory).s,
                    fmt_count(g->memory_all).s);
}

/* Processor time tells threads that work from threads that were not given a core. */
static void rows_of_processors(struct answer *a, const struct run *run)
{
    const struct runlog_start *s = runlog_latest(&run->log);
    const struct rank_means *r = &run->by_rank;
    const double cores = MEAN(r, cores);

    if (isfinite(cores))
        answers_row(a, "processor time", "%s cores busy per rank, of %s thread%s",
                    fmt_number(cores, 3).s, fmt_count(s ? s->threads : NAN).s,
                    s && s->threads == 1 ? "" : "s");
    if (s && s->device && (strstr(s->device, "cuda") || strstr(s->device, "opencl"))) {
        const struct gpus g = gpus_of_ranks(r);
        rows_of_gpus(a, &g);
    }
}

/* Arithmetic below this share of the roof is something to act on. */
static const double SLOW = 0.6;

/* The roof is the BLAS's rate, which a matrix unit can leave behind. */
static void say_rate(struct answer *a, double of_roof, const char *device,
                     const char *missing)
{
    if (!isfinite(of_roof))
        answers_say(a, a->tone,
                    "Whether that arithmetic was fast is not known: %s is missing.",
                    missing);
    else if (of_roof <= 1.05)
        answers_say(a, of_roof < SLOW ? ANSWER_WATCH : a->tone,
                    "It reached %s of the arithmetic rate that this machine was measured "
                    "to be able to sustain.",
                    fmt_percent(of_roof).s);
    else if (device && strstr(device, "AMX"))
        answers_say(a, a->tone,
                    "It reached %s of the rate of the machine's BLAS, whose products do "
                    "not use the matrix unit that these do.",
                    fmt_percent(of_roof).s);
    else
        answers_say(a, ANSWER_WATCH,
                    "Its arithmetic rate lies above the measured roof: the roof was "
                    "measured on a busier machine, or one of the two is wrong.");
}

/* Power in place of phases: it tells computing from waiting. */
static void answer_captured(struct answer *a, const struct gpus *g)
{
    const double share = g->power / g->limit;

    a->code = share >= 0.5 ? "busy" : "waiting";
    answers_value(a, "power_share", share);
    answers_number(a, "%s of the power limit", fmt_percent(share).s);
    answers_say(a, share >= 0.5 ? ANSWER_GOOD : ANSWER_WATCH,
                "The captures beside this log show cards that draw %s of %s W.",
                fmt_number(g->power, 3).s, fmt_number(g->limit, 3).s);
    rows_of_gpus(a, g);
}

/* Neither phases nor power: what the planner says that computing alone would take. */
static void answer_estimated(struct answer *a, const struct run *run)
{
    const struct estimate *e = &run->estimate;

    const double share = e->t_alone / run->pace.mean;
    if (!isfinite(share)) {
        answers_missing(a, e->missing                 ? e->missing
                           : isfinite(run->pace.mean) ? "what the planner needs"
                                                      : "the time of a step");
        return;
    }
    a->code = share >= 0.9 ? "busy" : "waiting";
    answers_value(a, "computed", 1);
    answers_value(a, "busy_share", fmin(1, share));
    answers_value(a, "alone_s", e->t_alone);
    answers_number(a, "about %s of the step", fmt_percent(fmin(1, share)).s);
    answers_say(a, share >= 0.9 ? ANSWER_GOOD : ANSWER_WATCH,
                "Computed, not measured: a %s alone would need about %s for its part of "
                "a step (`ferry plan`), and a step took %s.",
                e->device, fmt_seconds(e->t_alone).s, fmt_seconds(run->pace.mean).s);
    if (isfinite(run->log.foreign.tokens_per_s))
        answers_row(a, "throughput", "%s source + target tokens/s, as the log averages",
                    fmt_count(run->log.foreign.tokens_per_s).s);
    answers_row(a, "to measure it",
                "a capture of nvidia-smi --query-gpu=power.draw,power.limit --format=csv "
                "-l 1 beside the log: power tells computing from waiting, utilisation "
                "does not");
}

void answers_busy(struct answer *a, const struct run *run)
{
    const struct gpus captured = gpus_of_captures(run);
    const struct runlog_start *start = runlog_latest(&run->log);
    const struct run_pace *p = &run->pace;
    const double roof = start ? start->roof_gflops : NAN;
    const double share = (p->t_compute + p->t_update) / p->mean;
    const double of_roof = p->gflops / roof;

    if (!isfinite(share) && isfinite(captured.power / captured.limit)) {
        answer_captured(a, &captured);
        return;
    }
    if (!isfinite(share) && run->log.foreign.origin) {
        answer_estimated(a, run);
        return;
    }
    if (!isfinite(share)) {
        answers_missing(a, "the log holds no times of computing and updating");
        return;
    }
    a->code = share >= 0.9 ? "busy" : "waiting";
    answers_value(a, "busy_share", share);
    answers_value(a, "gflops", p->gflops);
    answers_value(a, "roof_gflops", roof);
    answers_value(a, "of_roof", of_roof);
    answers_number(a, "%s of the step", fmt_percent(share).s);
    if (of_roof < SLOW)
        answers_number(a, ", at %s of the roof", fmt_percent(of_roof).s);
    answers_say(a, share >= 0.9 ? ANSWER_GOOD : ANSWER_WATCH,
                share >= 0.9 ? "Nearly all of a step was arithmetic, not waiting."
                             : "%s of a step was waiting or bookkeeping, not arithmetic.",
                fmt_percent(1 - share).s);
    say_rate(a, of_roof, start ? start->device : NULL,
             isfinite(p->gflops) ? "the machine's measured roof" : "the arithmetic rate");
    answers_row(a, "achieved", isfinite(p->gflops) ? "%s GFLOP/s" : "%s",
                fmt_number(p->gflops, 3).s);
    answers_row(a, "measured roof",
                isfinite(roof)
                    ? "%s GFLOP/s, the fastest that this machine multiplied matrices"
                    : "%s",
                fmt_number(roof, 3).s);
    answers_row(a, "throughput", "%s source + target tokens/s, %s target tokens/s",
                fmt_count(p->tokens_per_s).s, fmt_count(p->target_per_s).s);
    row_of_waiting(a, p);
    rows_of_processors(a, run);
    answers_row(a, "peak memory", isfinite(p->memory_mib) ? "%s MiB" : "%s",
                fmt_count(p->memory_mib).s);
    a->figure = ANSWER_ARITHMETIC;
}
