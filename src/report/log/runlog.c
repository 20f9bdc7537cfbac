#include "report/log/runlog.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/log/runlog_entry.h"

#define P(kind, text) text,
const char *const runlog_problems[] = {RUNLOG_PROBLEM_LIST(P)};
#undef P

void runlog_init(struct runlog *log)
{
    *log = (struct runlog){
        .t_first = NAN,
        .t_last = NAN,
        .foreign = {
            .tokens_per_s = NAN, .t_step = NAN, .begins_at = NAN, .t_startup = NAN}};
}

void runlog_shift(struct runlog *log, double seconds)
{
    for (size_t i = 0; i < log->n_start; i++)
        log->start[i].t += seconds;
    for (size_t i = 0; i < log->n_step; i++)
        log->step[i].t += seconds;
    for (size_t i = 0; i < log->n_eval; i++)
        log->eval[i].t += seconds;
    for (size_t i = 0; i < log->n_event; i++)
        log->event[i].t += seconds;
    for (size_t i = 0; i < log->n_lap; i++)
        log->lap[i].t += seconds;
    log->t_first += seconds;
    log->t_last += seconds;
}

void runlog_drop_samples(struct runlog *log, size_t most)
{
    const size_t n = log->n_sample > most ? log->n_sample - most : 0;

    for (size_t i = 0; i < n; i++)
        runlog_entry_free(RUNLOG_KIND_SAMPLE, &log->sample[i]);
    if (n)
        memmove(log->sample, log->sample + n, most * sizeof *log->sample);
    log->n_sample -= n;
}

void runlog_close(struct runlog *log)
{
    for (size_t i = 0; i < log->n_start; i++)
        runlog_entry_free_start(&log->start[i]);
    for (size_t i = 0; i < log->n_event; i++)
        if (log->event[i].kind != RUNLOG_KIND_START)
            runlog_entry_free(log->event[i].kind, &log->event[i].save);
    for (size_t i = 0; i < log->n_sample; i++)
        runlog_entry_free(RUNLOG_KIND_SAMPLE, &log->sample[i]);
    for (size_t i = 0; i < log->n_name; i++)
        free((char *)log->name[i]);
    free(log->start);
    free(log->step);
    free(log->eval);
    free(log->event);
    free(log->valid);
    free(log->sample);
    free(log->lap);
    free(log->rank);
    free(log->name);
    free(log->bin);
    free(log->foreign.attempt);
    *log = (struct runlog){0};
}

const struct runlog_start *runlog_latest(const struct runlog *log)
{
    return log->n_start ? &log->start[log->n_start - 1] : NULL;
}

const char *runlog_config(const struct runlog *log, const char *key)
{
    const struct runlog_start *s = runlog_latest(log);

    for (size_t i = 0; s && i < s->n_options; i++)
        if (strcmp(s->option[i].key, key) == 0)
            return s->option[i].value;
    return NULL;
}

const struct runlog_stop *runlog_end(const struct runlog *log)
{
    const struct runlog_stop *end = NULL;

    for (size_t i = 0; i < log->n_event; i++)
        if (log->event[i].kind == RUNLOG_KIND_STOP)
            end = &log->event[i].stop;
        else if (log->event[i].kind == RUNLOG_KIND_START)
            end = NULL;
    return end;
}

const struct runlog_test *runlog_tested(const struct runlog *log)
{
    const struct runlog_test *newest = NULL;

    for (size_t i = 0; i < log->n_event; i++) {
        const struct runlog_test *test = &log->event[i].test;
        if (log->event[i].kind != RUNLOG_KIND_TEST || !test->name ||
            strcmp(test->name, "test") != 0)
            continue;
        if (!newest || isfinite(test->bleu) || !isfinite(newest->bleu))
            newest = test;
    }
    return newest;
}

size_t runlog_find(const struct runlog *log, size_t from, size_t to, double step)
{
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (log->step[middle].step < step)
            from = middle + 1;
        else
            to = middle;
    }
    return to;
}

double runlog_weight(const struct runlog_step *s)
{
    return s->target_tokens > 0 ? s->target_tokens : s->steps;
}

double runlog_slowest(const struct runlog_step *s)
{
    return s->entries > 1 ? s->slowest : s->t_step / s->steps;
}

double runlog_train_loss(const struct runlog *log, double after, double upto)
{
    double sum = 0, weight = 0;

    for (size_t i = 0; i < log->n_step; i++) {
        const struct runlog_step *s = &log->step[i];
        const double w = runlog_weight(s);
        if (!s->is_lost && s->step > after && s->step <= upto && isfinite(s->loss)) {
            sum += w * s->loss;
            weight += w;
        }
    }
    return weight > 0 ? sum / weight : NAN;
}

const struct runlog_problem *runlog_fatal(const struct runlog *log)
{
    for (int i = 0; i < RUNLOG_PROBLEMS_N && !runlog_end(log); i++)
        if (log->foreign.problem[i].n && !log->foreign.problem[i].is_survived)
            return &log->foreign.problem[i];
    return NULL;
}
