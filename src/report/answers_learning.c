/* Learning: is it done, does it overfit, and the size of its steps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/answers.h"
#include "report/fmt.h"
#include "report/rates.h"
#include "report/run.h"
#include "report/series.h"

enum { MIN_EVALS = 4, MAX_RECENT = 10 };

/* Validation curves without what a resume threw away. */
struct curves {
    struct series loss, bleu, gap; /* gap: validation minus training loss */
};

static status collect(struct curves *c, const struct run *run, struct err *err)
{
    double previous = -INFINITY;

    for (size_t i = 0; i < run->log.n_eval; i++) {
        const struct runlog_eval *e = &run->log.eval[i];
        if (e->is_lost)
            continue;
        const double train = run_train_loss(run, previous, e->step);
        TRY(series_add(&c->loss, e->step, e->valid_loss, err));
        TRY(series_add(&c->gap, e->step, e->valid_loss - train, err));
        if (isfinite(e->bleu))
            TRY(series_add(&c->bleu, e->step, e->bleu, err));
        previous = e->step;
    }
    return OK;
}

static void release(struct curves *c)
{
    series_release(&c->loss);
    series_release(&c->bleu);
    series_release(&c->gap);
}

/* The last half of the evaluations, at least MIN_EVALS and at most MAX_RECENT. */
static size_t n_recent(size_t n)
{
    const size_t half = (n + 1) / 2;

    if (half < MIN_EVALS)
        return n < MIN_EVALS ? n : MIN_EVALS;
    return half > MAX_RECENT ? MAX_RECENT : half;
}

/*
 * The recent evaluations against ln(step): learning curves are nearly straight there over
 * a factor of two, so that k times the steps changes the value by slope ln k.
 */
static status fit_recent(struct series_fit *fit, const struct series *s, struct err *err)
{
    const size_t n = n_recent(s->n);
    struct series logs = {0};

    for (size_t i = s->n - n; i < s->n; i++)
        if (s->x[i] > 0)
            TRY(series_add(&logs, log(s->x[i]), s->y[i], err));
    *fit = series_fit(logs.x, logs.y, logs.n);
    series_release(&logs);
    return OK;
}

static void row_of_gain(struct answer *a, struct err *err, const struct series_fit *fit,
                        const char *label, double factor, const char *unit)
{
    const double gain = fit->slope * log(factor);
    const double spread = fit->t_95 * fit->se * log(factor);

    answers_row(a, err, label, "%s %s (95 %%: %s to %s)", fmt_signed(gain, 3).s, unit,
                fmt_signed(gain - spread, 3).s, fmt_signed(gain + spread, 3).s);
}

/* +1 rising, -1 falling, 0 neither within the 95 % interval of the slope. */
static int direction(const struct series_fit *fit)
{
    const double spread = fit->t_95 * fit->se;

    if (fit->slope - spread > 0)
        return 1;
    return fit->slope + spread < 0 ? -1 : 0;
}

static void say_trained(struct answer *a, const struct series_fit *fit, double level)
{
    const double gain = fit->slope * log(1.1);

    switch (direction(fit)) {
    case -1:
        if (gain < -0.001 * fabs(level)) {
            answers_number(a, "still improving");
            answers_say(a, ANSWER_WATCH,
                        "No: over the last %zu evaluations the validation loss falls "
                        "clearly; a tenth more steps may bring about %.3f.",
                        fit->n, -gain);
            return;
        }
        answers_number(a, "nearly flat");
        answers_say(a, ANSWER_GOOD,
                    "Nearly: the validation loss still falls, but a tenth more steps "
                    "would bring less than a thousandth of it.");
        return;
    case 1:
        answers_number(a, "past its best");
        answers_say(a, ANSWER_WATCH,
                    "More steps of this kind do not help: over the last %zu evaluations "
                    "the validation loss rises.",
                    fit->n);
        return;
    default:
        answers_number(a, "flat within noise");
        answers_say(a, ANSWER_PLAIN,
                    "The last %zu evaluations show neither a fall nor a rise that stands "
                    "out from their own scatter. A falling curve of training loss would "
                    "not change that.",
                    fit->n);
    }
}

static void answer_trained(struct answer *a, const struct curves *c, struct err *err)
{
    struct series_fit loss, bleu;
    const size_t best = series_best(&c->loss, 1);

    a->failed = fit_recent(&loss, &c->loss, err);
    if (a->failed == OK)
        a->failed = fit_recent(&bleu, &c->bleu, err);
    if (a->failed != OK)
        return;
    if (loss.n < MIN_EVALS || !isfinite(loss.slope)) {
        answers_number(a, "too early to tell");
        answers_say(a, ANSWER_UNKNOWN,
                    "A trend needs at least %d evaluations; the log holds %zu.",
                    MIN_EVALS, c->loss.n);
        return;
    }
    say_trained(a, &loss, loss.at_mean);
    answers_row(a, err, "best validation loss", "%s at step %s",
                fmt_number(c->loss.y[best], 4).s, fmt_count(c->loss.x[best]).s);
    row_of_gain(a, err, &loss, "loss, 10 % more steps", 1.1, "nats");
    row_of_gain(a, err, &loss, "loss, 50 % more", 1.5, "nats");
    row_of_gain(a, err, &loss, "loss, twice the steps", 2, "nats");
    if (bleu.n >= MIN_EVALS && isfinite(bleu.slope))
        row_of_gain(a, err, &bleu, "BLEU, 10 % more steps", 1.1, "points");
    answers_row(
        a, err, "how",
        "straight line through the last %zu evaluations over ln(step); it assumes "
        "that the trend goes on, and curves usually flatten",
        loss.n);
}

void answers_learning_trained(struct answer *a, const struct run *run, struct err *err)
{
    struct curves c = {0};

    a->failed = collect(&c, run, err);
    if (a->failed == OK)
        answer_trained(a, &c, err);
    release(&c);
}

/* Validation after its best point: does it rise, and by how much? */
static void say_overfit(struct answer *a, const struct curves *c, size_t best)
{
    const size_t after = c->loss.n - best;
    const struct series_fit fit = series_fit(c->loss.x + best, c->loss.y + best, after);
    const double last = c->loss.y[c->loss.n - 1], low = c->loss.y[best];
    const double rise = (last - low) / fabs(low);

    if (after >= MIN_EVALS && direction(&fit) > 0 && rise > 0.005) {
        answers_number(a, "yes, from step %s on", fmt_count(c->loss.x[best]).s);
        answers_say(
            a, ANSWER_WATCH,
            "Validation loss was lowest at step %s and has risen by %s since. The "
            "model of that step is the better one; it is kept in best_models.",
            fmt_count(c->loss.x[best]).s, fmt_percent(rise).s);
    } else if (after <= 2) {
        answers_number(a, "no");
        answers_say(a, ANSWER_GOOD,
                    "Validation loss was lowest at %s, so the model still learns what "
                    "carries over to sentences it has not seen.",
                    after == 1 ? "the last evaluation" : "the last evaluation but one");
    } else {
        answers_number(a, "no clear sign");
        answers_say(a, ANSWER_PLAIN,
                    "Validation loss was lowest %zu evaluations ago, but what came after "
                    "is not a rise that stands out from its scatter.",
                    after - 1);
    }
}

static void rows_of_gap(struct answer *a, const struct curves *c, const struct run *run,
                        struct err *err)
{
    const size_t last = c->loss.n - 1, n = n_recent(c->gap.n);
    const struct series_fit fit =
        series_fit(c->gap.x + c->gap.n - n, c->gap.y + c->gap.n - n, n);

    answers_row(a, err, "validation loss, last", "%s", fmt_number(c->loss.y[last], 4).s);
    answers_row(a, err, "training loss, same time", "%s",
                fmt_number(c->loss.y[last] - c->gap.y[last], 4).s);
    answers_row(a, err, "gap", isfinite(c->gap.y[last]) ? "%s nats" : "%s",
                fmt_signed(c->gap.y[last], 3).s);
    if (isfinite(fit.slope))
        answers_row(a, err, "trend of the gap", "%s a thousand steps (95 %%: %s to %s)",
                    fmt_signed(1000 * fit.slope, 4).s,
                    fmt_signed(1000 * (fit.slope - fit.t_95 * fit.se), 4).s,
                    fmt_signed(1000 * (fit.slope + fit.t_95 * fit.se), 4).s);
    if (run_config(run, "residual_dropout") > 0)
        answers_row(a, err, "note",
                    "training loss is measured with dropout, which raises it: the gap is "
                    "larger than it looks");
}

void answers_learning_overfit(struct answer *a, const struct run *run, struct err *err)
{
    struct curves c = {0};

    a->failed = collect(&c, run, err);
    const size_t best = series_best(&c.loss, 1);

    if (a->failed == OK && best < c.loss.n && c.loss.n >= MIN_EVALS) {
        say_overfit(a, &c, best);
        rows_of_gap(a, &c, run, err);
    } else if (a->failed == OK) {
        answers_number(a, "too early to tell");
        answers_say(a, ANSWER_UNKNOWN,
                    "It takes at least %d evaluations; the log holds %zu.", MIN_EVALS,
                    c.loss.n);
    }
    release(&c);
}

static void say_rate(struct answer *a, const struct run *run, const struct schedule *s)
{
    if (s->warmup > 0 && run->step < s->warmup)
        answers_say(a, ANSWER_PLAIN,
                    "The run has not left warm-up: the rate still rises until step %s.",
                    fmt_count(s->warmup).s);
    else if (s->warmup > 0)
        answers_say(
            a, ANSWER_PLAIN,
            "The rate rises for %s steps, so that the first, unreliable gradients "
            "do little harm, and then falls.",
            fmt_count(s->warmup).s);
}

static void rows_of_schedule(struct answer *a, const struct run *run, struct err *err)
{
    struct str formula = str_new(4096);
    struct schedule s;
    size_t n;

    if (!rates_schedule(&s, run)) {
        answers_row(a, err, "formula",
                    "missing: the logged configuration does not give a whole policy");
        return;
    }
    say_rate(a, run, &s);
    schedule_describe(&s, &formula);
    answers_row(a, err, "formula", "%s", str_text(&formula));
    str_release(&formula);
    const double gap = rates_difference(&s, run, &n);
    if (gap < 1e-4)
        answers_say(a, ANSWER_GOOD, "All %zu logged rates are what the formula gives.",
                    n);
    else if (isfinite(gap))
        answers_say(a, ANSWER_WATCH,
                    "The logged rates differ from the formula by up to %s.",
                    fmt_percent(gap).s);
}

void answers_learning_rate(struct answer *a, const struct run *run, struct err *err)
{
    const struct runlog_step *last = NULL, *peak = NULL;

    for (size_t i = 0; i < run->log.n_step; i++) {
        const struct runlog_step *s = &run->log.step[i];
        if (s->is_lost || !isfinite(s->rate))
            continue;
        last = s;
        peak = !peak || s->rate > peak->rate ? s : peak;
    }
    if (!last) {
        answers_missing(a, "the log holds no learning rate");
        return;
    }
    answers_number(a, "peak %s", fmt_number(peak->rate, 3).s);
    answers_row(a, err, "highest logged", "%s at step %s", fmt_number(peak->rate, 3).s,
                fmt_count(peak->step).s);
    answers_row(a, err, "last logged", "%s at step %s", fmt_number(last->rate, 3).s,
                fmt_count(last->step).s);
    rows_of_schedule(a, run, err);
}
