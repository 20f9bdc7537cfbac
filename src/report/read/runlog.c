#include "report/read/runlog.h"
#include "report/read/runlog_entry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/lines.h"
#include "base/mem.h"
#include "text/line_reader.h"

#define P(kind, text) text,
const char *const runlog_problems[] = {RUNLOG_PROBLEM_LIST(P)};
#undef P

enum { LINE_MAX_BYTES = 1 << 26 }; /* a ranks entry of a hundred thousand ranks */

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

/* The work of earlier sessions beyond the step that a new one starts from. */
static void mark_lost(struct runlog *log, double step)
{
    for (size_t i = log->n_step; i > 0 && !(log->step[i - 1].step <= step); i--)
        log->step[i - 1].is_lost = true;
    for (size_t i = log->n_eval; i > 0 && !(log->eval[i - 1].step <= step); i--)
        log->eval[i - 1].is_lost = true;
    for (size_t i = log->n_lap; i > 0 && !(log->lap[i - 1].step <= step); i--)
        log->lap[i - 1].is_lost = true;
}

static status read_start(struct runlog *log, const struct entry *e, struct err *err)
{
    TRY(mem_grow(&log->start, &log->cap_start, log->n_start + 1, sizeof *log->start,
                 err));
    struct runlog_start *s = &log->start[log->n_start++];

    *s = (struct runlog_start){0};
    TRY(runlog_entry_get(e, RUNLOG_KIND_START, e->json, s, err));
    TRY(runlog_entry_get(e, RUNLOG_KIND_DATA, json_object_get(e->json, "data"), s, err));
    TRY(runlog_entry_get(e, RUNLOG_KIND_NETWORK, json_object_get(e->json, "network"), s,
                         err));
    TRY(get_options(e, s, err));
    if (isfinite(s->step))
        mark_lost(log, s->step);
    if (log->n_start > 1 && s->t > log->t_last)
        log->t_idle += s->t - log->t_last;
    return OK;
}

static status read_step(struct runlog *log, const struct entry *e, struct err *err)
{
    runlog_entry_thin(log);
    TRY(mem_grow(&log->step, &log->cap_step, log->n_step + 1, sizeof *log->step, err));
    struct runlog_step *s = &log->step[log->n_step];

    *s = (struct runlog_step){.session = log->n_start};
    s->is_first = log->n_step == 0 || s[-1].session != s->session;
    TRY(runlog_entry_get(e, RUNLOG_KIND_STEP, e->json, s, err));
    if (!isfinite(s->step))
        return runlog_entry_refuse(e, "a step event without a \"step\"", err);
    if (!(s->steps >= 1))
        s->steps = 1;
    log->n_step++;
    runlog_entry_pair(log);
    return OK;
}

static status read_eval(struct runlog *log, const struct entry *e, struct err *err)
{
    runlog_entry_thin(log);
    TRY(mem_grow(&log->eval, &log->cap_eval, log->n_eval + 1, sizeof *log->eval, err));
    struct runlog_eval *v = &log->eval[log->n_eval++];

    *v = (struct runlog_eval){0};
    TRY(runlog_entry_get(e, RUNLOG_KIND_EVAL, e->json, v, err));
    return isfinite(v->step)
               ? OK
               : runlog_entry_refuse(e, "an eval event without a \"step\"", err);
}

static status read_sample(struct runlog *log, const struct entry *e, struct err *err)
{
    TRY(mem_grow(&log->sample, &log->cap_sample, log->n_sample + 1, sizeof *log->sample,
                 err));
    log->sample[log->n_sample] = (struct runlog_sample){0};
    return runlog_entry_get(e, RUNLOG_KIND_SAMPLE, e->json, &log->sample[log->n_sample++],
                            err);
}

static status read_rare(struct runlog *log, const struct entry *e, enum runlog_kind kind,
                        struct err *err)
{
    TRY(mem_grow(&log->event, &log->cap_event, log->n_event + 1, sizeof *log->event,
                 err));
    struct runlog_event *v = &log->event[log->n_event++];

    *v = (struct runlog_event){.kind = kind, .start = log->n_start};
    if (kind != RUNLOG_KIND_START)
        return runlog_entry_get(e, kind, e->json, &v->save, err);
    TRY(read_start(log, e, err));
    v->t = log->start[v->start].t;
    v->step = log->start[v->start].step;
    return OK;
}

/* Test events are appended later by another command: they are no part of the run. */
static void note_time(struct runlog *log, double t, bool is_new_session)
{
    if (!isfinite(t))
        return;
    if (!isfinite(log->t_first))
        log->t_first = t;
    else if (!is_new_session)
        log->t_gap = fmax(log->t_gap, t - log->t_last);
    log->t_last = fmax(log->t_last, t); /* an evaluation may be told late */
}

static status read_kind(struct runlog *log, const struct entry *e, enum runlog_kind kind,
                        struct err *err)
{
    switch (kind) {
    case RUNLOG_KIND_STEP:
        return read_step(log, e, err);
    case RUNLOG_KIND_EVAL:
        return read_eval(log, e, err);
    case RUNLOG_KIND_SAMPLE:
        return read_sample(log, e, err);
    case RUNLOG_KIND_RANKS:
        return runlog_entry_ranks(log, e, err);
    default:
        return read_rare(log, e, kind, err);
    }
}

static status read_event(struct runlog *log, const struct entry *e, struct err *err)
{
    const char *name = json_string_value(json_object_get(e->json, "event"));
    const json_t *t = json_object_get(e->json, "t");
    int kind = 0;

    if (!name)
        return runlog_entry_refuse(e, "an entry without an \"event\" name", err);
    while (kind < RUNLOG_ENTRIES_N && strcmp(runlog_schema[kind].name, name) != 0)
        kind++;
    if (kind < RUNLOG_ENTRIES_N)
        TRY(read_kind(log, e, (enum runlog_kind)kind, err));
    else
        log->n_unknown++;
    if (kind != RUNLOG_KIND_TEST && json_is_number(t))
        note_time(log, json_number_value(t), kind == RUNLOG_KIND_START);
    return OK;
}

static bool is_blank(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] != ' ' && s[i] != '\t' && s[i] != '\r')
            return false;
    return true;
}

/* The first event of a process that appends to the log: training, or `ferry eval`. */
static bool is_opening(const json_t *json)
{
    const char *name = json_string_value(json_object_get(json, "event"));

    return name && (strcmp(name, "start") == 0 || strcmp(name, "test") == 0);
}

/*
 * A malformed line waits for its successor. It was cut off by a crash when it is the
 * last one or another process began after it; otherwise the log is damaged.
 */
struct suspect {
    size_t number; /* 0: none */
    char why[JSON_ERROR_TEXT_LENGTH + 32];
};

static status read_line(struct runlog *log, struct entry *e, struct suspect *s,
                        struct line line, struct err *err)
{
    json_error_t why;
    json_t *json = json_loadb(line.text, line.n_bytes, 0, &why);
    status result = OK;

    if (s->number && (!json || !is_opening(json))) {
        json_decref(json);
        return err_set(err, ERR_FORMAT, "%s:%zu: not a JSON object: %s", e->name,
                       s->number, s->why);
    }
    if (s->number)
        log->n_cut++;
    s->number = 0;
    if (!json) {
        if (line.text[0] != '{')
            return runlog_entry_refuse(e, "not a JSON object", err);
        s->number = e->number;
        snprintf(s->why, sizeof s->why, "%s", why.text);
        return OK;
    }
    e->json = json;
    if (json_is_object(json))
        result = read_event(log, e, err);
    else
        result = runlog_entry_refuse(e, "not a JSON object", err);
    json_decref(json);
    return result;
}

/* The lines of a log, one after the other. */
struct reading {
    struct entry entry;
    struct suspect suspect;
};

static status add_line(struct runlog *log, struct reading *r, struct line line,
                       struct err *err)
{
    r->entry.number = ++log->n_lines;
    if (is_blank(line.text, line.n_bytes))
        return OK;
    return read_line(log, &r->entry, &r->suspect, line, err);
}

void runlog_init(struct runlog *log)
{
    *log = (struct runlog){
        .t_first = NAN,
        .t_last = NAN,
        .foreign = {
            .tokens_per_s = NAN, .t_step = NAN, .begins_at = NAN, .t_startup = NAN}};
}

/* `result` is of the reading; what is left at its end. */
static status finish(struct runlog *log, const struct reading *r, status result)
{
    log->n_cut += r->suspect.number != 0;
    if (result != OK)
        runlog_close(log);
    return result;
}

status runlog_parse(struct runlog *log, const char *name, const void *data, size_t n,
                    struct err *err)
{
    struct reading r = {.entry.name = name};
    struct lines lines = lines_over(data, n);
    status result = OK;

    runlog_init(log);
    for (struct line line; result == OK && lines_next(&lines, &line);)
        result = add_line(log, &r, line, err);
    return finish(log, &r, result);
}

status runlog_open(struct runlog *log, const char *path, struct err *err)
{
    struct reading r = {.entry.name = path};
    struct line_reader file;
    struct line line;
    bool has = true;

    runlog_init(log);
    TRY(line_reader_open(&file, path, path, err));
    file.max_line = LINE_MAX_BYTES;
    status result = line_reader_next(&file, &line, &has, err);
    while (result == OK && has) {
        result = add_line(log, &r, line, err);
        THEN(result, line_reader_next(&file, &line, &has, err));
    }
    line_reader_close(&file);
    return finish(log, &r, result);
}

status runlog_put(struct runlog *log, json_t *entry, struct err *err)
{
    const struct entry e = {.name = "the log", .number = log->n_lines, .json = entry};

    const status result = entry ? read_event(log, &e, err)
                                : err_set(err, ERR_MEMORY, "no memory for the run log");
    json_decref(entry);
    return result;
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

static void free_start(struct runlog_start *s)
{
    for (size_t i = 0; i < s->n_options; i++) {
        free(s->option[i].key);
        free(s->option[i].value);
    }
    free(s->option);
    runlog_entry_free(RUNLOG_KIND_START, s);
    runlog_entry_free(RUNLOG_KIND_DATA, s);
    runlog_entry_free(RUNLOG_KIND_NETWORK, s);
}

void runlog_close(struct runlog *log)
{
    for (size_t i = 0; i < log->n_start; i++)
        free_start(&log->start[i]);
    for (size_t i = 0; i < log->n_eval; i++)
        runlog_entry_free(RUNLOG_KIND_EVAL, &log->eval[i]);
    for (size_t i = 0; i < log->n_event; i++)
        if (log->event[i].kind != RUNLOG_KIND_START)
            runlog_entry_free(log->event[i].kind, &log->event[i].save);
    for (size_t i = 0; i < log->n_sample; i++)
        runlog_entry_free(RUNLOG_KIND_SAMPLE, &log->sample[i]);
    for (size_t i = 0; i < log->n_host; i++)
        free((char *)log->host[i]);
    free(log->start);
    free(log->step);
    free(log->eval);
    free(log->event);
    free(log->sample);
    free(log->lap);
    free(log->rank);
    free(log->host);
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

static bool has_loss(const struct runlog_step *s)
{
    return !s->is_lost && isfinite(s->loss);
}

/* How far the entries lie that a line is fitted to: an eighth of the step, or what holds
 * WINDOW of them. */
static double window_around(const struct runlog *log, double step)
{
    enum { WINDOW = 8 };
    double near[WINDOW] = {0}; /* the smallest distances, ascending */
    size_t n = 0;

    for (size_t i = 0; i < log->n_step; i++) {
        const double distance = fabs(log->step[i].step - step);
        if (!has_loss(&log->step[i]) || (n == WINDOW && distance >= near[n - 1]))
            continue;
        size_t at = n < WINDOW ? n++ : n - 1;
        for (; at > 0 && near[at - 1] > distance; at--)
            near[at] = near[at - 1];
        near[at] = distance;
    }
    return n ? fmax(step / 8, near[n - 1]) : NAN;
}

double runlog_train_loss_at(const struct runlog *from, double step)
{
    const double reach = window_around(from, step);
    double w = 0, x = 0, y = 0, xx = 0, xy = 0;

    for (size_t i = 0; step > 0 && i < from->n_step; i++) {
        const struct runlog_step *s = &from->step[i];
        if (!has_loss(s) || !(fabs(s->step - step) <= reach))
            continue;
        /* a mean over several steps stands for their middle; others log single ones */
        const double middle = from->foreign.origin ? 0 : (s->steps - 1) / 2;
        const double u = log(fmax(0.5, s->step - middle) / step);
        const double weight = runlog_weight(s);
        w += weight;
        x += weight * u;
        y += weight * s->loss;
        xx += weight * u * u;
        xy += weight * u * s->loss;
    }
    const double det = w * xx - x * x;
    return det > 1e-12 * w * w ? (xx * y - x * xy) / det : y / w; /* NAN without any */
}
