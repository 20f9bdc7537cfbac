/* Learning: is it done, does it overfit, and the size of its steps. */
#include <math.h>
#include <string.h>

#include "report/judge/answers.h"
#include "report/judge/known_runs.h"
#include "report/judge/run.h"

enum { MIN_EVALS = 4 };

/* What more steps would bring: a gain and its interval, under names and in words. */
static void rows_of_gain(struct answer *a, const struct fit *fit, const char *name,
                         bool is_bleu)
{
    static const struct {
        int percent; /* more */
        const char *words;
    } futures[] = {{10, "10 % more steps"}, {50, "50 % more"}, {100, "twice the steps"}};
    const int digits = is_bleu ? 2 : 3;

    for (size_t i = 0; i < sizeof futures / sizeof *futures; i++) {
        const struct fit_range g = fit_gain(fit, 1 + 0.01 * futures[i].percent);
        const double v[] = {g.mid, g.low, g.high};
        for (int k = 0; k < 3; k++)
            answers_value(a,
                          fmt_printf("%s_gain_%d%s", is_bleu ? "bleu" : "loss",
                                     futures[i].percent,
                                     (const char *[]){"", "_low", "_high"}[k])
                              .s,
                          v[k]);
        answers_row(
            a, fmt_printf("%s, %s", name, futures[i].words).s, "%s %s (95 %%: %s to %s)",
            fmt_signed(is_bleu ? g.mid : -g.mid, digits).s, is_bleu ? "points" : "nats",
            fmt_signed(is_bleu ? g.low : -g.high, digits).s,
            fmt_signed(is_bleu ? g.high : -g.low, digits).s);
    }
}

static const char *name_of_bleu(const struct learning *l)
{
    return l->bleu_is_forced ? "teacher-forced BLEU" : "BLEU";
}

static void rows_of_gains(struct answer *a, const struct learning *l)
{
    rows_of_gain(a, &l->fit_loss, "loss", false);
    if (l->fit_bleu.is_known)
        rows_of_gain(a, &l->fit_bleu, name_of_bleu(l), true);
    else
        answers_row(a, "BLEU", "missing: fewer than %d evaluations have one",
                    FIT_MIN_POINTS);
}

/* Good news while it runs; of a run that ended, something to act on. */
static void say_improving(struct answer *a, const struct run *run)
{
    const struct learning *l = &run->learning;
    const enum answer_tone tone = run->state == RUN_RUNNING ? ANSWER_PLAIN : ANSWER_WATCH;

    if (l->gain.high > 4 * l->gain.low)
        answers_say(a, tone,
                    "No: it still improves, but %zu evaluations do not tell how much. "
                    "Half as many steps again would lower the validation loss by %s to "
                    "%s (95 %%).",
                    l->fit_loss.n, fmt_number(l->gain.low, 2).s,
                    fmt_number(l->gain.high, 2).s);
    else
        answers_say(a, tone,
                    "No: half as many steps again would lower the validation loss by "
                    "about %s (95 %%: %s to %s).",
                    fmt_number(l->gain.mid, 2).s, fmt_number(l->gain.low, 2).s,
                    fmt_number(l->gain.high, 2).s);
}

/* Which evaluations count: those of a loss, after the first step. */
static void say_early(struct answer *a, const struct learning *l)
{
    size_t before = 0, without = 0;

    for (size_t i = 0; i < l->loss.n; i++)
        if (!isfinite(l->loss.y[i]))
            without++;
        else if (!(l->loss.x[i] > 0))
            before++;
    answers_say(
        a, ANSWER_UNKNOWN,
        "A trend needs %d evaluations after the first step; the log holds %zu%s%s.",
        FIT_MIN_POINTS, l->loss.n - before - without,
        before ? fmt_printf(", and %zu from before it", before).s : "",
        without ? fmt_printf(", and %zu without a loss", without).s : "");
}

static void say_trained(struct answer *a, const struct run *run)
{
    const struct learning *l = &run->learning;

    switch (l->trend) {
    case LEARNING_IMPROVING:
        say_improving(a, run);
        break;
    case LEARNING_SLOWING:
        answers_say(a, ANSWER_PLAIN,
                    "Nearly: half as many steps again would lower the validation loss by "
                    "about %s (95 %%: %s to %s), about a hundredth of it or less.",
                    fmt_number(l->gain.mid, 2).s, fmt_number(l->gain.low, 2).s,
                    fmt_number(l->gain.high, 2).s);
        break;
    case LEARNING_CONVERGED:
        answers_say(a, ANSWER_GOOD,
                    "Yes, as far as this data, model and learning rate go: half as many "
                    "steps again would lower the validation loss by %s at most (95 %%).",
                    fmt_number(l->gain.high, 2).s);
        break;
    case LEARNING_PAST_BEST:
        answers_say(a, ANSWER_WATCH,
                    "More steps of this kind do not help: the validation loss was lowest "
                    "at step %s and rises since.",
                    fmt_count(l->turned_at).s);
        break;
    case LEARNING_DIVERGED:
        answers_say(a, ANSWER_WATCH,
                    "It diverged: the training loss had reached %s and ended at %s.",
                    fmt_number(l->low_loss, 3).s, fmt_number(l->last_loss, 3).s);
        break;
    case LEARNING_UNCLEAR:
        answers_say(a, ANSWER_PLAIN,
                    "The %zu evaluations scatter by %s. They allow that half as many "
                    "steps again lower the validation loss by %s, and that they hardly "
                    "do: more evaluations will tell.",
                    l->fit_loss.n, fmt_number(l->fit_loss.noise, 2).s,
                    fmt_number(l->gain.high, 2).s);
        break;
    case LEARNING_EARLY:
        say_early(a, l);
    }
}

/* Where a curve is at the number of steps that was asked for. */
static void row_of_asked(struct answer *a, const struct fit *fit, const char *name,
                         double at, bool is_bleu)
{
    const struct fit_range v = fit_value(fit, at, is_bleu ? -1 : 1);

    answers_value(a, is_bleu ? "bleu_gain_asked" : "loss_gain_asked",
                  fit_gain(fit, at / fit->to).mid);
    answers_row(a, fmt_printf("%s at %s steps", name, fmt_count(at).s).s,
                "about %s (95 %%: %s to %s)", fmt_number(v.mid, 3).s,
                fmt_number(v.low, 3).s, fmt_number(v.high, 3).s);
}

static void rows_of_asked(struct answer *a, const struct run *run)
{
    const struct learning *l = &run->learning;
    const double at = run->to_steps;

    if (!(at > l->fit_loss.to))
        return;
    answers_value(a, "asked_steps", at);
    row_of_asked(a, &l->fit_loss, "validation loss", at, false);
    if (l->fit_bleu.is_known && at > l->fit_bleu.to)
        row_of_asked(a, &l->fit_bleu, name_of_bleu(l), at, true);
}

static void rows_of_bleu(struct answer *a, const struct learning *l)
{
    const size_t top = series_best(&l->bleu, -1);

    if (top == l->bleu.n)
        return;
    answers_value(a, "best_bleu", l->bleu.y[top]);
    answers_value(a, "best_bleu_step", l->bleu.x[top]);
    answers_value(a, "last_bleu", l->bleu.y[l->bleu.n - 1]);
    answers_row(a, fmt_printf("best %s", name_of_bleu(l)).s,
                l->bleu_is_forced ? "%s at step %s, of pieces predicted from the correct "
                                    "ones before: no score of a translation"
                                  : "%s at step %s",
                fmt_number(l->bleu.y[top], 4).s, fmt_count(l->bleu.x[top]).s);
}

void answers_learning_trained(struct answer *a, const struct run *run)
{
    const struct learning *l = &run->learning;

    a->code = learning_trends[l->trend].code;
    answers_number(a, "%s", learning_trends[l->trend].text);
    say_trained(a, run);
    if (l->best < l->loss.n) {
        answers_value(a, "best_loss", l->loss.y[l->best]);
        answers_value(a, "best_loss_step", l->loss.x[l->best]);
        answers_row(a, "best validation loss", "%s at step %s",
                    fmt_number(l->loss.y[l->best], 4).s, fmt_count(l->loss.x[l->best]).s);
    }
    rows_of_bleu(a, l);
    known_runs_loss(a, run);
    if (!l->fit_loss.is_known)
        return;
    rows_of_gains(a, l);
    rows_of_asked(a, run);
    answers_row(a, "how",
                "all power laws that flatten, each weighed by how probable it makes the "
                "%zu evaluations from step %s on; 95 %% of that weight lies in the "
                "interval. It assumes that nothing changes: data, model, course of "
                "the learning rate",
                l->fit_loss.n, fmt_count(l->fit_loss.from).s);
    a->figure = ANSWER_FORECAST;
}

static void say_overfit(struct answer *a, const struct learning *l)
{
    const size_t since = l->loss.n - 1 - l->best;

    answers_number(a, "%s", learning_overfits[l->overfit].text);
    switch (l->overfit) {
    case OVERFIT_YES:
        answers_number(a, ", from step %s on", fmt_count(l->turned_at).s);
        answers_say(a, ANSWER_WATCH,
                    "Validation loss turned at step %s and has risen by %s since. The "
                    "model of the lowest point is the better one; best_models keeps "
                    "it.",
                    fmt_count(l->turned_at).s, fmt_percent(l->rise).s);
        break;
    case OVERFIT_NO:
        answers_say(a, ANSWER_GOOD,
                    "Validation loss was lowest at %s, so the model still learns what "
                    "carries over to sentences it has not seen.",
                    since == 0 ? "the last evaluation" : "the last evaluation but one");
        break;
    case OVERFIT_UNCLEAR:
        answers_say(a, ANSWER_PLAIN,
                    "Validation loss was lowest %zu evaluations ago, but what came after "
                    "is not a rise that stands out from its scatter.",
                    since);
        break;
    case OVERFIT_EARLY:
        answers_say(a, ANSWER_UNKNOWN,
                    "It takes at least %d evaluations; the log holds %zu.", MIN_EVALS,
                    l->loss.n);
    }
}

/* Those of these options, up to a NULL, that are on: "rdrop=5, layer_drop=0.1". */
static void list_options(struct str *list, const struct run *run, const char *const *name)
{
    for (; *name; name++)
        if (run_config(run, *name) > 0)
            str_printf(list, "%s%s=%s", list->len ? ", " : "", *name,
                       runlog_config(&run->log, *name));
}

static void row_of_gap_trend(struct answer *a, const struct learning *l)
{
    const size_t half = (l->gap.n + 1) / 2, n = half < MIN_EVALS ? MIN_EVALS : half;
    const size_t from = l->gap.n > n ? l->gap.n - n : 0;
    const struct series_fit fit =
        series_fit(l->gap.x + from, l->gap.y + from, l->gap.n - from);

    if (!isfinite(fit.slope))
        return;
    answers_value(a, "gap_per_1000_steps", 1000 * fit.slope);
    answers_row(a, "trend of the gap", "%s per thousand steps (95 %%: %s to %s)",
                fmt_signed(1000 * fit.slope, 4).s,
                fmt_signed(1000 * (fit.slope - fit.t_95 * fit.se), 4).s,
                fmt_signed(1000 * (fit.slope + fit.t_95 * fit.se), 4).s);
}

static void rows_of_gap(struct answer *a, const struct run *run)
{
    const struct learning *l = &run->learning;
    const size_t last = l->loss.n - 1;

    answers_value(a, "gap", l->gap.y[last]);
    answers_value(a, "turned_at", l->turned_at);
    answers_value(a, "rise", l->rise);
    answers_row(a, "validation loss, last", "%s", fmt_number(l->loss.y[last], 4).s);
    answers_row(a, "training loss, same step", "%s",
                fmt_number(l->loss.y[last] - l->gap.y[last], 4).s);
    answers_row(a, "gap", isfinite(l->gap.y[last]) ? "%s nats" : "%s",
                fmt_signed(l->gap.y[last], 3).s);
    row_of_gap_trend(a, l);
    RELEASED_BY(str_release) struct str raising = str_new(0);
    list_options(&raising, run, run_hardships);
    if (raising.len)
        answers_row(a, "note",
                    "training loss is measured with %s, which raises it: the gap is "
                    "larger than it looks",
                    str_text(&raising));
    RELEASED_BY(str_release) struct str varying = str_new(0);
    list_options(&varying, run, run_variations);
    if (varying.len)
        answers_row(a, "note",
                    "with %s training loss is of other pieces or other text than "
                    "validation loss: the gap is not of overfitting alone",
                    str_text(&varying));
    a->figure = ANSWER_GAP;
}

/* What a run does against learning its text by heart. */
static void rows_of_means(struct answer *a, const struct run *run)
{
    static const char *const others[] = {"label_smoothing", "moving_average", "simcut",
                                         "rdrop", NULL};
    RELEASED_BY(str_release) struct str list = str_new(0);
    const struct runlog *log = &run->log;

    list_options(&list, run, run_hardships);
    list_options(&list, run, run_variations);
    list_options(&list, run, others);
    const char *smoothing = runlog_config(log, "smoothing");
    if (list.len && smoothing && strcmp(smoothing, "uniform") != 0)
        str_printf(&list, ", smoothing=%s", smoothing);
    if (list.len)
        answers_row(a, "against it", "%s", str_text(&list));
    const struct runlog_step *last = log->n_step ? &log->step[log->n_step - 1] : NULL;
    if (last && isfinite(last->target_weight))
        answers_row(a, "weights of pairs, last", "a target token counts %s on average",
                    fmt_number(last->target_weight / last->target_tokens, 4).s);
    if (last && isfinite(last->disagreement))
        answers_row(a, "disagreement of views, last", "%s nats, of the loss",
                    fmt_number(last->disagreement, 4).s);
}

void answers_learning_overfit(struct answer *a, const struct run *run)
{
    a->code = learning_overfits[run->learning.overfit].code;
    say_overfit(a, &run->learning);
    rows_of_means(a, run);
    if (run->learning.overfit != OVERFIT_EARLY)
        rows_of_gap(a, run);
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

static void rows_of_schedule(struct answer *a, const struct run *run)
{
    struct str formula = str_new(4096);
    struct schedule s;
    size_t n;

    if (!run_schedule(&s, run)) {
        answers_row(a, "formula",
                    "missing: the logged configuration does not give a whole policy");
        return;
    }
    say_rate(a, run, &s);
    schedule_describe(&s, &formula);
    answers_row(a, "formula", "%s", str_text(&formula));
    str_release(&formula);
    const double gap = run_rate_difference(&s, run, &n);
    answers_value(a, "largest_difference", n ? gap : NAN);
    answers_value(a, "warmup_steps", s.warmup);
    if (gap < 1e-4)
        answers_say(a, ANSWER_PLAIN, "All %zu logged rates are what the formula gives.",
                    n);
    else if (isfinite(gap))
        answers_say(a, ANSWER_WATCH,
                    "The logged rates differ from the formula by up to %s.",
                    fmt_percent(gap).s);
}

/* No rate was logged: the formula of the configuration gives it. */
static void answer_formula(struct answer *a, const struct run *run)
{
    struct schedule s;

    if (!run_schedule(&s, run) || !(run->step >= 0 && run->step <= 1e15)) {
        answers_missing(a, "the log holds neither a learning rate nor its formula");
        return;
    }
    const int64_t last = (int64_t)run->step,
                  top = s.warmup > 0 && s.warmup < run->step ? (int64_t)s.warmup : last;
    const double peak = fmax(schedule_rate(&s, top), schedule_rate(&s, last)),
                 at = schedule_rate(&s, top) >= schedule_rate(&s, last) ? (double)top
                                                                        : run->step;
    a->code = "computed";
    answers_number(a, "peak %s", fmt_number(peak, 3).s);
    answers_value(a, "peak_rate", peak);
    answers_value(a, "peak_step", at);
    answers_value(a, "last_rate", schedule_rate(&s, last));
    answers_say(a, ANSWER_PLAIN, "Computed from the configuration that the log prints.");
    answers_row(a, "highest so far", "%s at step %s", fmt_number(peak, 3).s,
                fmt_count(at).s);
    answers_row(a, "at the last step", "%s at step %s",
                fmt_number(schedule_rate(&s, last), 3).s, fmt_count(run->step).s);
    rows_of_schedule(a, run);
    a->figure = ANSWER_RATE;
}

void answers_learning_rate(struct answer *a, const struct run *run)
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
        answer_formula(a, run);
        return;
    }
    answers_number(a, "peak %s", fmt_number(peak->rate, 3).s);
    answers_value(a, "peak_rate", peak->rate);
    answers_value(a, "peak_step", peak->step);
    answers_value(a, "last_rate", last->rate);
    answers_row(a, "highest logged", "%s at step %s", fmt_number(peak->rate, 3).s,
                fmt_count(peak->step).s);
    answers_row(a, "last logged", "%s at step %s", fmt_number(last->rate, 3).s,
                fmt_count(last->step).s);
    a->code = "logged";
    rows_of_schedule(a, run);
    a->figure = ANSWER_RATE;
}
