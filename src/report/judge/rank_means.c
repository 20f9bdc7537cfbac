#include "report/judge/rank_means.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

enum { RANKS_MAX = 1 << 16, MIN_LAPS = 3 };

static bool is_used(const struct runlog_ranks *lap, bool leave_out_first)
{
    return !lap->is_lost && isfinite(lap->steps) && lap->n &&
           !(leave_out_first && lap->is_first);
}

static size_t count_used(const struct runlog *log, bool leave_out_first)
{
    size_t n = 0;

    for (size_t i = 0; i < log->n_lap; i++)
        n += is_used(&log->lap[i], leave_out_first) ? log->lap[i].entries : 0;
    return n;
}

static const struct runlog_object *const schema = &runlog_schema[RUNLOG_KIND_RANK];

static bool is_number(const struct runlog_field *f)
{
    return f->type != RUNLOG_TEXT && f->type != RUNLOG_JSON;
}

static bool is_summed(const struct runlog_field *f)
{
    return f->over_steps == RUNLOG_SUM || f->over_steps == RUNLOG_TIMED;
}

/* Of an entry or of a mean, which begin with the same fields. */
static double *field_of(const void *rank, const struct runlog_field *f)
{
    return (double *)((char *)rank + f->at);
}

/* The row of a rank number, `likely` where it was in other entries; NULL for a number
 * that cannot be one. */
static struct rank_mean *row_of(struct rank_means *r, size_t *cap, double rank,
                                size_t likely, struct err *err, status *result)
{
    if (!(rank >= 0 && rank < RANKS_MAX && rank == floor(rank)))
        return NULL;
    if (likely < r->n && r->of[likely].rank == rank)
        return &r->of[likely];
    for (size_t i = 0; i < r->n; i++)
        if (r->of[i].rank == rank)
            return &r->of[i];
    *result = mem_grow(&r->of, cap, r->n + 1, sizeof *r->of, err);
    if (*result != OK)
        return NULL;
    r->of[r->n] = (struct rank_mean){.card_errors = NAN};
    for (size_t i = 0; i < schema->n; i++)
        if (is_number(&schema->field[i]) && !is_summed(&schema->field[i]))
            *field_of(&r->of[r->n], &schema->field[i]) = NAN;
    return &r->of[r->n++];
}

static void add_rank(struct rank_mean *m, const struct runlog_rank *r, double steps)
{
    for (size_t i = 0; i < schema->n; i++) {
        const struct runlog_field *f = &schema->field[i];
        if (!is_number(f))
            continue;
        double *to = field_of(m, f);
        const double v = *field_of(r, f);
        if (f->over_steps == RUNLOG_SUM)
            *to += v;
        else if (f->over_steps == RUNLOG_TIMED)
            *to += v * r->t_step;
        else if (f->over_steps == RUNLOG_MOST)
            *to = fmax(*to, v); /* ignores a NAN */
        else if (isfinite(v))
            *to = v;
    }
    m->host = r->host ? r->host : m->host;
    m->steps += steps;
    m->card_sent += r->card_sent;
    m->card_received += r->card_received;
    if (isfinite(r->card_errors))
        m->card_errors = r->card_errors + (isfinite(m->card_errors) ? m->card_errors : 0);
}

static status add_lap(struct rank_means *r, size_t *cap, const struct runlog *log,
                      const struct runlog_ranks *lap, struct err *err)
{
    status result = OK;

    for (size_t i = lap->first; i < lap->first + lap->n; i++) {
        struct rank_mean *m =
            row_of(r, cap, log->rank[i].rank, i - lap->first, err, &result);
        TRY(result);
        if (!m)
            continue;
        add_rank(m, &log->rank[i], lap->steps);
        m->slowest_share += log->rank[i].n_busiest;
    }
    r->n_laps += lap->entries;
    return OK;
}

static int by_rank(const void *a, const void *b)
{
    const double x = ((const struct rank_mean *)a)->rank,
                 y = ((const struct rank_mean *)b)->rank;

    return (x > y) - (x < y);
}

static void divide(struct rank_mean *m, size_t n_laps)
{
    const double t_all = m->t_step;

    for (size_t i = 0; i < schema->n; i++)
        if (is_number(&schema->field[i]) && is_summed(&schema->field[i]))
            *field_of(m, &schema->field[i]) /=
                schema->field[i].over_steps == RUNLOG_SUM ? m->steps : t_all;
    m->busy = m->t_step - m->t_comm;
    m->card_sent /= m->steps;
    m->card_received /= m->steps;
    m->slowest_share /= (double)n_laps;
}

static void finish(struct rank_means *r)
{
    double sum = 0;

    if (r->n)
        qsort(r->of, r->n, sizeof *r->of, by_rank);
    for (size_t i = 0; i < r->n; i++) {
        divide(&r->of[i], r->n_laps);
        r->exposed = fmin(r->exposed, r->of[i].t_comm); /* fmin ignores a NAN */
        sum += r->of[i].t_comm;
        if (r->of[i].busy > r->of[r->slowest].busy)
            r->slowest = i;
    }
    r->straggling = r->n ? fmax(0, sum / (double)r->n - r->exposed) : NAN;
}

status rank_means_open(struct rank_means *r, const struct runlog *log, struct err *err)
{
    const bool leave_out_first = count_used(log, true) >= MIN_LAPS;
    size_t cap = 0;

    *r = (struct rank_means){.exposed = NAN};
    for (size_t i = 0; i < log->n_lap; i++) {
        if (!is_used(&log->lap[i], leave_out_first))
            continue;
        const status result = add_lap(r, &cap, log, &log->lap[i], err);
        if (result != OK) {
            rank_means_close(r);
            return result;
        }
    }
    finish(r);
    return OK;
}

void rank_means_close(struct rank_means *r)
{
    free(r->of);
    *r = (struct rank_means){0};
}
