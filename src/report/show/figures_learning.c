/* Pictures of the answers about learning: forecast, gap, learning rate. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "page/plot.h"
#include "report/judge/run.h"
#include "report/show/figures.h"

enum { POINTS = 60 };

/* The evaluations, and the fitted curve from its first point to twice the last, in equal
 * factors: its middle, and its lower and upper limit beyond the last. */
static status collect_forecast(struct series f[4], const struct learning *l,
                               struct err *err)
{
    const struct fit *fit = &l->fit_loss;
    const double factor = 2 * fit->to / fit->from;

    for (size_t i = 0; i < l->loss.n; i++)
        if (l->loss.x[i] >= fit->from)
            TRY(series_add(&f[0], l->loss.x[i], l->loss.y[i], err));
    for (int i = 0; i <= POINTS; i++) {
        const double x = fit->from * pow(factor, (double)i / POINTS);
        const struct fit_range v = fit_value(fit, x, 1);
        TRY(series_add(&f[1], x, v.mid, err));
        TRY(series_add(&f[2], x, x >= fit->to ? v.low : NAN, err));
        TRY(series_add(&f[3], x, x >= fit->to ? v.high : NAN, err));
    }
    return OK;
}

status figures_forecast(struct str *out, const struct run *run, struct err *err)
{
    const struct learning *l = &run->learning;
    struct series f[4] = {0};

    status result = collect_forecast(f, l, err);
    const struct plot_curve list[] = {
        {"evaluations", PLOT_DOTS, 2, PLOT_NO_BEST, &f[0]},
        {"fitted curve", PLOT_LINE, 1, PLOT_NO_BEST, &f[1]},
        {"95 % interval", PLOT_RULE, 6, PLOT_NO_BEST, &f[2]},
        {NULL, PLOT_RULE, 6, PLOT_NO_BEST, &f[3]},
    };
    if (result == OK)
        result = plot_write(out,
                            &(struct plot){.id = "plot-forecast",
                                           .title = "Where the validation loss is going",
                                           .y_unit = "nats per token",
                                           .x_unit = "step",
                                           .mark = &l->fit_loss.to,
                                           .n_marks = 1,
                                           .mark_name = "last evaluation",
                                           .curve = list,
                                           .n_curves = 4},
                            err);
    for (size_t i = 0; i < 4; i++)
        series_release(&f[i]);
    return result;
}

status figures_gap(struct str *out, const struct run *run, struct err *err)
{
    const struct learning *l = &run->learning;
    const struct plot_curve list[] = {
        {"validation minus training loss", PLOT_POINTS, 5, PLOT_NO_BEST, &l->gap},
    };
    const bool has_turned = isfinite(l->turned_at);

    return plot_write(out,
                      &(struct plot){.id = "plot-gap",
                                     .title = "The gap",
                                     .y_unit = "nats per token",
                                     .x_unit = "step",
                                     .mark = &l->turned_at,
                                     .n_marks = has_turned ? 1 : 0,
                                     .mark_name = "validation turned",
                                     .curve = list,
                                     .n_curves = 1},
                      err);
}

static status collect_rates(struct series *logged, struct series *computed,
                            const struct run *run, const struct schedule *s,
                            struct err *err)
{
    double last = 0;

    for (size_t i = 0; i < run->log.n_step; i++) {
        const struct runlog_step *e = &run->log.step[i];
        if (e->is_lost)
            continue;
        TRY(series_add(logged, e->step, e->rate, err));
        last = fmax(last, e->step);
    }
    if (!s || !(last <= 1e15))
        return OK;
    const double end =
        fmax(last, fmin(s->last_step, run->log.foreign.origin ? last : 4 * last));
    for (int i = 0; i <= 4 * POINTS; i++) {
        const double step = 1 + (end - 1) * i / (4 * POINTS);
        TRY(series_add(computed, step, schedule_rate(s, (int64_t)step - 1), err));
    }
    return OK;
}

status figures_rate(struct str *out, const struct run *run, struct err *err)
{
    struct series logged = {0}, computed = {0};
    struct schedule schedule;
    const bool has_schedule = run_schedule(&schedule, run);

    status result =
        collect_rates(&logged, &computed, run, has_schedule ? &schedule : NULL, err);
    const bool is_logged = series_best(&logged, 1) < logged.n;
    const struct plot_curve list[] = {
        {"computed by the formula", is_logged ? PLOT_BAND : PLOT_RULE, 2, PLOT_NO_BEST,
         &computed},
        {"logged", PLOT_LINE, 1, PLOT_NO_BEST, &logged},
    };
    if (result == OK)
        result = plot_write(
            out,
            &(struct plot){.id = "plot-rate",
                           .title = "Learning rate",
                           .y_unit = "step size",
                           .x_unit = "step",
                           .from_zero = true,
                           .mark = &schedule.warmup,
                           .n_marks = has_schedule && schedule.warmup > 0 ? 1 : 0,
                           .mark_name = "warm-up ends, decay begins",
                           .curve = list + (has_schedule ? 0 : 1),
                           .n_curves = (is_logged ? 1U : 0U) + (has_schedule ? 1U : 0U)},
            err);
    series_release(&logged);
    series_release(&computed);
    return result;
}
