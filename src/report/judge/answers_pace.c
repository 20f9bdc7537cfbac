/* Time: of the run, of a step, of its phases, and of the network. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "page/series.h"
#include "report/judge/answers.h"
#include "report/judge/estimate.h"
#include "report/judge/known_runs.h"
#include "report/judge/run.h"

static void row_of_end(struct answer *a, const struct run *run)
{
    const struct runlog_stop *stop = runlog_end(&run->log);

    if (run->log.foreign.has_no_clock) {
        answers_row(a, "started, stopped",
                    "missing: no line of this log is dated, it tells only seconds a "
                    "step");
        return;
    }
    answers_row(a, "started", "%s", run_date(run, run->log.t_first).s);
    if (stop)
        answers_row(a, "stopped", "%s (%s)", run_date(run, stop->t).s,
                    stop->reason ? stop->reason : "reason missing");
    else
        answers_row(a, "last entry", "%s; %s", run_date(run, run->log.t_last).s,
                    run->log.foreign.has_no_end ? "such files do not say when a run ends"
                                            : run->log.foreign.origin ? "no line says that it finished"
                        : "there is no stop event");
}

/* What a log of another program leaves out of its course. */
static void rows_of_gaps(struct answer *a, const struct run *run)
{
    const struct runlog_foreign *f = &run->log.foreign;

    if (isfinite(f->t_startup)) {
        answers_value(a, "startup_s", f->t_startup);
        answers_row(a, "start-up",
                    "%s before the first step was logged; it is no part of a step's "
                    "time",
                    fmt_seconds(f->t_startup).s);
    }
    if (isfinite(f->begins_at)) {
        answers_value(a, "begins_at", f->begins_at);
        answers_row(a, "begins", "at step %s: what came before is not in this log",
                    fmt_count(f->begins_at).s);
    }
    if (f->steps_missing > 0) {
        answers_value(a, "steps_missing", f->steps_missing);
        answers_row(a, "holes",
                    "%s steps in %zu place%s are not in this log; their time "
                    "is not counted",
                    fmt_count(f->steps_missing).s, f->n_holes,
                    f->n_holes == 1 ? "" : "s");
    }
    for (size_t i = 0; i < f->n_attempts; i++)
        if (!f->attempt[i].is_reported)
            answers_row(a, fmt_printf("attempt %zu of %zu", i + 1, f->n_attempts).s,
                        isfinite(f->attempt[i].last)
                            ? "steps %s to %s, training loss %s at its end%s%s"
                            : "no step was logged%.0s%.0s%.0s%s%s",
                        fmt_count(f->attempt[i].first).s, fmt_count(f->attempt[i].last).s,
                        fmt_number(f->attempt[i].loss, 4).s,
                        f->attempt[i].is_finished ? "; it finished"
                        : f->attempt[i].end[0]    ? ": "
                                                  : "",
                        f->attempt[i].end);
}

static void say_sessions(struct answer *a, const struct run *run)
{
    char lost[160];

    snprintf(lost, sizeof lost,
             "%s step%s taken twice, because a session resumed from an earlier "
             "checkpoint",
             fmt_count(run->steps_lost).s, run->steps_lost == 1 ? " was" : "s were");
    if (run->log.n_start > 1)
        answers_say(a, a->tone, "It ran in %zu sessions; %s.", run->log.n_start,
                    run->steps_lost > 0 ? lost : "no step was taken twice");
}

static void row_of_length(struct answer *a, const struct run *run, double steps)
{
    const struct fmt label = fmt_printf("to %s steps", fmt_count(steps).s);
    const double each = run->times.a_step;

    if (steps > run->step)
        answers_row(a, label.s, "%s in all, %s more", fmt_seconds(each * steps).s,
                    fmt_seconds(each * (steps - run->step)).s);
    else
        answers_row(a, label.s, "%s", fmt_seconds(each * steps).s);
}

static void rows_of_lengths(struct answer *a, const struct run *run)
{
    if (!(run->times.a_step > 0) || !(run->step > 0))
        return;
    answers_value(a, "seconds_a_step_with_everything", run->times.a_step);
    if (run->to_steps >= 1)
        row_of_length(a, run, run->to_steps);
    if (run->max_steps > run->step && run->max_steps != run->to_steps)
        row_of_length(a, run, run->max_steps);
    if (run->state == RUN_FINISHED)
        row_of_length(a, run, 2 * run->step);
    answers_row(a, "counted on",
                "%s a step, evaluations and saves included; to another number with "
                "steps=N",
                fmt_seconds(run->times.a_step).s);
}

static void say_remaining(struct answer *a, const struct run *run)
{
    if (!isfinite(run->times.to_go) || !(run->step > 0))
        return;
    answers_value(a, "remaining_s", run->times.to_go);
    answers_say(a, a->tone, "At this pace the remaining %s of %s steps would take %s.",
                fmt_count(run->max_steps - run->step).s, fmt_count(run->max_steps).s,
                fmt_seconds(run->times.to_go).s);
}

static void bar_of_time(struct answer *a, const struct run_times *t)
{
    const struct page_part parts[] = {
        {"steps", t->in_steps, 1},
        {"evaluations", t->in_evals, 2},
        {"saving", t->in_saves, 4},
        {"start-up", t->startup, 3},
        {"other", t->in_other > 1e-3 * t->wall ? t->in_other : 0, 6},
        {"between sessions", t->idle, 5},
    };

    answers_bar(a, "Where the wall time went", fmt_seconds, parts,
                sizeof parts / sizeof *parts);
    answers_value(a, "wall_s", t->wall);
    answers_value(a, "in_steps_s", t->in_steps);
    answers_value(a, "in_evaluations_s", t->in_evals);
    answers_value(a, "in_saves_s", t->in_saves);
    answers_value(a, "idle_s", t->idle);
}

static void say_extent(struct answer *a, const struct run *run)
{
    const struct runlog_foreign *f = &run->log.foreign;

    if (isfinite(f->begins_at))
        answers_say(a, ANSWER_PLAIN,
                    "The log holds steps %s to %s, from its first entry to its last.",
                    fmt_count(f->begins_at).s, fmt_count(run->step).s);
    else
        answers_say(a, ANSWER_PLAIN,
                    "From the first entry of the log to the last, %s steps.",
                    fmt_count(run->step).s);
    if (f->n_attempts > 1)
        answers_say(a, a->tone,
                    "The file holds %zu attempts; this page is about the last that "
                    "trained.",
                    f->n_attempts);
}

static void row_of_evals(struct answer *a, const struct run *run)
{
    const struct run_times *t = &run->times;

    if (!run->log.n_eval)
        answers_row(a, "evaluations", "none");
    else if (t->n_evals_timed)
        answers_row(a, "evaluations",
                    "%zu, of about %s each: so much longer are the log entries that "
                    "hold one",
                    run->log.n_eval,
                    fmt_seconds(t->in_evals / (double)t->n_evals_timed).s);
    else
        answers_row(a, "evaluations", "%zu, taking %s", run->log.n_eval,
                    t->in_evals > 0 ? fmt_seconds(t->in_evals).s : "a time not logged");
}

void answers_pace_time(struct answer *a, const struct run *run)
{
    const struct run_times *t = &run->times;

    if (!isfinite(t->wall) || run->log.n_step + run->log.n_eval == 0) {
        answers_missing(a, "the log holds no entry with a time");
        return;
    }
    a->code = run_states[run->state];
    answers_value(a, "steps", run->step);
    answers_value(a, "sessions", (double)run->log.n_start);
    answers_value(a, "steps_lost", run->steps_lost);
    bar_of_time(a, t);
    answers_number(a, "%s", fmt_seconds(t->wall).s);
    say_extent(a, run);
    if (run->pace.mean > 0)
        answers_say(a, a->tone, "A step took %s on average, which is %s steps a second.",
                    fmt_seconds(run->pace.mean).s, fmt_number(1 / run->pace.mean, 3).s);
    say_sessions(a, run);
    say_remaining(a, run);
    row_of_end(a, run);
    row_of_evals(a, run);
    rows_of_gaps(a, run);
    rows_of_lengths(a, run);
}

/* "0.250 s a step, 4.00 steps a second": both, so that neither is taken for the other. */
static void row_of_pace(struct answer *a, const char *label, double t)
{
    answers_row(a, label, "%s seconds a step = %s steps a second", fmt_number(t, 3).s,
                fmt_number(1 / t, 3).s);
}

static void explain_left_out(struct answer *a, const struct run_pace *p)
{
    const double first = p->n_left_out - p->n_with_evals;

    if (first > 0)
        answers_row(a, "left out",
                    "%s step%s: the first entry of each session, which warms up "
                    "memory and threads",
                    fmt_count(first).s, first == 1 ? "" : "s");
    if (p->n_with_evals > 0)
        answers_row(a, "left out", "%s steps of entries whose time holds an evaluation",
                    fmt_count(p->n_with_evals).s);
    if (!(p->n_left_out > 0))
        answers_row(a, "left out", "nothing");
    if (p->steps_an_entry > 1)
        answers_row(a, "resolution",
                    "an entry averages up to %s steps, so single slow steps are smoothed",
                    fmt_count(p->steps_an_entry).s);
}

static void values_of_step(struct answer *a, const struct run_pace *p)
{
    a->code = "measured";
    answers_value(a, "mean_s", p->mean);
    answers_value(a, "steps_per_s", 1 / p->mean);
    answers_value(a, "median_s", p->median);
    answers_value(a, "p95_s", p->p95);
    answers_value(a, "slowest_s", p->slowest);
    answers_value(a, "data_s", p->t_data);
    answers_value(a, "compute_s", p->t_compute);
    answers_value(a, "exposed_s", p->t_comm);
    answers_value(a, "hidden_s", p->t_hidden);
    answers_value(a, "update_s", p->t_update);
    answers_value(a, "other_s", p->other);
    answers_value(a, "steps_counted", p->n_steps);
    answers_value(a, "steps_left_out", p->n_left_out);
    answers_value(a, "tokens_per_s", p->tokens_per_s);
}

void answers_pace_step(struct answer *a, const struct run *run)
{
    const struct run_pace *p = &run->pace;
    const struct page_part parts[] = {
        {"waiting for data", p->t_data, 3},
        {"computing", p->t_compute, 1},
        {"exchange with other ranks", p->t_comm, 2},
        {"updating weights", p->t_update, 4},
        {"other", p->other > 1e-4 * p->mean ? p->other : 0, 6},
    };

    if (!(p->mean > 0)) {
        answers_missing(a, "no step was logged with its time");
        return;
    }
    answers_number(a, "%s a step", fmt_seconds(p->mean).s);
    values_of_step(a, p);
    answers_say(
        a, ANSWER_PLAIN,
        "That is %s steps a second, over %s steps. Half of the steps took at most "
        "%s, 95 %% at most %s.",
        fmt_number(1 / p->mean, 3).s, fmt_count(p->n_steps).s, fmt_seconds(p->median).s,
        fmt_seconds(p->p95).s);
    if (isfinite(p->t_compute))
        answers_bar(a, "How a step splits", fmt_seconds, parts,
                    sizeof parts / sizeof *parts);
    row_of_pace(a, "mean", p->mean);
    row_of_pace(a, "median", p->median);
    row_of_pace(a, "95th percentile", p->p95);
    row_of_pace(a, "slowest", p->slowest);
    explain_left_out(a, p);
    if (!isfinite(p->t_compute))
        answers_row(a, "phases",
                    "this log times whole steps, not their phases; what can "
                    "be computed of them stands under the network");
    if (isfinite(run->log.foreign.t_step))
        answers_row(a, "as the log itself averages", "%s a step, evaluations included",
                    fmt_seconds(run->log.foreign.t_step).s);
    known_runs_pace(a, run);
}

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
        answers_row(a, "power", "%s W a card, %s of the limit", fmt_number(power, 3).s,
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
        answers_row(a, "processor time",
                    "%s processor seconds a second and rank, of %s thread%s",
                    fmt_number(cores, 3).s, fmt_count(s ? s->threads : NAN).s,
                    s && s->threads == 1 ? "" : "s");
    if (s && s->device && (strstr(s->device, "cuda") || strstr(s->device, "opencl"))) {
        const struct gpus g = gpus_of_ranks(r);
        rows_of_gpus(a, &g);
    }
}

/* The roof is the BLAS's rate, which a matrix unit can leave behind. */
static void say_rate(struct answer *a, double of_roof, const char *device,
                     const char *missing)
{
    if (!isfinite(of_roof))
        answers_say(a, a->tone,
                    "Whether that arithmetic was fast is not known: %s is missing.",
                    missing);
    else if (of_roof <= 1.05)
        answers_say(a, of_roof >= 0.6 ? a->tone : ANSWER_WATCH,
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
    struct estimate e;

    estimate_make(&e, run);
    const double share = e.t_alone / run->pace.mean;
    if (!isfinite(share)) {
        answers_missing(a, e.missing ? e.missing : "the time of a step");
        return;
    }
    a->code = share >= 0.9 ? "busy" : "waiting";
    answers_value(a, "computed", 1);
    answers_value(a, "busy_share", fmin(1, share));
    answers_value(a, "alone_s", e.t_alone);
    answers_number(a, "about %s of the step", fmt_percent(fmin(1, share)).s);
    answers_say(a, share >= 0.9 ? ANSWER_GOOD : ANSWER_WATCH,
                "Computed, not measured: a %s alone would need about %s for its part of "
                "a step (`ferry plan`), and a step took %s.",
                e.device, fmt_seconds(e.t_alone).s, fmt_seconds(run->pace.mean).s);
    if (isfinite(run->log.foreign.tokens_per_s))
        answers_row(a, "throughput", "%s source + target tokens/s, as the log averages",
                    fmt_count(run->log.foreign.tokens_per_s).s);
    answers_row(a, "to measure it",
                "a capture of nvidia-smi --query-gpu=power.draw,power.limit --format=csv "
                "-l 1 beside the log: power tells computing from waiting, utilisation "
                "does not");
}

void answers_pace_busy(struct answer *a, const struct run *run)
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
    answers_say(a, share >= 0.9 ? ANSWER_GOOD : ANSWER_WATCH,
                share >= 0.9 ? "Nearly all of a step was arithmetic, not waiting."
                             : "%s of a step was waiting or bookkeeping, not arithmetic.",
                fmt_percent(1 - share).s);
    say_rate(a, of_roof, start ? start->device : NULL,
             isfinite(p->gflops) ? "the machine's measured roof"
                                 : "the arithmetic rate (gflops)");
    answers_row(a, "achieved", isfinite(p->gflops) ? "%s GFLOP/s" : "%s",
                fmt_number(p->gflops, 3).s);
    answers_row(a, "measured roof", isfinite(roof) ? "%s GFLOP/s" : "%s",
                fmt_number(roof, 3).s);
    answers_row(a, "throughput", "%s source + target tokens/s, %s target tokens/s",
                fmt_count(p->tokens_per_s).s, fmt_count(p->target_per_s).s);
    row_of_waiting(a, p);
    rows_of_processors(a, run);
    answers_row(a, "peak memory", isfinite(p->memory_mib) ? "%s MiB" : "%s",
                fmt_count(p->memory_mib).s);
    a->figure = ANSWER_ARITHMETIC;
}
