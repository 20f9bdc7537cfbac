/* The training loss around a step, for as many steps as there are evaluations. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "report/log/runlog.h"

enum { NEAREST = 8, SUMMED = 2048 };

/* An entry with a loss, and sums over those before it: what a wide window sums is a
 * difference of two of them. log_x is relative to the last step. */
struct runlog_loss {
    double step, x, y, weight;
    double w, wl, wy, wll, wly;
};

static int by_step(const void *a, const void *b)
{
    const struct runlog_loss *p = a, *q = b;

    return (p->step > q->step) - (p->step < q->step);
}

static void sum_up(struct runlog_losses *l)
{
    struct runlog_loss sum = {0};

    for (size_t i = 0; i < l->n; i++) {
        struct runlog_loss *p = &l->of[i];
        const double log_x = log(p->x / l->last), w = p->weight;
        p->w = sum.w;
        p->wl = sum.wl;
        p->wy = sum.wy;
        p->wll = sum.wll;
        p->wly = sum.wly;
        sum.w += w;
        sum.wl += w * log_x;
        sum.wy += w * p->y;
        sum.wll += w * log_x * log_x;
        sum.wly += w * log_x * p->y;
    }
    sum.step = INFINITY;
    l->of[l->n] = sum; /* there is room for it */
}

status runlog_losses_open(struct runlog_losses *l, const struct runlog *log,
                          struct err *err)
{
    bool is_ascending = true;

    *l = (struct runlog_losses){0};
    TRY(mem_alloc(&l->of, log->n_step + 1, sizeof *l->of, err));
    for (size_t i = 0; i < log->n_step; i++) {
        const struct runlog_step *s = &log->step[i];
        if (s->is_lost || !isfinite(s->loss))
            continue;
        /* a mean over several steps stands for their middle; others log single ones */
        const double middle = log->foreign.origin ? 0 : (s->steps - 1) / 2;
        l->of[l->n] = (struct runlog_loss){.step = s->step,
                                           .x = fmax(0.5, s->step - middle),
                                           .y = s->loss,
                                           .weight = runlog_weight(s)};
        is_ascending &= l->n == 0 || l->of[l->n - 1].step <= s->step;
        l->last = fmax(l->last, l->of[l->n++].x);
    }
    if (!is_ascending)
        qsort(l->of, l->n, sizeof *l->of, by_step);
    sum_up(l);
    return OK;
}

void runlog_losses_close(struct runlog_losses *l)
{
    free(l->of);
    *l = (struct runlog_losses){0};
}

/* The first entry at this step or after it. */
static size_t find(const struct runlog_losses *l, double step)
{
    size_t from = 0, to = l->n;

    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (l->of[middle].step < step)
            from = middle + 1;
        else
            to = middle;
    }
    return to;
}

static double distance(const struct runlog_losses *l, size_t i, double step)
{
    return fabs(l->of[i].step - step);
}

/* How far the entries lie that a line is fitted to: an eighth of the step, or what holds
 * NEAREST of them. */
static double window_around(const struct runlog_losses *l, double step)
{
    size_t to = find(l, step), from = to; /* [from, to) are taken */
    double reach = NAN;

    while (to - from < NEAREST && to - from < l->n) {
        const bool is_left = to == l->n || (from > 0 && distance(l, from - 1, step) <=
                                                            distance(l, to, step));
        reach = distance(l, is_left ? --from : to++, step);
    }
    return isnan(reach) ? NAN : fmax(step / 8, reach);
}

/* Sums over the window, u being log(x / step). */
struct sums {
    double w, u, y, uu, uy;
};

static struct sums sum_each(const struct runlog_losses *l, size_t from, size_t to,
                            double step)
{
    struct sums s = {0};

    for (size_t i = from; i < to; i++) {
        const struct runlog_loss *p = &l->of[i];
        const double u = log(p->x / step), w = p->weight;
        s.w += w;
        s.u += w * u;
        s.y += w * p->y;
        s.uu += w * u * u;
        s.uy += w * u * p->y;
    }
    return s;
}

static struct sums sum_of_many(const struct runlog_losses *l, size_t from, size_t to,
                               double step)
{
    const struct runlog_loss *a = &l->of[from], *b = &l->of[to];
    const double d = log(l->last / step), w = b->w - a->w, wl = b->wl - a->wl,
                 y = b->wy - a->wy;

    return (struct sums){.w = w,
                         .u = wl + d * w,
                         .y = y,
                         .uu = b->wll - a->wll + 2 * d * wl + d * d * w,
                         .uy = b->wly - a->wly + d * y};
}

double runlog_losses_at(const struct runlog_losses *l, double step)
{
    const double reach = window_around(l, step);
    size_t from = find(l, step - reach), to = find(l, step + reach);

    if (!(step > 0) || isnan(reach))
        return NAN;
    /* the sums above were rounded */
    while (from > 0 && distance(l, from - 1, step) <= reach)
        from--;
    while (from < to && distance(l, from, step) > reach)
        from++;
    while (to < l->n && distance(l, to, step) <= reach)
        to++;
    const struct sums s =
        to - from > SUMMED ? sum_of_many(l, from, to, step) : sum_each(l, from, to, step);
    const double det = s.w * s.uu - s.u * s.u;
    return det > 1e-12 * s.w * s.w ? (s.uu * s.y - s.u * s.uy) / det : s.y / s.w;
}
