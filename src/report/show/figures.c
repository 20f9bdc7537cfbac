#include "report/show/figures.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "page/fmt.h"
#include "page/plot.h"
#include "report/judge/run.h"

/* Everything drawn, by step; work that a resume threw away is not. */
struct curves {
    struct series loss, valid_loss, bleu, forced_bleu, grad_norm;
    struct series data, compute, comm, update, other; /* each on top of those before */
    struct series tokens, gflops, roof;
    double *resume; /* steps at which a session went on */
    size_t n_resumes;
};

static double or_zero(double v)
{
    return isfinite(v) ? v : 0;
}

/* Phase times stack up to the whole step, in milliseconds. */
static status collect_phases(struct curves *c, const struct runlog_step *s,
                             struct err *err)
{
    const double ms = 1000 / s->steps;
    const double data = or_zero(s->t_data), compute = data + or_zero(s->t_compute);
    const double comm = compute + or_zero(s->t_comm);
    const double update = comm + or_zero(s->t_update);

    TRY(series_add(&c->data, s->step, isfinite(s->t_data) ? ms * data : NAN, err));
    TRY(series_add(&c->compute, s->step, isfinite(s->t_compute) ? ms * compute : NAN,
                   err));
    TRY(series_add(&c->comm, s->step, isfinite(s->t_comm) ? ms * comm : NAN, err));
    TRY(series_add(&c->update, s->step, isfinite(s->t_update) ? ms * update : NAN, err));
    return series_add(&c->other, s->step, ms * s->t_step, err);
}

static status collect_steps(struct curves *c, const struct run *run, struct err *err)
{
    for (size_t i = 0; i < run->log.n_step; i++) {
        const struct runlog_step *s = &run->log.step[i];
        const double tokens = s->source_tokens + s->target_tokens;
        if (s->is_lost)
            continue;
        TRY(series_add(&c->loss, s->step, s->loss, err));
        TRY(series_add(&c->grad_norm, s->step, s->grad_norm, err));
        TRY(series_add(&c->gflops, s->step, s->gflops, err));
        TRY(series_add(&c->tokens, s->step,
                       isfinite(tokens) ? tokens / s->t_step : s->tokens_per_s, err));
        TRY(collect_phases(c, s, err));
    }
    return OK;
}

static status collect_evals(struct curves *c, const struct run *run, struct err *err)
{
    for (size_t i = 0; i < run->log.n_eval; i++) {
        const struct runlog_eval *e = &run->log.eval[i];
        if (e->is_lost)
            continue;
        TRY(series_add(&c->valid_loss, e->step,
                       isfinite(e->valid_loss) ? e->valid_loss : e->eval_loss, err));
        TRY(series_add(&c->bleu, e->step, e->bleu, err));
        TRY(series_add(&c->forced_bleu, e->step, 100 * e->forced_bleu, err));
    }
    return OK;
}

static status collect_roof(struct curves *c, const struct run *run, struct err *err)
{
    const struct runlog_start *start = runlog_latest(&run->log);

    if (!start || !isfinite(start->roof_gflops) || c->gflops.n == 0)
        return OK;
    TRY(series_add(&c->roof, c->gflops.x[0], start->roof_gflops, err));
    return series_add(&c->roof, c->gflops.x[c->gflops.n - 1], start->roof_gflops, err);
}

static status collect(struct curves *c, const struct run *run, struct err *err)
{
    TRY(mem_alloc(&c->resume, run->log.n_start, sizeof *c->resume, err));
    for (size_t i = 1; i < run->log.n_start; i++)
        if (isfinite(run->log.start[i].step))
            c->resume[c->n_resumes++] = run->log.start[i].step;
    TRY(collect_steps(c, run, err));
    TRY(collect_evals(c, run, err));
    return collect_roof(c, run, err);
}

static void release(struct curves *c)
{
    series_release(&c->loss);
    series_release(&c->valid_loss);
    series_release(&c->bleu);
    series_release(&c->forced_bleu);
    series_release(&c->grad_norm);
    series_release(&c->data);
    series_release(&c->compute);
    series_release(&c->comm);
    series_release(&c->update);
    series_release(&c->other);
    series_release(&c->tokens);
    series_release(&c->gflops);
    series_release(&c->roof);
    free(c->resume);
}

/* What all plots of a run share. */
static status draw(struct str *out, const struct curves *c, struct plot p,
                   struct err *err)
{
    p.x_unit = "step";
    p.mark = c->resume;
    p.n_marks = c->n_resumes;
    p.mark_name = "resumed";
    return plot_write(out, &p, err);
}

#define CURVES(list) .curve = (list), .n_curves = sizeof(list) / sizeof *(list)

static status draw_loss(struct str *out, const struct curves *c, struct err *err)
{
    const struct plot_curve list[] = {
        {"training", PLOT_THIN, 1, PLOT_NO_BEST, &c->loss},
        {"validation", PLOT_POINTS, 2, PLOT_BEST_LOW, &c->valid_loss},
    };
    return draw(out, c,
                (struct plot){.id = "plot-loss",
                              .title = "Loss",
                              .y_unit = "cross-entropy, nats a token, logarithmic",
                              .is_log = true,
                              .note =
                                  "Training loss is measured with dropout, validation "
                                  "loss without: early on, validation may lie below.",
                              CURVES(list)},
                err);
}

static status draw_bleu(struct str *out, const struct curves *c, struct err *err)
{
    const struct plot_curve list[] = {
        {"translated text", PLOT_POINTS, 3, PLOT_BEST_HIGH, &c->bleu},
        {"teacher-forced", PLOT_DASHED, 5, PLOT_NO_BEST, &c->forced_bleu},
    };
    return draw(out, c,
                (struct plot){.id = "plot-bleu",
                              .title = "BLEU on the validation set",
                              .y_unit = "BLEU, 0 to 100",
                              .note =
                                  "Only \u201ctranslated text\u201d is a translation "
                                  "score. Teacher-forced BLEU predicts each word from "
                                  "the correct words before it, on subwords: it is "
                                  "comparable only with itself.",
                              .from_zero = true,
                              CURVES(list)},
                err);
}

static status draw_grad_norm(struct str *out, const struct curves *c, struct err *err)
{
    const struct plot_curve list[] = {
        {"norm of the whole gradient", PLOT_THIN, 4, PLOT_NO_BEST, &c->grad_norm},
    };
    return draw(out, c,
                (struct plot){.id = "plot-grad",
                              .title = "Gradient norm",
                              .y_unit = "Euclidean norm, logarithmic",
                              .note = "Before clipping. Spikes that come with a jump of "
                                      "the loss are worth a look.",
                              .is_log = true,
                              CURVES(list)},
                err);
}

/* A run of one process has no network to show. */
static bool is_networked(const struct curves *c)
{
    for (size_t i = 0; i < c->comm.n; i++)
        if (c->comm.y[i] > c->compute.y[i])
            return true;
    return false;
}

static status draw_step_time(struct str *out, const struct curves *c, struct err *err)
{
    struct plot_curve list[5];
    size_t n = 0;

    list[n++] = (struct plot_curve){"other", PLOT_AREA, 6, PLOT_NO_BEST, &c->other};
    list[n++] = (struct plot_curve){"update", PLOT_AREA, 4, PLOT_NO_BEST, &c->update};
    if (is_networked(c))
        list[n++] = (struct plot_curve){"exchange", PLOT_AREA, 2, PLOT_NO_BEST, &c->comm};
    list[n++] = (struct plot_curve){"compute", PLOT_AREA, 1, PLOT_NO_BEST, &c->compute};
    list[n++] = (struct plot_curve){"data", PLOT_AREA, 3, PLOT_NO_BEST, &c->data};
    return draw(out, c,
                (struct plot){.id = "plot-step",
                              .title = "Time of a step",
                              .y_unit = "milliseconds a step",
                              .note = "Stacked: the legend names the layers from top to "
                                      "bottom. Data and exchange "
                                      "(with other ranks) are waiting, compute and "
                                      "update are work.",
                              .from_zero = true,
                              .curve = list,
                              .n_curves = n},
                err);
}

static status draw_tokens(struct str *out, const struct curves *c, struct err *err)
{
    const struct plot_curve list[] = {
        {"source + target tokens", PLOT_LINE, 3, PLOT_NO_BEST, &c->tokens},
    };
    return draw(out, c,
                (struct plot){.id = "plot-tokens",
                              .title = "Throughput",
                              .y_unit = "tokens a second",
                              .note = "While stepping; evaluations and saves are apart.",
                              .from_zero = true,
                              CURVES(list)},
                err);
}

static status draw_all(struct str *out, const struct curves *c, struct err *err)
{
    TRY(draw_loss(out, c, err));
    TRY(draw_bleu(out, c, err));
    TRY(draw_grad_norm(out, c, err));
    TRY(draw_step_time(out, c, err));
    return draw_tokens(out, c, err);
}

status figures_write(struct str *out, const struct run *run, struct err *err)
{
    struct curves c = {0};

    status result = collect(&c, run, err);
    if (result == OK)
        result = draw_all(out, &c, err);
    release(&c);
    return result;
}

static status draw_arithmetic(struct str *out, const struct curves *c, struct err *err)
{
    const struct plot_curve list[] = {
        {"achieved", PLOT_LINE, 1, PLOT_NO_BEST, &c->gflops},
        {"measured roof", PLOT_RULE, 2, PLOT_NO_BEST, &c->roof},
    };
    return draw(out, c,
                (struct plot){.id = "plot-flops",
                              .title = "Arithmetic rate",
                              .y_unit = "GFLOP/s",
                              .from_zero = true,
                              .curve = list,
                              .n_curves = c->roof.n ? 2 : 1},
                err);
}

status figures_arithmetic(struct str *out, const struct run *run, struct err *err)
{
    struct curves c = {0};

    status result = collect(&c, run, err);
    if (result == OK && series_best(&c.gflops, 1) < c.gflops.n)
        result = draw_arithmetic(out, &c, err);
    release(&c);
    return result;
}
