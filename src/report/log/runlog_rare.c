/* Starts, samples and the rare events, and which of all kinds an entry is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/log/runlog.h"
#include "report/log/runlog_entry.h"

/* A scalar as it would be typed; lists and objects as JSON. */
static status value_text(const json_t *v, char **out, struct err *err)
{
    if (json_is_string(v))
        return runlog_entry_copy(out, json_string_value(v), err);
    *out = json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    return *out ? OK : err_set(err, ERR_MEMORY, "no memory for the configuration");
}

static status get_options(const struct entry *e, struct runlog_start *s, struct err *err)
{
    json_t *config = json_object_get(e->json, "config");
    const char *key;
    json_t *value;

    if (!config || json_is_null(config))
        return OK;
    if (!json_is_object(config))
        return runlog_entry_refuse(e, "\"config\" is not an object", err);
    TRY(mem_alloc(&s->option, json_object_size(config), sizeof *s->option, err));
    json_object_foreach(config, key, value)
    {
        struct runlog_pair *p = &s->option[s->n_options++];
        TRY(runlog_entry_copy(&p->key, key, err));
        TRY(value_text(value, &p->value, err));
    }
    return OK;
}

void runlog_entry_free_options(struct runlog_start *s)
{
    for (size_t i = 0; i < s->n_options; i++) {
        free(s->option[i].key);
        free(s->option[i].value);
    }
    free(s->option);
    s->option = NULL;
    s->n_options = 0;
}

void runlog_entry_free_start(struct runlog_start *s)
{
    runlog_entry_free_options(s);
    runlog_entry_free(RUNLOG_KIND_START, s);
    runlog_entry_free(RUNLOG_KIND_DATA, s);
    runlog_entry_free(RUNLOG_KIND_NETWORK, s);
}

/*
 * What of a list lies beyond a step, from its end back. A run that is lost already is
 * skipped: what stands before it is of a lower step than all of it. So a run that crashes
 * and starts again and again costs no more than its entries.
 */
#define MARK_LOST(entry, n, from_step)                             \
    do {                                                           \
        size_t i_ = (n);                                           \
        while (i_ > 0 && !((entry)[i_ - 1].step <= (from_step))) { \
            if (!(entry)[i_ - 1].is_lost)                          \
                (entry)[i_ - 1].lost_run = 1;                      \
            (entry)[i_ - 1].is_lost = true;                        \
            i_ -= (entry)[i_ - 1].lost_run;                        \
        }                                                          \
        if (i_ < (n))                                              \
            (entry)[(n)-1].lost_run = (n)-i_;                      \
    } while (0)

/* The work of earlier sessions beyond the step that a new one starts from. */
static void mark_lost(struct runlog *log, double step)
{
    MARK_LOST(log->step, log->n_step, step);
    MARK_LOST(log->eval, log->n_eval, step);
    MARK_LOST(log->lap, log->n_lap, step);
}

static status read_start(struct runlog *log, const struct entry *e, struct err *err)
{
    TRY(mem_grow(&log->start, &log->cap_start, log->n_start + 1, sizeof *log->start,
                 err));
    struct runlog_start *s = &log->start[log->n_start++];

    if (log->n_start > 1)
        runlog_entry_free_options(s - 1);
    *s = (struct runlog_start){0};
    TRY(runlog_entry_get(e, RUNLOG_KIND_START, e->json, s, err));
    TRY(runlog_entry_get(e, RUNLOG_KIND_DATA, json_object_get(e->json, "data"), s, err));
    TRY(runlog_entry_get(e, RUNLOG_KIND_NETWORK, json_object_get(e->json, "network"), s,
                         err));
    TRY(get_options(e, s, err));
    log->all.n_starts++;
    if (isfinite(s->step))
        mark_lost(log, s->step);
    if (log->all.n_starts > 1 && s->t > log->t_last)
        log->t_idle += s->t - log->t_last;
    return OK;
}

static status read_sample(struct runlog *log, const struct entry *e, struct err *err)
{
    TRY(mem_grow(&log->sample, &log->cap_sample, log->n_sample + 1, sizeof *log->sample,
                 err));
    log->sample[log->n_sample] = (struct runlog_sample){0};
    return runlog_entry_get(e, RUNLOG_KIND_SAMPLE, e->json, &log->sample[log->n_sample++],
                            err);
}

static void count_save(struct runlog_all *all, const struct runlog_save *s)
{
    if (isfinite(s->seconds))
        all->save_seconds += s->seconds;
    if (s->seconds > 0) {
        all->n_saves++;
        all->longest_save = fmax(all->longest_save, s->seconds);
    }
}

static status read_rare(struct runlog *log, const struct entry *e, enum runlog_kind kind,
                        struct err *err)
{
    TRY(mem_grow(&log->event, &log->cap_event, log->n_event + 1, sizeof *log->event,
                 err));
    struct runlog_event *v = &log->event[log->n_event++];

    *v = (struct runlog_event){.kind = kind};
    log->all.n_events++;
    if (kind != RUNLOG_KIND_START) {
        TRY(runlog_entry_get(e, kind, e->json, &v->save, err));
        if (kind == RUNLOG_KIND_SAVE)
            count_save(&log->all, &v->save);
        return OK;
    }
    TRY(read_start(log, e, err));
    const struct runlog_start *s = &log->start[log->n_start - 1];
    v->t = s->t;
    v->step = s->step;
    v->is_resumed = s->resumed;
    return s->device
               ? runlog_entry_name(log, &v->device, s->device, strlen(s->device), err)
               : OK;
}

static status read_kind(struct runlog *log, const struct entry *e, enum runlog_kind kind,
                        struct err *err)
{
    switch (kind) {
    case RUNLOG_KIND_STEP:
        return runlog_entry_step(log, e, err);
    case RUNLOG_KIND_EVAL:
        return runlog_entry_eval(log, e, err);
    case RUNLOG_KIND_VALID:
        return runlog_entry_valid(log, e, err);
    case RUNLOG_KIND_SAMPLE:
        return read_sample(log, e, err);
    case RUNLOG_KIND_RANKS:
        return runlog_entry_ranks(log, e, err);
    default:
        return read_rare(log, e, kind, err);
    }
}

status runlog_entry_event(struct runlog *log, const struct entry *e, struct err *err)
{
    const char *name = json_string_value(json_object_get(e->json, "event"));
    const json_t *t = json_object_get(e->json, "t");
    int kind = 0;

    runlog_thin_rare(log);
    if (!name)
        return runlog_entry_refuse(e, "an entry without an \"event\" name", err);
    while (kind < RUNLOG_ENTRIES_N && strcmp(runlog_schema[kind].name, name) != 0)
        kind++;
    if (kind < RUNLOG_ENTRIES_N)
        TRY(read_kind(log, e, (enum runlog_kind)kind, err));
    else
        log->n_unknown++;
    /* test events are appended later by another command: they are no part of the run */
    if (kind != RUNLOG_KIND_TEST && json_is_number(t))
        runlog_entry_time(log, json_number_value(t), kind == RUNLOG_KIND_START);
    return OK;
}
