/*
 * Very long logs. Neighbours of one session are taken together until an entry stands for
 * `most` of them, a number that doubles whenever they are too many again: so all of a log
 * but its newest part is thinned alike, and the work is linear in its length.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "report/log/runlog.h"
#include "report/log/runlog_entry.h"

enum { STARTS_MAX = 1 << 12, SAMPLES_MAX = 1 << 12 };

/* ---- what two entries are together ---- */

static double mean(double a, double b, double weight_a, double weight_b)
{
    if (!isfinite(a) || !isfinite(b))
        return isfinite(a) ? a : b;
    if (!(weight_a + weight_b > 0))
        return 0.5 * (a + b);
    return (weight_a * a + weight_b * b) / (weight_a + weight_b);
}

static double or_zero(double v)
{
    return isfinite(v) ? v : 0;
}

/* *a and the entry after it, field by field as the schema says. */
static void merge_fields(enum runlog_kind kind, void *a, const void *b, double weight_a,
                         double weight_b, double t_a, double t_b)
{
    for (size_t i = 0; i < runlog_schema[kind].n; i++) {
        const struct runlog_field *f = &runlog_schema[kind].field[i];
        double *to = (double *)((char *)a + f->at);

        if (f->type == RUNLOG_TEXT || f->type == RUNLOG_JSON || f->type == RUNLOG_FLAG)
            continue;
        if (f->type == RUNLOG_HASH) {
            memcpy(to, (const char *)b + f->at, sizeof(uint64_t));
            continue;
        }
        const double v = *(const double *)((const char *)b + f->at);
        if (f->over_steps == RUNLOG_SUM)
            runlog_entry_sum(to, v);
        else if (f->over_steps == RUNLOG_MEAN)
            *to = mean(*to, v, weight_a, weight_b);
        else if (f->over_steps == RUNLOG_TIMED || f->over_steps == RUNLOG_MADE)
            *to = mean(*to, v, or_zero(t_a), or_zero(t_b));
        else if (f->over_steps == RUNLOG_MOST)
            *to = fmax(*to, v);
        else if (isfinite(v))
            *to = v;
    }
}

static void merge_steps(struct runlog_step *a, const struct runlog_step *b)
{
    a->slowest = fmax(runlog_slowest(a), runlog_slowest(b)); /* ignores a NAN */
    a->low = fmin(a->low, b->low);
    a->entries += b->entries;
    merge_fields(RUNLOG_KIND_STEP, a, b, runlog_weight(a), runlog_weight(b), a->t_step,
                 b->t_step);
}

static void merge_laps(const struct runlog *log, struct runlog_ranks *a,
                       const struct runlog_ranks *b)
{
    for (size_t k = 0; k < a->n; k++) {
        struct runlog_rank *r = &log->rank[a->first + k];
        const struct runlog_rank *s = &log->rank[b->first + k];
        merge_fields(RUNLOG_KIND_RANK, r, s, 1, 1, r->t_step, s->t_step);
        runlog_entry_sum(&r->card_sent, s->card_sent);
        runlog_entry_sum(&r->card_received, s->card_received);
        runlog_entry_sum(&r->card_errors, s->card_errors);
        r->n_busiest += s->n_busiest;
    }
    a->steps += b->steps;
    a->step = b->step;
    a->t = b->t;
    a->entries += b->entries;
}

/* ---- steps ---- */

/* The quantiles of a step's time are those of single entries: before one loses itself in
 * another it is counted. 256 bins for each factor of two. */
static void count_pace(struct runlog *log, const struct runlog_step *s)
{
    const double pace = s->t_step / s->steps;

    if (s->entries > 1 || !isfinite(pace) || s->is_first)
        return;
    const double at = 256 * log2(fmax(pace, 1e-12)) + (double)RUNLOG_BINS / 2;
    struct runlog_bin *bin =
        &log->bin[(size_t)fmin(fmax(at, 0), (double)(RUNLOG_BINS - 1))];
    bin->steps += s->steps;
    bin->seconds += s->t_step;
}

/* Which entries are lost in a row, after some were taken together. */
#define COUNT_LOST(entry, n)                                                   \
    for (size_t i_ = 0; i_ < (n); i_++)                                        \
    (entry)[i_].lost_run = !(entry)[i_].is_lost ? 0                            \
                           : i_                 ? (entry)[i_ - 1].lost_run + 1 \
                                                : 1

/* Where sessions are that short, their first entries and bounds do not count. */
static bool is_alike(const struct runlog_step *a, const struct runlog_step *b,
                     bool by_force)
{
    return a->is_lost == b->is_lost &&
           (by_force || (!a->is_first && a->session == b->session &&
                         isfinite(a->t_step) == isfinite(b->t_step)));
}

static void thin_steps(struct runlog *log, bool by_force)
{
    const size_t newest = by_force ? 1 : RUNLOG_NEWEST;
    const size_t end = log->n_step > newest ? log->n_step - newest : 0;
    size_t kept = 0;

    for (size_t i = 0; i < end; i++) {
        const struct runlog_step *s = &log->step[i];
        struct runlog_step *before = kept ? &log->step[kept - 1] : NULL;
        if (before && before->entries + s->entries <= log->most &&
            is_alike(before, s, by_force)) {
            count_pace(log, before);
            count_pace(log, s);
            merge_steps(before, s);
        } else {
            log->step[kept++] = *s;
        }
    }
    memmove(&log->step[kept], &log->step[end], (log->n_step - end) * sizeof *log->step);
    log->n_step = kept + log->n_step - end;
    COUNT_LOST(log->step, log->n_step);
}

/* ---- ranks ---- */

static void thin_laps(struct runlog *log)
{
    size_t kept = 0, n_rank = 0;

    for (size_t i = 0; i < log->n_lap; i++) {
        struct runlog_ranks lap = log->lap[i];
        struct runlog_ranks *before = kept ? &log->lap[kept - 1] : NULL;
        const bool is_newest =
            log->n_rank - lap.first <= RUNLOG_NEWEST || i + 1 == log->n_lap;
        if (before && !is_newest && !before->is_first && before->n == lap.n &&
            before->is_lost == lap.is_lost && isfinite(before->steps + lap.steps) &&
            before->entries + lap.entries <= log->most) {
            merge_laps(log, before, &lap);
            continue;
        }
        memmove(&log->rank[n_rank], &log->rank[lap.first], lap.n * sizeof *log->rank);
        lap.first = n_rank;
        n_rank += lap.n;
        log->lap[kept++] = lap;
    }
    log->n_lap = kept;
    COUNT_LOST(log->lap, kept);
    log->n_rank = n_rank;
}

/* ---- evaluations ---- */

/* By which an evaluation may be the best one: the less the better. */
static double score(const struct runlog_eval *e, int k)
{
    const double of[] = {e->valid_loss, e->eval_loss, -e->bleu, -e->forced_bleu};

    return of[k];
}

enum { SCORES = 4 };

/* Which stay whatever stands beside them. */
static void find_bests(const struct runlog *log, size_t best[SCORES])
{
    for (int k = 0; k < SCORES; k++) {
        double least = INFINITY;
        best[k] = log->n_eval;
        for (size_t i = 0; i < log->n_eval; i++)
            if (!log->eval[i].is_lost && score(&log->eval[i], k) < least) {
                least = score(&log->eval[i], k);
                best[k] = i;
            }
    }
}

static bool is_best(const size_t best[SCORES], size_t i)
{
    for (int k = 0; k < SCORES; k++)
        if (best[k] == i)
            return true;
    return false;
}

/* Of two evaluations the better one stays. */
static void thin_evals(struct runlog *log)
{
    const size_t end = log->n_eval - log->n_eval / 8;
    size_t best[SCORES], kept = 0, kept_from = 0;

    log->most_evals = log->most_evals ? 2 * log->most_evals : 2;
    find_bests(log, best);
    for (size_t i = 0; i < log->n_eval; i++) {
        const struct runlog_eval *b = &log->eval[i];
        struct runlog_eval *a = kept ? &log->eval[kept - 1] : NULL;
        if (!a || i >= end || is_best(best, i) || is_best(best, kept_from) ||
            a->is_lost != b->is_lost || a->entries + b->entries > log->most_evals) {
            log->eval[kept++] = *b;
            kept_from = i;
            continue;
        }
        const size_t entries = a->entries + b->entries;
        if (b->valid_loss < a->valid_loss || b->eval_loss < a->eval_loss)
            *a = *b;
        a->entries = entries;
    }
    log->n_eval = kept;
    COUNT_LOST(log->eval, kept);
}

/* ---- rare events ---- */

/* The first and the newest are shown. Scores stay unless there are as many. */
static void thin_events(struct runlog *log)
{
    enum { FIRST = RUNLOG_EVENTS_MAX / 4, NEWEST = RUNLOG_EVENTS_MAX / 4 };
    size_t n_tests = 0, kept = FIRST;

    for (size_t i = 0; i < log->n_event; i++)
        n_tests += log->event[i].kind == RUNLOG_KIND_TEST;
    for (size_t i = FIRST; i < log->n_event; i++) {
        struct runlog_event *e = &log->event[i];
        const bool is_score =
            e->kind == RUNLOG_KIND_TEST && n_tests < RUNLOG_EVENTS_MAX / 4;
        if (is_score || i + NEWEST >= log->n_event)
            log->event[kept++] = *e;
        else if (e->kind != RUNLOG_KIND_START)
            runlog_entry_free(e->kind, &e->save);
    }
    log->n_event = kept;
}

static void thin_starts(struct runlog *log)
{
    const size_t first = STARTS_MAX / 4, last = log->n_start - STARTS_MAX / 4;

    for (size_t i = first; i < last; i++)
        runlog_entry_free_start(&log->start[i]);
    memmove(&log->start[first], &log->start[last],
            (log->n_start - last) * sizeof *log->start);
    log->n_start -= last - first;
}

void runlog_thin_rare(struct runlog *log)
{
    if (log->n_event >= RUNLOG_EVENTS_MAX)
        thin_events(log);
    if (log->n_start >= STARTS_MAX)
        thin_starts(log);
    if (log->n_sample >= SAMPLES_MAX)
        runlog_drop_samples(log, SAMPLES_MAX / 2);
}

/* Entries that cannot be merged must not be tried at every line. */
status runlog_thin(struct runlog *log, struct err *err)
{
    if (log->n_eval >= RUNLOG_EVALS_MAX)
        thin_evals(log);
    if (log->n_step + log->n_rank < (log->thin_at ? log->thin_at : RUNLOG_ENTRIES_MAX))
        return OK;
    if (!log->bin)
        TRY(mem_alloc(&log->bin, RUNLOG_BINS, sizeof *log->bin, err));
    log->most = log->most ? 2 * log->most : 2;
    thin_steps(log, false);
    if (log->n_step > RUNLOG_ENTRIES_MAX * 3 / 4)
        thin_steps(log, true);
    thin_laps(log);
    const size_t n = (log->n_step + log->n_rank) / 3 * 4;
    log->thin_at = n > RUNLOG_ENTRIES_MAX ? n : RUNLOG_ENTRIES_MAX;
    return OK;
}
