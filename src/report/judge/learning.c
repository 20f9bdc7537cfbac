#include "report/judge/learning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/log/runlog.h"

enum { MIN_EVALS = 4, FEW = RUNLOG_FEW };

#define T(code, text) {#code, text},
const struct learning_name learning_trends[] = {LEARNING_TREND_LIST(T)},
                           learning_overfits[] = {LEARNING_OVERFIT_LIST(T)};
#undef T

static status collect_bleu(struct learning *l, const struct runlog *log, struct err *err)
{
    l->bleu_is_forced = true;
    for (size_t i = 0; i < log->n_eval; i++)
        if (!log->eval[i].is_lost && isfinite(log->eval[i].bleu))
            l->bleu_is_forced = false;
    for (size_t i = 0; i < log->n_eval; i++) {
        const struct runlog_eval *e = &log->eval[i];
        const double v = l->bleu_is_forced ? 100 * e->forced_bleu : e->bleu;
        /* before any training, teacher-forced BLEU of the reference is an artefact */
        if (!e->is_lost && isfinite(v) && !(l->bleu_is_forced && e->step < 1))
            TRY(series_add(&l->bleu, e->step, v, err));
    }
    return OK;
}

static status collect_train(struct learning *l, const struct runlog *log, struct err *err)
{
    l->low_loss = NAN;
    for (size_t i = 0; i < log->n_step; i++) {
        const struct runlog_step *s = &log->step[i];
        if (s->is_lost)
            continue;
        TRY(series_add(&l->train, s->step, s->loss, err));
        if (s->entries > 1)
            l->low_loss = fmin(l->low_loss, s->low); /* ignores a NAN */
    }
    return OK;
}

static status collect(struct learning *l, const struct runlog *log, struct err *err)
{
    RELEASED_BY(runlog_losses_close) struct runlog_losses losses = {0};

    TRY(collect_train(l, log, err));
    TRY(runlog_losses_open(&losses, log, err));
    for (size_t i = 0; i < log->n_eval; i++) {
        const struct runlog_eval *e = &log->eval[i];
        const double loss = isfinite(e->valid_loss) ? e->valid_loss : e->eval_loss;
        if (e->is_lost)
            continue;
        TRY(series_add(&l->loss, e->step, loss, err));
        TRY(series_add(&l->gap, e->step, loss - runlog_losses_at(&losses, e->step), err));
    }
    return OK;
}

/* From second differences, which a smooth curve hardly has: their variance is six times
 * that of the points. Robust, so that one bad evaluation does not count. */
static status find_noise(struct learning *l, struct err *err)
{
    double *d;
    size_t n = 0;

    TRY(mem_alloc(&d, l->loss.n, sizeof *d, err));
    for (size_t i = 1; i + 1 < l->loss.n; i++) {
        const double v = l->loss.y[i - 1] - 2 * l->loss.y[i] + l->loss.y[i + 1];
        if (isfinite(v) && l->loss.x[i - 1] >= 0.1 * l->loss.x[l->loss.n - 1])
            d[n++] = fabs(v);
    }
    series_sort(d, n);
    l->noise = n ? 1.4826 * d[n / 2] / sqrt(6) : NAN;
    free(d);
    return OK;
}

/* Mean of the finite ones of y[from..from+n). NAN when most are not. */
static double mean_of(const double *y, size_t n)
{
    double sum = 0;
    size_t good = 0;

    for (size_t i = 0; i < n; i++)
        if (isfinite(y[i])) {
            sum += y[i];
            good++;
        }
    return 2 * good > n ? sum / (double)good : NAN;
}

static void find_train(struct learning *l)
{
    const struct series *t = &l->train;
    const size_t few = t->n < FEW ? t->n : FEW;

    l->first_loss = l->last_loss = NAN;
    if (!few)
        return;
    l->first_loss = mean_of(t->y, 1);
    for (size_t i = 0; i + few <= t->n; i++)
        l->low_loss = fmin(l->low_loss, mean_of(t->y + i, few)); /* ignores a NAN */
    l->last_loss = mean_of(t->y + t->n - few, few);
}

/* The training loss left its low for good, or is no number any more. */
static bool has_diverged(const struct learning *l)
{
    if (l->train.n < (size_t)2 * FEW)
        return false;
    if (!isfinite(l->last_loss))
        return isfinite(l->low_loss);
    const double risen = l->last_loss - l->low_loss;
    return risen > 0.3 && risen > 0.4 * (l->first_loss - l->low_loss);
}

/* Index of the lowest mean of three neighbours: where a noisy curve turns. */
static size_t lowest(const struct series *s)
{
    size_t best = s->n;
    double low = INFINITY;

    for (size_t i = 0; i < s->n; i++) {
        const size_t a = i ? i - 1 : 0, b = i + 1 < s->n ? i + 1 : i;
        const double mean = mean_of(s->y + a, b - a + 1);
        if (mean < low) {
            low = mean;
            best = i;
        }
    }
    return best;
}

static void find_overfit(struct learning *l)
{
    const struct series *s = &l->loss;

    l->best = series_best(s, 1);
    l->turned_at = l->rise = NAN;
    l->overfit = OVERFIT_EARLY;
    if (l->best == s->n || s->n < MIN_EVALS)
        return;
    const size_t turn = lowest(s), after = s->n - turn;
    const double end = mean_of(s->y + s->n - (after > 3 ? 3 : 1), after > 3 ? 3 : 1);
    const double rise = end - s->y[turn];
    const struct series_fit line = series_fit(s->x + turn, s->y + turn, after);
    const double slope_low = line.slope - line.t_95 * line.se;
    l->overfit = OVERFIT_UNCLEAR;
    if (after >= MIN_EVALS && slope_low > 0 && rise > 0.005 * fabs(s->y[turn]) &&
        !(rise <= 3 * l->noise)) {
        l->overfit = OVERFIT_YES;
        l->turned_at = s->x[turn];
        l->rise = rise / fabs(s->y[turn]);
    } else if (s->n - l->best <= 2) {
        l->overfit = OVERFIT_NO;
    }
}

/* Every evaluation that was fitted lies below the one before, the last one by more than
 * two of them scatter. */
static bool falls_clearly(const struct fit *fit, const struct series *loss)
{
    double before = INFINITY, fall = 0;

    for (size_t i = 0; i < loss->n; i++)
        if (loss->x[i] >= fit->from && isfinite(loss->y[i])) {
            fall = before - loss->y[i];
            if (!(fall > 0))
                return false;
            before = loss->y[i];
        }
    return fall > 2 * sqrt(2) * fit->noise;
}

/* What half as many steps again would bring decides. As parts of the loss, a 400th is
 * surely a gain, a hundredth matters, and beyond a 40th nobody would call it slow. */
enum learning_trend learning_trend_of(const struct fit *fit, const struct series *loss,
                                      struct fit_range *gain)
{
    *gain = (struct fit_range){NAN, NAN, NAN};
    if (!fit->is_known)
        return LEARNING_EARLY;
    *gain = fit_gain(fit, 1.5);
    const double part = fabs(fit->level);
    const bool is_slow = gain->high <= 0.025 * part;
    if (gain->low >= 0.0025 * part && (gain->mid >= 0.01 * part || !is_slow))
        return LEARNING_IMPROVING;
    if (!is_slow && falls_clearly(fit, loss))
        return LEARNING_IMPROVING;
    if (gain->low >= 0.0005 * part && is_slow)
        return LEARNING_SLOWING;
    return gain->high <= 0.015 * part ? LEARNING_CONVERGED : LEARNING_UNCLEAR;
}

static void find_trend(struct learning *l)
{
    l->trend = learning_trend_of(&l->fit_loss, &l->loss, &l->gain);
    if (has_diverged(l))
        l->trend = LEARNING_DIVERGED;
    else if (l->fit_loss.is_known && l->overfit == OVERFIT_YES)
        l->trend = LEARNING_PAST_BEST;
}

static status find_curves(struct learning *l, const struct runlog *log, struct err *err)
{
    TRY(collect(l, log, err));
    TRY(collect_bleu(l, log, err));
    TRY(find_noise(l, err));
    TRY(fit_curve(&l->fit_loss, &l->loss, 1, 0, err));
    return fit_curve(&l->fit_bleu, &l->bleu, -1, 100, err);
}

status learning_open(struct learning *l, const struct runlog *log, struct err *err)
{
    memset(l, 0, sizeof *l);
    const status result = find_curves(l, log, err);
    if (result != OK) {
        learning_close(l);
        return result;
    }
    find_train(l);
    find_overfit(l);
    find_trend(l);
    return OK;
}

void learning_close(struct learning *l)
{
    series_release(&l->loss);
    series_release(&l->bleu);
    series_release(&l->train);
    series_release(&l->gap);
}
