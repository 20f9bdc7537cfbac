/* A console log and the events of the same run, taken together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "page/series.h"
#include "report/read/foreign.h"

/* Losses are printed with four digits. */
static const double SAME = 6e-4;

/* The entry of a step that stands, or NULL. Steps ascend but for what was lost. */
static const struct runlog_step *step_at(const struct runlog *log, double step)
{
    size_t at = runlog_find(log, 0, log->n_step, step);

    for (; at < log->n_step && log->step[at].step == step; at++)
        if (!log->step[at].is_lost)
            return &log->step[at];
    return NULL;
}

/* Steps that both logs have when one counts `off` more, and those with the same loss. */
static void count_common(const struct runlog *a, const struct runlog *b, double off,
                         size_t *common, size_t *same)
{
    *common = *same = 0;
    for (size_t i = 0; i < a->n_step; i++) {
        const struct runlog_step *s = step_at(b, a->step[i].step + off);
        if (!s || !isfinite(s->loss) || !isfinite(a->step[i].loss))
            continue;
        ++*common;
        *same += fabs(s->loss - a->step[i].loss) <= SAME;
    }
}

/* By how much the events count more, so that half of the common losses are the same; NAN
 * when they are of another run. *has_common: there is a step to compare. */
static double find_offset(const struct runlog *a, const struct runlog *b,
                          bool *has_common)
{
    static const double tried[] = {0, 1, -1};
    size_t common, same;

    *has_common = false;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        count_common(a, b, tried[i], &common, &same);
        *has_common |= common > 0;
        if (common && 2 * same >= common)
            return tried[i];
    }
    return NAN;
}

/* Rates and norms; and the clock, which the events have to the second. */
static status add_fields(struct runlog *a, const struct runlog *b, double off,
                         struct err *err)
{
    double *shift;
    size_t n = 0;

    TRY(mem_alloc(&shift, a->n_step, sizeof *shift, err));
    for (size_t i = 0; i < a->n_step; i++) {
        struct runlog_step *to = &a->step[i];
        const struct runlog_step *from = step_at(b, to->step + off);
        if (!from)
            continue;
        to->rate = isfinite(to->rate) ? to->rate : from->rate;
        to->grad_norm = isfinite(to->grad_norm) ? to->grad_norm : from->grad_norm;
        if (isfinite(from->t - to->t))
            shift[n++] = from->t - to->t;
    }
    if (n) {
        series_sort(shift, n);
        runlog_shift(a, shift[n / 2]);
        a->foreign.has_no_clock = a->foreign.has_no_zone = false;
    }
    free(shift);
    return OK;
}

static int by_step(const void *a, const void *b)
{
    const struct runlog_step *x = a, *y = b;

    return (x->step > y->step) - (x->step < y->step);
}

static int by_eval_step(const void *a, const void *b)
{
    const struct runlog_eval *x = a, *y = b;

    return (x->step > y->step) - (x->step < y->step);
}

/* Whether an entry of the console covers the step; its first n ascend. */
static bool is_covered(const struct runlog *log, size_t n, double step)
{
    const size_t at = runlog_find(log, 0, n, step - 1);

    return at < n && log->step[at].step - log->step[at].steps <= step;
}

/* Steps that the console lacks: before it, after it, and in its holes. */
static status add_steps(struct runlog *a, const struct runlog *b, double off,
                        struct err *err)
{
    const size_t n = a->n_step;
    const double first = n ? a->step[0].step : NAN;

    for (size_t i = 0; i < b->n_step; i++) {
        struct runlog_step s = b->step[i];
        s.step -= off;
        if (s.is_lost || is_covered(a, n, s.step))
            continue;
        TRY(mem_grow(&a->step, &a->cap_step, a->n_step + 1, sizeof *a->step, err));
        if (s.step < first)
            a->foreign.begins_at = NAN;
        else if (s.step < a->step[n - 1].step)
            a->foreign.steps_missing = fmax(0, a->foreign.steps_missing - s.steps);
        s.session = a->step[0].session;
        s.is_first = false;
        a->step[a->n_step++] = s;
    }
    if (a->n_step > n) {
        qsort(a->step, a->n_step, sizeof *a->step, by_step);
        a->t_first = fmin(a->t_first, b->t_first);
        a->t_last = fmax(a->t_last, b->t_last);
    }
    return OK;
}

/* Whether one of the ascending steps lies beside this one. */
static bool has_step(const double *steps, size_t n, double step)
{
    size_t from = 0, to = n;

    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (steps[middle] < step - 1)
            from = middle + 1;
        else
            to = middle;
    }
    return to < n && steps[to] <= step + 1;
}

static status add_evals(struct runlog *a, const struct runlog *b, double off,
                        struct err *err)
{
    const size_t n = a->n_eval;
    RELEASED_BY(mem_release) double *steps = NULL;
    double added = NAN; /* the last one; theirs ascend but for what was lost */

    TRY(mem_alloc(&steps, n, sizeof *steps, err));
    for (size_t i = 0; i < n; i++)
        steps[i] = a->eval[i].step;
    series_sort(steps, n);
    for (size_t i = 0; i < b->n_eval; i++) {
        struct runlog_eval e = b->eval[i];
        e.step -= off;
        if (e.is_lost || has_step(steps, n, e.step) || fabs(e.step - added) <= 1)
            continue;
        added = e.step;
        TRY(mem_grow(&a->eval, &a->cap_eval, a->n_eval + 1, sizeof *a->eval, err));
        e.bleu_signature = NULL; /* stays with its owner */
        a->eval[a->n_eval++] = e;
        a->all.n_evals++;
    }
    if (a->n_eval > n)
        qsort(a->eval, a->n_eval, sizeof *a->eval, by_eval_step);
    return OK;
}

status foreign_join(struct runlog *console, const struct runlog *events, bool *is_joined,
                    struct err *err)
{
    bool has_common;
    const double off = find_offset(console, events, &has_common);

    *is_joined = has_common;
    if (!has_common)
        return OK;
    if (!isfinite(off))
        return err_set(err, ERR_FORMAT,
                       "the console log and the events are of different runs: their "
                       "losses at the same steps differ; with join=false they are put "
                       "side by side");
    TRY(add_fields(console, events, off, err));
    if (console->n_start == 1)
        TRY(add_steps(console, events, off, err));
    TRY(add_evals(console, events, off, err));
    console->foreign.origin = "OpenSeq2Seq, from its console log and events";
    return OK;
}
