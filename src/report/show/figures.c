#include "report/show/figures.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "page/fmt.h"
#include "page/plot.h"
#include "report/judge/run.h"

enum { CURVES_MAX = 5 };

/* What a curve shows. The times of phases are in their order, each on top of those
 * before. */
enum quantity {
    LOSS,
    GRAD_NORM,
    TOKENS,
    GFLOPS,
    DATA,
    COMPUTE,
    COMM,
    UPDATE,
    STEP,
    OF_EVALS, /* from here on of evaluations */
    VALID_LOSS = OF_EVALS,
    BLEU,
    FORCED_BLEU,
    ROOF /* a line at the measured rate, over all steps */
};

struct curve {
    const char *name;
    enum plot_kind kind;
    int color;
    enum quantity y;
    enum plot_best best;
};

struct figure {
    struct plot plot; /* without its curves */
    struct curve curve[CURVES_MAX];
};

static const struct figure figures[] = {
    {{.id = "plot-loss",
      .title = "Loss",
      .y_unit = "cross-entropy, nats per token, logarithmic",
      .note = "Training loss is measured with dropout, validation loss without: early "
              "on, validation may lie below.",
      .is_log = true},
     {{"training", PLOT_THIN, 1, LOSS},
      {"validation", PLOT_POINTS, 2, VALID_LOSS, PLOT_BEST_LOW}}},
    {{.id = "plot-bleu",
      .title = "BLEU on the validation set",
      .y_unit = "BLEU, 0 to 100",
      .note = "Only \u201ctranslated text\u201d is a translation score. Teacher-forced "
              "BLEU predicts each word from the correct words before it, on subwords: it "
              "is comparable only with itself.",
      .from_zero = true},
     {{"translated text", PLOT_POINTS, 3, BLEU, PLOT_BEST_HIGH},
      {"teacher-forced", PLOT_DASHED, 5, FORCED_BLEU}}},
    {{.id = "plot-grad",
      .title = "Gradient norm",
      .y_unit = "Euclidean norm, logarithmic",
      .note = "Before clipping. Spikes that come with a jump of the loss are worth a "
              "look.",
      .is_log = true},
     {{"norm of the whole gradient", PLOT_THIN, 4, GRAD_NORM}}},
    {{.id = "plot-step",
      .title = "Time per step",
      .y_unit = "milliseconds",
      .note =
          "Stacked: the legend names the layers from top to bottom. Data and exchange "
          "(with other ranks) are waiting, compute and update are work.",
      .from_zero = true},
     {{"other", PLOT_AREA, 6, STEP},
      {"update", PLOT_AREA, 4, UPDATE},
      {"exchange", PLOT_AREA, 2, COMM},
      {"compute", PLOT_AREA, 1, COMPUTE},
      {"data", PLOT_AREA, 3, DATA}}},
    {{.id = "plot-tokens",
      .title = "Throughput",
      .y_unit = "tokens per second",
      .note = "During steps alone; evaluations and saves are not counted.",
      .from_zero = true},
     {{"source + target tokens", PLOT_LINE, 3, TOKENS}}},
};

static const struct figure arithmetic = {
    {.id = "plot-flops",
     .title = "Arithmetic rate",
     .y_unit = "GFLOP/s",
     .from_zero = true},
    {{"achieved", PLOT_LINE, 1, GFLOPS}, {"measured roof", PLOT_RULE, 2, ROOF}}};

static double at_step(const struct runlog_step *s, enum quantity y)
{
    const double phase[] = {s->t_data, s->t_compute, s->t_comm, s->t_update};
    const double tokens = s->source_tokens + s->target_tokens, ms = 1000 / s->steps;
    double sum = 0;

    switch (y) {
    case LOSS:
        return s->loss;
    case GRAD_NORM:
        return s->grad_norm;
    case TOKENS:
        return isfinite(tokens) ? tokens / s->t_step : s->tokens_per_s;
    case GFLOPS:
        return s->gflops;
    case STEP:
        return ms * s->t_step;
    default:
        for (int i = 0; i <= (int)y - DATA; i++)
            sum += isfinite(phase[i]) ? phase[i] : 0;
        return isfinite(phase[y - DATA]) ? ms * sum : NAN;
    }
}

static double at_eval(const struct runlog_eval *e, enum quantity y)
{
    if (y == VALID_LOSS)
        return isfinite(e->valid_loss) ? e->valid_loss : e->eval_loss;
    return y == BLEU ? e->bleu : 100 * e->forced_bleu;
}

/* A line from the first step to the last, where the log has the rate. */
static status collect_roof(struct series *to, const struct runlog *log, struct err *err)
{
    const double roof = log->n_start ? runlog_latest(log)->roof_gflops : NAN;
    double first = NAN, last = NAN;

    for (size_t i = 0; i < log->n_step; i++)
        if (!log->step[i].is_lost) {
            first = isfinite(first) ? first : log->step[i].step;
            last = log->step[i].step;
        }
    if (!isfinite(roof) || !isfinite(first))
        return OK;
    TRY(series_add(to, first, roof, err));
    return series_add(to, last, roof, err);
}

/* Untrained, the reference's model copies its input: a teacher-forced BLEU of 0.95. */
static bool is_artefact(const struct runlog_eval *e, enum quantity y)
{
    return y == FORCED_BLEU && e->step < 1;
}

/* Work that a resume threw away is not drawn. */
static status collect(struct series *to, const struct runlog *log, enum quantity y,
                      struct err *err)
{
    if (y == ROOF)
        return collect_roof(to, log, err);
    for (size_t i = 0; y < OF_EVALS && i < log->n_step; i++)
        if (!log->step[i].is_lost)
            TRY(series_add(to, log->step[i].step, at_step(&log->step[i], y), err));
    for (size_t i = 0; y >= OF_EVALS && i < log->n_eval; i++)
        if (!log->eval[i].is_lost && !is_artefact(&log->eval[i], y))
            TRY(series_add(to, log->eval[i].step, at_eval(&log->eval[i], y), err));
    return OK;
}

/* A run of one process has no network to show, one without a roof none of it, and logs of
 * others lack much. */
static bool is_drawn(const struct curve *c, const struct series *s,
                     const struct runlog *log)
{
    if (c->y == ROOF)
        return s->n > 0;
    if (log->foreign.origin && series_best(s, 1) == s->n)
        return false;
    for (size_t i = 0; c->y == COMM && i < log->n_step; i++)
        if (!log->step[i].is_lost && isfinite(log->step[i].t_compute) &&
            log->step[i].t_comm > 0)
            return true;
    return c->y != COMM;
}

static status draw(struct str *out, const struct figure *f, const struct run *run,
                   struct err *err)
{
    const struct runlog *log = &run->log;
    struct series points[CURVES_MAX] = {0};
    struct plot_curve curve[CURVES_MAX];
    struct plot p = f->plot;
    double *resumed; /* steps at which a session went on */

    p.x_unit = "step";
    p.curve = curve;
    TRY(mem_alloc(&resumed, log->n_start, sizeof *resumed, err));
    for (size_t i = 1; i < log->n_start; i++)
        if (isfinite(log->start[i].step))
            resumed[p.n_marks++] = log->start[i].step;
    p.mark = resumed;
    p.mark_name = "resumed";
    status result = OK;
    for (size_t i = 0; result == OK && i < CURVES_MAX && f->curve[i].name; i++) {
        const struct curve *c = &f->curve[i];
        result = collect(&points[i], log, c->y, err);
        if (is_drawn(c, &points[i], log))
            curve[p.n_curves++] =
                (struct plot_curve){c->name, c->kind, c->color, c->best, &points[i]};
    }
    if (p.n_curves == 1 && f->curve[0].y == STEP) {
        curve[0].name = "a whole step";
        p.note = NULL;
    }
    const bool is_empty =
        log->foreign.origin
            ? p.n_curves == 0
            : f == &arithmetic && series_best(&points[0], 1) == points[0].n;
    if (result == OK && !is_empty)
        result = plot_write(out, &p, err);
    for (size_t i = 0; i < CURVES_MAX; i++)
        series_release(&points[i]);
    free(resumed);
    return result;
}

status figures_write(struct str *out, const struct run *run, struct err *err)
{
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        TRY(draw(out, &figures[i], run, err));
    return OK;
}

status figures_answer(struct str *out, enum answer_figure figure, const struct run *run,
                      struct err *err)
{
    switch (figure) {
    case ANSWER_NO_FIGURE:
        break;
    case ANSWER_FORECAST:
        return figures_forecast(out, run, err);
    case ANSWER_GAP:
        return figures_gap(out, run, err);
    case ANSWER_RATE:
        return figures_rate(out, run, err);
    case ANSWER_ARITHMETIC:
        return draw(out, &arithmetic, run, err);
    case ANSWER_TIMELINE:
        figures_timeline(out, run);
    }
    return OK;
}
