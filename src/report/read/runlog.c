#include "report/read/runlog.h"
#include "report/read/runlog_line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/file.h"
#include "base/mem.h"

/* A scalar as it would be typed; lists and objects as JSON. */
static status value_text(const json_t *v, char **out, struct err *err)
{
    if (json_is_string(v))
        return runlog_line_copy(out, json_string_value(v), err);
    *out = json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    return *out ? OK : err_set(err, ERR_MEMORY, "no memory for the configuration");
}

static status get_config(const struct line *l, struct runlog_start *s, struct err *err)
{
    json_t *config = json_object_get(l->json, "config");
    const char *key;
    json_t *value;

    if (!config || json_is_null(config))
        return OK;
    if (!json_is_object(config))
        return runlog_line_refuse(l, "\"config\" is not an object", err);
    TRY(mem_alloc(&s->config, json_object_size(config), sizeof *s->config, err));
    json_object_foreach(config, key, value)
    {
        struct runlog_pair *p = &s->config[s->n_config++];
        TRY(runlog_line_copy(&p->key, key, err));
        TRY(value_text(value, &p->value, err));
    }
    return OK;
}

/* The work of earlier sessions beyond the step that a new one starts from. */
void runlog_mark_lost(struct runlog *log, double step)
{
    for (size_t i = log->n_step; i > 0 && !(log->step[i - 1].step <= step); i--)
        log->step[i - 1].is_lost = true;
    for (size_t i = log->n_eval; i > 0 && !(log->eval[i - 1].step <= step); i--)
        log->eval[i - 1].is_lost = true;
    for (size_t i = log->n_lap; i > 0 && !(log->lap[i - 1].step <= step); i--)
        log->lap[i - 1].is_lost = true;
}

static status read_start(struct runlog *log, const struct line *l, struct err *err)
{
    TRY(mem_grow(&log->start, &log->cap_start, log->n_start + 1, sizeof *log->start,
                 err));
    struct runlog_start *s = &log->start[log->n_start++];
    const json_t *data = json_object_get(l->json, "data"),
                 *network = json_object_get(l->json, "network");

    *s = (struct runlog_start){.is_resumed =
                                   json_is_true(json_object_get(l->json, "resumed"))};
#define X(field) TRY(runlog_line_number(l, l->json, #field, &s->field, err));
    RUNLOG_START_FIELDS(X)
#undef X
#define X(field) TRY(runlog_line_number(l, data, #field, &s->field, err));
    RUNLOG_DATA_FIELDS(X)
#undef X
#define X(field) TRY(runlog_line_number(l, network, #field, &s->field, err));
    RUNLOG_NETWORK_FIELDS(X)
#undef X
    TRY(runlog_line_text(l, "version", &s->version, err));
    TRY(runlog_line_text(l, "host", &s->host, err));
    TRY(runlog_line_text(l, "device", &s->device, err));
    TRY(runlog_line_member(l, network, "library", &s->library, err));
    TRY(get_config(l, s, err));
    if (isfinite(s->step))
        runlog_mark_lost(log, s->step);
    if (log->n_start > 1 && s->t > log->t_last)
        log->t_idle += s->t - log->t_last;
    return OK;
}

static status read_step(struct runlog *log, const struct line *l, struct err *err)
{
    TRY(mem_grow(&log->step, &log->cap_step, log->n_step + 1, sizeof *log->step, err));
    struct runlog_step *s = &log->step[log->n_step];

    *s = (struct runlog_step){.session = log->n_start};
    s->is_first = log->n_step == 0 || s[-1].session != s->session;
#define X(field) TRY(runlog_line_number(l, l->json, #field, &s->field, err));
    RUNLOG_STEP_FIELDS(X)
#undef X
    if (!isfinite(s->step))
        return runlog_line_refuse(l, "a step event without a \"step\"", err);
    if (!(s->steps >= 1))
        s->steps = 1;
    log->n_step++;
    runlog_pair_lap(log);
    return OK;
}

static status read_eval(struct runlog *log, const struct line *l, struct err *err)
{
    TRY(mem_grow(&log->eval, &log->cap_eval, log->n_eval + 1, sizeof *log->eval, err));
    struct runlog_eval *e = &log->eval[log->n_eval++];

    *e = (struct runlog_eval){0};
#define X(field) TRY(runlog_line_number(l, l->json, #field, &e->field, err));
    RUNLOG_EVAL_FIELDS(X)
#undef X
    if (!isfinite(e->step))
        return runlog_line_refuse(l, "an eval event without a \"step\"", err);
    return runlog_line_text(l, "bleu_signature", &e->signature, err);
}

static status read_sample(struct runlog *log, const struct line *l, struct err *err)
{
    TRY(mem_grow(&log->sample, &log->cap_sample, log->n_sample + 1, sizeof *log->sample,
                 err));
    struct runlog_sample *s = &log->sample[log->n_sample++];

    *s = (struct runlog_sample){0};
    TRY(runlog_line_number(l, l->json, "t", &s->t, err));
    TRY(runlog_line_number(l, l->json, "step", &s->step, err));
    TRY(runlog_line_text(l, "source", &s->source, err));
    TRY(runlog_line_text(l, "reference", &s->reference, err));
    return runlog_line_text(l, "translation", &s->translation, err);
}

/* event name, kind, key of `text`, key of `more` */
static const struct rare {
    const char *name;
    enum runlog_kind kind;
    const char *text, *more;
} rare_events[] = {
    {"start", RUNLOG_START, "device", "host"},
    {"save", RUNLOG_SAVE, "path", NULL},
    {"best", RUNLOG_BEST, "path", NULL},
    {"skip", RUNLOG_SKIP, "reason", NULL},
    {"test", RUNLOG_TEST, "name", "bleu_signature"},
    {"stop", RUNLOG_STOP, "reason", "message"},
};

static const struct rare *rare_named(const char *name)
{
    for (size_t i = 0; i < sizeof rare_events / sizeof *rare_events; i++)
        if (strcmp(rare_events[i].name, name) == 0)
            return &rare_events[i];
    return NULL;
}

static status read_rare(struct runlog *log, const struct line *l, const struct rare *r,
                        struct err *err)
{
    TRY(mem_grow(&log->event, &log->cap_event, log->n_event + 1, sizeof *log->event,
                 err));
    struct runlog_event *e = &log->event[log->n_event++];

    *e = (struct runlog_event){.kind = r->kind};
#define X(field) TRY(runlog_line_number(l, l->json, #field, &e->field, err));
    RUNLOG_EVENT_FIELDS(X)
#undef X
    TRY(runlog_line_text(l, r->text, &e->text, err));
    return r->more ? runlog_line_text(l, r->more, &e->more, err) : OK;
}

/* Test events are appended later by another command: they are no part of the run. */
static status note_time(struct runlog *log, const struct line *l, bool is_new_session,
                        struct err *err)
{
    double t;

    TRY(runlog_line_number(l, l->json, "t", &t, err));
    if (!isfinite(t))
        return OK;
    if (!isfinite(log->t_first))
        log->t_first = t;
    else if (!is_new_session)
        log->t_gap = fmax(log->t_gap, t - log->t_last);
    log->t_last = t;
    return OK;
}

static status read_event(struct runlog *log, const struct line *l, struct err *err)
{
    const char *name = json_string_value(json_object_get(l->json, "event"));

    if (!name)
        return runlog_line_refuse(l, "an entry without an \"event\" name", err);
    const struct rare *rare = rare_named(name);

    const bool is_new_session = rare && rare->kind == RUNLOG_START;

    if (rare)
        TRY(read_rare(log, l, rare, err));
    if (is_new_session)
        TRY(read_start(log, l, err));
    else if (strcmp(name, "step") == 0)
        TRY(read_step(log, l, err));
    else if (strcmp(name, "eval") == 0)
        TRY(read_eval(log, l, err));
    else if (strcmp(name, "sample") == 0)
        TRY(read_sample(log, l, err));
    else if (strcmp(name, "ranks") == 0)
        TRY(runlog_read_ranks(log, l, err));
    else if (!rare)
        log->n_unknown++;
    if (rare && rare->kind == RUNLOG_TEST)
        return OK;
    return note_time(log, l, is_new_session, err);
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

static status convict(const struct suspect *s, const char *name, struct err *err)
{
    return err_set(err, ERR_FORMAT, "%s:%zu: not a JSON object: %s", name, s->number,
                   s->why);
}

static status read_line(struct runlog *log, struct line *l, struct suspect *s,
                        const char *text, size_t n, struct err *err)
{
    json_error_t why;
    json_t *json = json_loadb(text, n, 0, &why);
    status result = OK;

    if (s->number && (!json || !is_opening(json))) {
        json_decref(json);
        return convict(s, l->name, err);
    }
    if (s->number)
        log->n_cut++;
    s->number = 0;
    if (!json) {
        if (text[0] != '{')
            return runlog_line_refuse(l, "not a JSON object", err);
        s->number = l->number;
        snprintf(s->why, sizeof s->why, "%s", why.text);
        return OK;
    }
    l->json = json;
    if (json_is_object(json))
        result = read_event(log, l, err);
    else
        result = runlog_line_refuse(l, "not a JSON object", err);
    json_decref(json);
    return result;
}

static status parse_lines(struct runlog *log, const char *name, const char *data,
                          size_t n, struct err *err)
{
    struct line line = {.name = name};
    struct suspect suspect = {0};

    for (size_t at = 0; at < n;) {
        const char *end = memchr(data + at, '\n', n - at);
        const size_t len = end ? (size_t)(end - (data + at)) : n - at;
        line.number = ++log->n_lines;
        if (!is_blank(data + at, len))
            TRY(read_line(log, &line, &suspect, data + at, len, err));
        at += len + 1;
    }
    log->n_cut += suspect.number != 0;
    return OK;
}

status runlog_parse(struct runlog *log, const char *name, const void *data, size_t n,
                    struct err *err)
{
    *log = (struct runlog){
        .t_first = NAN, .t_last = NAN, .tokens_per_s = NAN, .t_step = NAN};
    const status result = parse_lines(log, name, data, n, err);
    if (result != OK)
        runlog_close(log);
    return result;
}

status runlog_open(struct runlog *log, const char *path, struct err *err)
{
    struct file_map map;

    *log = (struct runlog){0};
    TRY(file_map_open(&map, path, err));
    const status result = runlog_parse(log, path, map.data, map.n_bytes, err);
    file_map_close(&map);
    return result;
}

static void free_start(struct runlog_start *s)
{
    for (size_t i = 0; i < s->n_config; i++) {
        free(s->config[i].key);
        free(s->config[i].value);
    }
    free(s->config);
    free(s->version);
    free(s->host);
    free(s->device);
    free(s->library);
}

void runlog_close(struct runlog *log)
{
    for (size_t i = 0; i < log->n_start; i++)
        free_start(&log->start[i]);
    for (size_t i = 0; i < log->n_eval; i++)
        free(log->eval[i].signature);
    for (size_t i = 0; i < log->n_event; i++) {
        free(log->event[i].text);
        free(log->event[i].more);
    }
    for (size_t i = 0; i < log->n_sample; i++) {
        free(log->sample[i].source);
        free(log->sample[i].reference);
        free(log->sample[i].translation);
    }
    free(log->start);
    free(log->step);
    free(log->eval);
    free(log->event);
    for (size_t i = 0; i < log->n_host; i++)
        free(log->host[i]);
    free(log->sample);
    free(log->lap);
    free(log->rank);
    free(log->host);
    *log = (struct runlog){0};
}

const struct runlog_start *runlog_latest(const struct runlog *log)
{
    return log->n_start ? &log->start[log->n_start - 1] : NULL;
}

const char *runlog_config(const struct runlog *log, const char *key)
{
    const struct runlog_start *s = runlog_latest(log);

    for (size_t i = 0; s && i < s->n_config; i++)
        if (strcmp(s->config[i].key, key) == 0)
            return s->config[i].value;
    return NULL;
}

const struct runlog_event *runlog_stop(const struct runlog *log)
{
    const struct runlog_event *stop = NULL;

    for (size_t i = 0; i < log->n_event; i++)
        if (log->event[i].kind == RUNLOG_STOP)
            stop = &log->event[i];
        else if (log->event[i].kind == RUNLOG_START)
            stop = NULL;
    return stop;
}

double runlog_train_loss(const struct runlog *log, double after, double upto)
{
    double sum = 0, weight = 0;

    for (size_t i = 0; i < log->n_step; i++) {
        const struct runlog_step *s = &log->step[i];
        const double w = s->target_tokens > 0 ? s->target_tokens : s->steps;
        if (!s->is_lost && s->step > after && s->step <= upto && isfinite(s->loss)) {
            sum += w * s->loss;
            weight += w;
        }
    }
    return weight > 0 ? sum / weight : NAN;
}
