/* Time: of the run, of a step, of its phases, and of the network. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "page/series.h"
#include "report/judge/answers.h"
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
                    run->log.foreign.has_no_end ? "such files do not tell when a run ends"
                    : run->log.foreign.origin   ? "no line says that it finished"
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
    if (run->log.all.n_starts > 1)
        answers_say(a, a->tone, "It ran in %zu sessions; %s.", run->log.all.n_starts,
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
    if (!(run->times.a_step > 0)) {
        answers_row(a, "more steps", "too few steps to tell how long more would take");
        return;
    }
    answers_value(a, "seconds_a_step_with_everything", run->times.a_step);
    if (run->to_steps >= 1)
        row_of_length(a, run, run->to_steps);
    if (run->max_steps > run->step && run->max_steps != run->to_steps)
        row_of_length(a, run, run->max_steps);
    if (run->state == RUN_FINISHED || run->state == RUN_STOPPED)
        row_of_length(a, run, 2 * run->step);
    answers_row(a, "at a pace of",
                "%s per step, evaluations and saves included; `steps=N` asks for another "
                "number of steps",
                fmt_seconds(run->times.a_step).s);
}

static void say_remaining(struct answer *a, const struct run *run)
{
    if (run->state == RUN_RUNNING && !isfinite(run->times.a_step))
        answers_say(a, a->tone, "Too few steps were logged to foretell the rest.");
    if (!isfinite(run->times.to_go))
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
                    run->log.all.n_evals,
                    fmt_seconds(t->in_evals / (double)t->n_evals_timed).s);
    else
        answers_row(a, "evaluations", "%zu, taking %s", run->log.all.n_evals,
                    t->in_evals > 0 ? fmt_seconds(t->in_evals).s : "a time not logged");
}

void answers_pace_time(struct answer *a, const struct run *run)
{
    const struct run_times *t = &run->times;

    if (!isfinite(t->wall) || run->log.n_step + run->log.n_eval == 0) {
        answers_missing(a, "the log holds no entry with a time");
        return;
    }
    a->code = run_state_codes[run->state];
    answers_value(a, "steps", run->step);
    answers_value(a, "sessions", (double)run->log.all.n_starts);
    answers_value(a, "steps_lost", run->steps_lost);
    bar_of_time(a, t);
    answers_number(a, "%s", fmt_seconds(t->wall).s);
    say_extent(a, run);
    if (run->pace.mean > 0)
        answers_say(a, a->tone,
                    "A step took %s on average, which is %s steps per second.",
                    fmt_seconds(run->pace.mean).s, fmt_number(1 / run->pace.mean, 3).s);
    say_sessions(a, run);
    say_remaining(a, run);
    row_of_end(a, run);
    row_of_evals(a, run);
    rows_of_gaps(a, run);
    rows_of_lengths(a, run);
}

/* "0.250 s per step, 4.00 steps per second": both, so that neither is taken for the
 * other. */
static void row_of_pace(struct answer *a, const char *label, double t)
{
    answers_row(a, label, "%s seconds per step = %s steps per second", fmt_number(t, 3).s,
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
        answers_row(a, "left out", "%s step%s of entries whose time holds an evaluation",
                    fmt_count(p->n_with_evals).s, p->n_with_evals == 1 ? "" : "s");
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
    answers_number(a, "%s per step", fmt_seconds(p->mean).s);
    values_of_step(a, p);
    answers_say(
        a, ANSWER_PLAIN,
        "That is %s steps per second, over %s steps. Half of the steps took at most "
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
        answers_row(a, "as the log itself averages", "%s per step, evaluations included",
                    fmt_seconds(run->log.foreign.t_step).s);
    known_runs_pace(a, run);
}
