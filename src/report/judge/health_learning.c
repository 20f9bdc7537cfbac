/* Findings about learning: divergence, spikes, skipped updates, rate, BLEU and loss. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "page/fmt.h"
#include "report/judge/health.h"
#include "report/judge/run.h"

void health_learning_diverged(struct health_finding *f, const struct run *run)
{
    const struct learning *l = &run->learning;

    if (l->trend != LEARNING_DIVERGED)
        return;
    health_found(f,
                 "Go back to a checkpoint from before the rise, with a smaller "
                 "learning_rate or a longer warmup_steps, and set max_grad_norm.",
                 "The training loss had come down to %s and ended at %s.",
                 fmt_number(l->low_loss, 3).s,
                 isfinite(l->last_loss) ? fmt_number(l->last_loss, 3).s : "no number");
}

enum { NEIGHBOURS = 4 }; /* on each side */

/* The median of the points around i, without i; NAN at the ends. */
static double around(const struct series *s, size_t i)
{
    double v[2 * NEIGHBOURS];
    size_t n = 0;

    if (i < NEIGHBOURS || i + NEIGHBOURS >= s->n)
        return NAN;
    for (size_t k = i - NEIGHBOURS; k <= i + NEIGHBOURS; k++)
        if (k != i && isfinite(s->y[k]))
            v[n++] = s->y[k];
    if (n < NEIGHBOURS)
        return NAN;
    series_sort(v, n);
    return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

/* Against its own neighbours a point is a spike when it lies ten times as far above as
 * points usually lie apart, and by a tenth of the loss. */
static void count_spikes(const struct series *s, double scatter, size_t *n, size_t *worst)
{
    double most = 0;

    *n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const double base = around(s, i), above = s->y[i] - base;
        if (!(above > 10 * scatter) || !(above > 0.1 * base))
            continue;
        (*n)++;
        if (above > most) {
            most = above;
            *worst = i;
        }
    }
}

static double median_distance(const struct series *s, double *v)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        const double d = fabs(s->y[i] - around(s, i));
        if (isfinite(d))
            v[n++] = d;
    }
    if (n < 10)
        return NAN;
    series_sort(v, n);
    return v[n / 2];
}

void health_learning_spikes(struct health_finding *f, const struct run *run)
{
    const struct series *s = &run->learning.train;
    size_t n, worst = 0;
    double *v;

    f->failed = mem_alloc(&v, s->n, sizeof *v, f->err);
    if (f->failed != OK)
        return;
    const double scatter = median_distance(s, v);
    free(v);
    if (!isfinite(scatter))
        return;
    count_spikes(s, scatter, &n, &worst);
    if (!n)
        return;
    health_found(f,
                 "A lone spike that heals is harmless. If they return: set "
                 "max_grad_norm, lower learning_rate, and look at the data of that "
                 "step for lines that are no translations.",
                 "%zu entr%s of the training loss stand%s far above the neighbours; the "
                 "worst at step %s: %s against %s around it.",
                 n, n == 1 ? "y" : "ies", n == 1 ? "s" : "", fmt_count(s->x[worst]).s,
                 fmt_number(s->y[worst], 3).s, fmt_number(around(s, worst), 3).s);
}

void health_learning_skipped(struct health_finding *f, const struct run *run)
{
    double skipped = 0, steps = 0;

    for (size_t i = 0; i < run->log.n_step; i++) {
        skipped += run->log.step[i].skipped > 0 ? run->log.step[i].skipped : 0;
        steps += run->log.step[i].steps;
    }
    /* loss scaling in mixed precision finds its scale by skipping now and then */
    if (!(skipped > 0.002 * steps) || skipped < 2)
        return;
    health_found(f,
                 "In mixed precision try bf16 or a smaller loss scale; in fp32 lower "
                 "learning_rate and set max_grad_norm.",
                 "%s of %s updates were skipped (%s): their gradient was not finite.",
                 fmt_count(skipped).s, fmt_count(steps).s,
                 fmt_percent(skipped / steps).s);
}

/* The rate as logged against the formula, and learning that never came. */
void health_learning_rate(struct health_finding *f, const struct run *run)
{
    const struct learning *l = &run->learning;
    struct schedule s;
    size_t n = 0;

    if (!run_schedule(&s, run))
        return;
    const double gap = run_rate_difference(&s, run, &n);
    if (n && gap > 0.01) {
        health_found(f,
                     "Something else changes the rate; compare config.yaml with what "
                     "was meant.",
                     "The logged rates differ from the configured formula by up to %s.",
                     fmt_percent(gap).s);
    }
    const bool has_learnt = !(l->last_loss > 0.9 * l->first_loss);
    if (run->step >= 200 && s.warmup > 0 && run->step < 0.5 * s.warmup &&
        (run->state == RUN_FINISHED || run->state == RUN_STOPPED)) {
        health_found(f, "Set warmup_steps to a tenth of max_steps or less.",
                     "The run ended at step %s inside a warm-up of %s: the rate never "
                     "came near its peak.",
                     fmt_count(run->step).s, fmt_count(s.warmup).s);
    } else if (run->step >= 200 && l->train.n >= 10 && !has_learnt) {
        health_found(f,
                     "Try learning_rate a factor of ten smaller and a factor of ten "
                     "larger for a few hundred steps.",
                     "After %s steps the training loss is %s, where it began at %s.",
                     fmt_count(run->step).s, fmt_number(l->last_loss, 3).s,
                     fmt_number(l->first_loss, 3).s);
    }
}

static struct series_fit recent(const struct series *s)
{
    const size_t n = s->n > 8 ? (s->n + 1) / 2 : s->n;

    return series_fit(s->x + s->n - n, s->y + s->n - n, n);
}

void health_learning_disagree(struct health_finding *f, const struct run *run)
{
    const struct learning *l = &run->learning;
    const struct series_fit loss = recent(&l->loss), bleu = recent(&l->bleu);
    const double span = l->loss.n ? l->loss.x[l->loss.n - 1] : 0;

    if (l->loss.n < 6 || l->bleu.n < 6)
        return;
    const double loss_low = fabs(loss.slope) - loss.t_95 * loss.se;
    const double bleu_low = fabs(bleu.slope) - bleu.t_95 * bleu.se;
    const double moved = fabs(bleu.slope) * span / 2;
    if (!(loss_low > 0) || !(bleu_low > 0) || moved < 0.5 ||
        fabs(loss.slope) * span / 2 < 0.003 * l->loss.y[l->loss.n - 1] ||
        (loss.slope < 0) != (bleu.slope < 0))
        return;
    const size_t best = series_best(&l->bleu, -1);
    health_found(f,
                 "Choose the model by the number that you care about (best_models "
                 "keeps both), and read some translations: length and repetition "
                 "move BLEU without moving the loss.",
                 "Over the last evaluations the loss %s while BLEU %s; BLEU was best "
                 "at step %s, the loss at step %s.",
                 loss.slope < 0 ? "falls" : "rises", bleu.slope < 0 ? "falls" : "rises",
                 fmt_count(l->bleu.x[best]).s, fmt_count(l->loss.x[l->best]).s);
}

/* The newest evaluation that translated; NULL before there are three, because the first
 * translations of any model repeat themselves and have any length. */
static const struct runlog_eval *newest_translated(const struct runlog *log)
{
    enum { ENOUGH = 3 };
    const struct runlog_eval *newest = NULL;
    size_t n = 0;

    for (size_t i = 0; i < log->n_eval; i++)
        if (!log->eval[i].is_lost && isfinite(log->eval[i].length_ratio)) {
            newest = &log->eval[i];
            n += newest->entries;
        }
    return n < ENOUGH ? NULL : newest;
}

void health_learning_repeating(struct health_finding *f, const struct run *run)
{
    static const double many = 0.02;
    const struct runlog_eval *e = newest_translated(&run->log);

    if (!e || !(e->repeating > many))
        return;
    health_found(
        f,
        "Early in a training that is usual and goes away. If it stays: train "
        "longer, look for lines in the training text that repeat themselves, and "
        "keep the label smoothing and the dropout.",
        "At step %s %s of the validation translations say a stretch three times "
        "in a row or more, where their references do not.",
        fmt_count(e->step).s, fmt_percent(e->repeating).s);
}

void health_learning_lengths(struct health_finding *f, const struct run *run)
{
    static const double shortest = 0.85, longest = 1.15;
    const struct runlog_eval *e = newest_translated(&run->log);

    if (!e || (e->length_ratio >= shortest && e->length_ratio <= longest))
        return;
    const bool is_short = e->length_ratio < shortest;
    health_found(f,
                 is_short ? "Early in a training that is usual. If it stays: look for "
                            "training pairs whose target lacks a part (`ferry "
                            "score-pairs`), and raise alpha when translating."
                          : "Early in a training that is usual. If it stays: look for "
                            "training pairs whose target says more than the source "
                            "(`ferry score-pairs`), and lower alpha when translating.",
                 "At step %s the validation translations have %s times the characters of "
                 "their references: they are much too %s.",
                 fmt_count(e->step).s, fmt_number(e->length_ratio, 2).s,
                 is_short ? "short" : "long");
}
