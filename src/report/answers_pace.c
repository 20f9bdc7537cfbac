/* Time: of the run, of a step, of its phases, and of the network. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/answers.h"
#include "report/figures.h"
#include "report/fmt.h"
#include "report/page.h"
#include "report/run.h"
#include "report/series.h"

static struct page_part part(const char *name, double t, int color)
{
    struct page_part p = {.name = name, .size = t, .color = color};

    snprintf(p.text, sizeof p.text, "%s", fmt_seconds(t).s);
    return p;
}

static void row_of_end(struct answer *a, const struct run *run, struct err *err)
{
    const struct runlog_event *stop = runlog_stop(&run->log);

    answers_row(a, err, "started", "%s", fmt_time(run->log.t_first).s);
    if (stop)
        answers_row(a, err, "stopped", "%s (%s)", fmt_time(stop->t).s,
                    stop->text ? stop->text : "reason missing");
    else
        answers_row(a, err, "last entry", "%s; there is no stop event",
                    fmt_time(run->log.t_last).s);
}

void answers_pace_time(struct answer *a, const struct run *run, struct err *err)
{
    const struct run_times *t = &run->times;
    const struct page_part parts[] = {
        part("steps", t->in_steps, 1),
        part("evaluations", t->in_evals, 2),
        part("saving", t->in_saves, 4),
        part("other", t->in_other > 1e-3 * t->wall ? t->in_other : 0, 6),
        part("between sessions", t->idle, 5),
    };
    const double active = t->wall - t->idle;

    if (!isfinite(t->wall)) {
        answers_missing(a, "the log holds no entry with a time");
        return;
    }
    answers_number(a, "%s", fmt_seconds(t->wall).s);
    answers_say(a, ANSWER_PLAIN, "From the first entry of the log to the last, %s steps.",
                fmt_count(run->step).s);
    if (run->pace.mean > 0)
        answers_say(a, a->tone, "A step took %s on average, which is %s steps a second.",
                    fmt_seconds(run->pace.mean).s, fmt_number(1 / run->pace.mean, 3).s);
    if (run->log.n_start > 1)
        answers_say(
            a, a->tone,
            "It ran in %zu sessions; %s steps were taken twice, because a session "
            "resumed from an earlier checkpoint.",
            run->log.n_start, run->steps_lost > 0 ? fmt_count(run->steps_lost).s : "no");
    if (run->state != RUN_FINISHED && run->step > 0 && run->max_steps > run->step)
        answers_say(a, a->tone,
                    "At this pace the remaining %s of %s steps would take %s.",
                    fmt_count(run->max_steps - run->step).s, fmt_count(run->max_steps).s,
                    fmt_seconds(active / (run->step + run->steps_lost) *
                                (run->max_steps - run->step))
                        .s);
    page_bar(&a->picture, "Where the wall time went", parts,
             sizeof parts / sizeof *parts);
    row_of_end(a, run, err);
    answers_row(a, err, "evaluations", "%zu, taking %s", run->log.n_eval,
                fmt_seconds(t->in_evals).s);
}

/* "0.250 s a step, 4.00 steps a second": both, so that neither is taken for the other. */
static void row_of_pace(struct answer *a, struct err *err, const char *label, double t)
{
    answers_row(a, err, label, "%s seconds a step = %s steps a second",
                fmt_number(t, 3).s, fmt_number(1 / t, 3).s);
}

static void explain_left_out(struct answer *a, const struct run_pace *p, struct err *err)
{
    if (p->n_left_out > 0)
        answers_row(a, err, "left out",
                    "%s step%s: the first entry of each session, which warms up "
                    "memory and threads",
                    fmt_count(p->n_left_out).s, p->n_left_out == 1 ? "" : "s");
    else
        answers_row(a, err, "left out", "nothing");
    if (p->steps_an_entry > 1)
        answers_row(a, err, "resolution",
                    "an entry averages up to %s steps, so single slow steps are smoothed",
                    fmt_count(p->steps_an_entry).s);
}

void answers_pace_step(struct answer *a, const struct run *run, struct err *err)
{
    const struct run_pace *p = &run->pace;
    const struct page_part parts[] = {
        part("waiting for data", p->t_data, 3),
        part("computing", p->t_compute, 1),
        part("network", p->t_comm, 2),
        part("updating weights", p->t_update, 4),
        part("other", p->other > 1e-4 * p->mean ? p->other : 0, 6),
    };

    if (!(p->mean > 0)) {
        answers_missing(a, "no step was logged with its time (t_step)");
        return;
    }
    answers_number(a, "%s a step", fmt_seconds(p->mean).s);
    answers_say(
        a, ANSWER_PLAIN,
        "That is %s steps a second, over %s steps. Half of the steps took at most "
        "%s, 95 %% at most %s.",
        fmt_number(1 / p->mean, 3).s, fmt_count(p->n_steps).s, fmt_seconds(p->median).s,
        fmt_seconds(p->p95).s);
    page_bar(&a->picture, "How a step splits", parts, sizeof parts / sizeof *parts);
    row_of_pace(a, err, "mean", p->mean);
    row_of_pace(a, err, "median", p->median);
    row_of_pace(a, err, "95th percentile", p->p95);
    row_of_pace(a, err, "slowest", p->slowest);
    explain_left_out(a, p, err);
    if (!isfinite(p->t_compute))
        answers_row(a, err, "phases", "missing: the log holds no t_compute");
}

void answers_pace_busy(struct answer *a, const struct run *run, struct err *err)
{
    const struct runlog_start *start = runlog_latest(&run->log);
    const struct run_pace *p = &run->pace;
    const double roof = start ? start->roof_gflops : NAN;
    const double share = (p->t_compute + p->t_update) / p->mean;
    const double of_roof = p->gflops / roof;

    if (!isfinite(share)) {
        answers_missing(a, "the log holds no phase times (t_compute, t_update)");
        return;
    }
    answers_number(a, "%s of the step", fmt_percent(share).s);
    answers_say(a, share >= 0.9 ? ANSWER_GOOD : ANSWER_WATCH,
                share >= 0.9 ? "Nearly all of a step was arithmetic, not waiting."
                             : "%s of a step was waiting or bookkeeping, not arithmetic.",
                fmt_percent(1 - share).s);
    if (of_roof > 1.05)
        answers_say(a, ANSWER_WATCH,
                    "Its arithmetic rate lies above the measured roof: the roof was "
                    "measured on a busier machine, or one of the two is wrong.");
    else if (isfinite(of_roof))
        answers_say(a, of_roof >= 0.6 ? a->tone : ANSWER_WATCH,
                    "It reached %s of the arithmetic rate that this machine was measured "
                    "to be able to sustain.",
                    fmt_percent(of_roof).s);
    else
        answers_say(a, a->tone,
                    "Whether that arithmetic was fast is not known: %s is missing.",
                    isfinite(p->gflops) ? "the machine's measured roof"
                                        : "the arithmetic rate (gflops)");
    answers_row(a, err, "achieved", isfinite(p->gflops) ? "%s GFLOP/s" : "%s",
                fmt_number(p->gflops, 3).s);
    answers_row(a, err, "measured roof", isfinite(roof) ? "%s GFLOP/s" : "%s",
                fmt_number(roof, 3).s);
    answers_row(a, err, "throughput", "%s source + target tokens/s, %s target tokens/s",
                fmt_count(p->tokens_per_s).s, fmt_count(p->target_per_s).s);
    answers_row(a, err, "peak memory", isfinite(p->memory_mib) ? "%s MiB" : "%s",
                fmt_count(p->memory_mib).s);
    if (a->failed == OK)
        a->failed = figures_arithmetic(&a->picture, run, err);
}

/* True when the question is settled: one process, or nothing known. */
static bool has_no_network(struct answer *a, const struct run *run)
{
    if (run->ranks == 1) {
        answers_number(a, "no network");
        answers_say(a, ANSWER_PLAIN,
                    "The run was one process on one machine: no step waited for a "
                    "network.");
        return true;
    }
    if (!isfinite(run->pace.t_comm / run->pace.mean)) {
        answers_missing(a, isfinite(run->ranks) ? "the time spent communicating (t_comm)"
                                                : "the number of ranks");
        return true;
    }
    return false;
}

void answers_pace_network(struct answer *a, const struct run *run, struct err *err)
{
    const double share = run->pace.t_comm / run->pace.mean;

    if (has_no_network(a, run))
        return;
    answers_number(a, "%s of a step", fmt_percent(share).s);
    if (share < 0.05)
        answers_say(
            a, ANSWER_GOOD,
            "No: a step waits %s for the network, and a network without any delay "
            "would save no more than that.",
            fmt_seconds(run->pace.t_comm).s);
    else
        answers_say(a, share < 0.5 ? ANSWER_PLAIN : ANSWER_WATCH,
                    share < 0.5 ? "In part: a step waits %s for the network."
                                : "Yes: a step waits %s for the network, more than for "
                                  "anything else.",
                    fmt_seconds(run->pace.t_comm).s);
    answers_row(a, err, "exposed wait", "%s of %s a step",
                fmt_seconds(run->pace.t_comm).s, fmt_seconds(run->pace.mean).s);
    answers_row(a, err, "ranks", "%s", fmt_count(run->ranks).s);
    answers_row(a, err, "bytes sent, link capacity",
                "missing: the log does not hold them");
}

static double correlate(const struct run *run, status *failed, struct err *err)
{
    double *x;
    size_t n = 0;

    *failed = mem_alloc(&x, 2 * run->log.n_step, sizeof *x, err);
    if (*failed != OK)
        return NAN;
    double *y = x + run->log.n_step;
    for (size_t i = 0; i < run->log.n_step; i++) {
        const struct runlog_step *s = &run->log.step[i];
        x[n] = s->t_comm / s->steps;
        y[n++] = s->t_step / s->steps;
    }
    const double r = series_correlation(x, y, n);
    free(x);
    return r;
}

void answers_pace_follows(struct answer *a, const struct run *run, struct err *err)
{
    if (has_no_network(a, run))
        return;
    const double r = correlate(run, &a->failed, err);

    if (!isfinite(r)) {
        answers_missing(a, "step and network times that vary");
        return;
    }
    answers_number(a, "r = %.2f", r);
    answers_say(a, ANSWER_PLAIN,
                "%s of the variation of the step time goes along with the time spent "
                "waiting for the network. That they move together does not say which "
                "causes which.",
                fmt_percent(r * r).s);
    answers_row(a, err, "entries compared", "%s", fmt_count((double)run->log.n_step).s);
}
