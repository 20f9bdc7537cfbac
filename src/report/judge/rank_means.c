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
        n += is_used(&log->lap[i], leave_out_first);
    return n;
}

/* The row of a rank number; NULL for a number that cannot be one. */
static struct rank_mean *row_of(struct rank_means *r, size_t *cap, double rank,
                                struct err *err, status *result)
{
    if (!(rank >= 0 && rank < RANKS_MAX && rank == floor(rank)))
        return NULL;
    for (size_t i = 0; i < r->n; i++)
        if (r->of[i].rank == rank)
            return &r->of[i];
    *result = mem_grow(&r->of, cap, r->n + 1, sizeof *r->of, err);
    if (*result != OK)
        return NULL;
    r->of[r->n] =
        (struct rank_mean){.rank = rank, .memory_first = NAN, .card_errors = NAN};
    return &r->of[r->n++];
}

static void add_rank(struct rank_mean *m, const struct runlog_rank *r, double steps)
{
    m->host = r->host ? r->host : m->host;
    m->steps += steps;
    m->t_step += r->t_step;
    m->t_data += r->t_data;
    m->t_compute += r->t_compute;
    m->t_comm += r->t_comm;
    m->t_hidden += r->t_hidden;
    m->t_update += r->t_update;
    m->cores += r->cores * r->t_step;
    m->gpu_busy += r->gpu_busy * r->t_step;
    m->gpu_power += r->gpu_power_w * r->t_step;
    m->gpu_clock += r->gpu_clock_mhz * r->t_step;
    m->gpu_power_limit = r->gpu_power_limit_w;
    m->gpu_clock_max = r->gpu_clock_max_mhz;
    m->gpu_memory = fmax(m->gpu_memory, r->gpu_memory_mib);
    m->gpu_memory_all = r->gpu_memory_all_mib;
    m->sent_bytes += r->sent_bytes;
    m->received_bytes += r->received_bytes;
    m->card_sent += r->card_sent;
    m->card_received += r->card_received;
    if (isfinite(r->card_errors))
        m->card_errors = r->card_errors + (isfinite(m->card_errors) ? m->card_errors : 0);
    if (isfinite(r->memory_mib)) {
        m->memory_first = isfinite(m->memory_first) ? m->memory_first : r->memory_mib;
        m->memory_last = r->memory_mib;
        m->memory_most = fmax(m->memory_most, r->memory_mib);
    }
}

static double busy_of(const struct runlog_rank *r)
{
    return r->t_step - r->t_comm;
}

/* The busiest rank of an entry; n_rank when no time is known. */
static size_t busiest(const struct runlog *log, const struct runlog_ranks *lap)
{
    size_t best = log->n_rank;

    for (size_t i = lap->first; i < lap->first + lap->n; i++)
        if (isfinite(busy_of(&log->rank[i])) &&
            (best == log->n_rank || busy_of(&log->rank[i]) > busy_of(&log->rank[best])))
            best = i;
    return best;
}

static status add_lap(struct rank_means *r, size_t *cap, const struct runlog *log,
                      const struct runlog_ranks *lap, struct err *err)
{
    const size_t slow = busiest(log, lap);
    status result = OK;

    for (size_t i = lap->first; i < lap->first + lap->n; i++) {
        struct rank_mean *m = row_of(r, cap, log->rank[i].rank, err, &result);
        TRY(result);
        if (!m)
            continue;
        add_rank(m, &log->rank[i], lap->steps);
        m->slowest_share += i == slow ? 1 : 0;
    }
    r->n_laps++;
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
    m->cores /= m->t_step;
    m->gpu_busy /= m->t_step;
    m->gpu_power /= m->t_step;
    m->gpu_clock /= m->t_step;
    m->t_step /= m->steps;
    m->t_data /= m->steps;
    m->t_compute /= m->steps;
    m->t_comm /= m->steps;
    m->t_hidden /= m->steps;
    m->t_update /= m->steps;
    m->busy = m->t_step - m->t_comm;
    m->sent_bytes /= m->steps;
    m->received_bytes /= m->steps;
    m->card_sent /= m->steps;
    m->card_received /= m->steps;
    m->slowest_share /= (double)n_laps;
    if (!isfinite(m->memory_first))
        m->memory_last = m->memory_most = NAN;
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
