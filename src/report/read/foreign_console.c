/* The lines that OpenSeq2Seq prints, from nohup.out or wherever they were kept. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "base/lines.h"
#include "base/utf8.h"
#include "report/read/foreign.h"

enum { EVALS_MAX = 64, LINE_SHOWN = 4000, PAIR_MAX = 200 };

struct reader {
    struct str *out;
    double t;              /* seconds since the beginning, as far as they are told */
    double printed;        /* step of the last loss line, -1 before the first */
    double loss, t_a_step; /* of the loss line whose time has not come yet */
    double next;           /* its step; NAN: none is open */
    double valid[EVALS_MAX], bleu[EVALS_MAX]; /* evaluations since the last loss line */
    size_t n_evals;
    double parameters, ranks, start_step, eval_steps, max_steps;
    json_t *config, *sample;
    bool in_config, is_started, is_resumed, is_finished;
    size_t n_known; /* lines understood */
    double tokens_per_s, t_step;
};

/* ---- for every source ---- */

void foreign_set(json_t *o, const char *key, double v)
{
    if (isfinite(v))
        json_object_set_new(o, key, json_real(v));
}

json_t *foreign_entry(const char *event, double t, double step)
{
    json_t *o = json_object();

    json_object_set_new(o, "event", json_string(event));
    foreign_set(o, "t", t);
    foreign_set(o, "step", step);
    return o;
}

void foreign_put(struct str *out, json_t *o)
{
    char *text = json_dumps(o, JSON_COMPACT);

    json_decref(o);
    if (text)
        str_puts(out, text);
    else
        out->bad = true;
    str_putc(out, '\n');
    free(text);
}

/* ---- the console ---- */

static const char *after(const char *line, const char *mark)
{
    const char *at = strstr(line, mark);

    return at ? at + strlen(mark) : NULL;
}

/* A number after `mark`; false when the line does not have one. */
static bool number_after(const char *line, const char *mark, double *out)
{
    const char *at = after(line, mark);
    char *end;

    if (!at)
        return false;
    const double v = strtod(at, &end);
    if (end == at)
        return false;
    *out = v;
    return true;
}

static void start(struct reader *r)
{
    if (r->is_started)
        return;
    json_t *o = foreign_entry("start", r->t, r->start_step);
    json_object_set_new(o, "resumed", json_boolean(r->is_resumed));
    foreign_set(o, "parameters", r->parameters);
    foreign_set(o, "ranks", r->ranks);
    json_object_set(o, "config", r->config);
    foreign_put(r->out, o);
    r->is_started = true;
}

/* The evaluations printed before a loss line came at multiples of eval_steps, which the
 * printed configuration tells; without it the loss line's own step must do. */
static void put_evals(struct reader *r, double upto)
{
    for (size_t i = 0; i < r->n_evals; i++) {
        double step = upto;
        if (r->eval_steps >= 1) {
            const double first = floor(r->printed / r->eval_steps) + 1;
            const double due = (first + (double)i) * r->eval_steps;
            step = due <= upto ? due : upto;
        }
        json_t *o = foreign_entry("eval", r->t, step);
        foreign_set(o, "eval_loss", r->valid[i]);
        foreign_set(o, "forced_bleu", r->bleu[i]);
        foreign_put(r->out, o);
    }
    r->n_evals = 0;
}

static void put_step(struct reader *r)
{
    if (!isfinite(r->next))
        return;
    const double steps = fmax(1, r->next - r->printed);
    r->t += isfinite(r->t_a_step) ? r->t_a_step * steps : 0;
    json_t *o = foreign_entry("step", r->t, r->next);
    foreign_set(o, "loss", r->loss);
    foreign_set(o, "steps", steps);
    foreign_set(o, "t_step", r->t_a_step * steps);
    foreign_put(r->out, o);
    r->printed = r->next;
    r->next = r->t_a_step = NAN;
}

static void put_sample(struct reader *r)
{
    if (r->sample)
        foreign_put(r->out, r->sample);
    r->sample = NULL;
}

/* "0:00:1.941" is hours, minutes and seconds. */
static double clock_text(const char *s)
{
    char *end;
    const double hours = strtod(s, &end);
    if (*end != ':')
        return NAN;
    const double minutes = strtod(end + 1, &end);
    if (*end != ':')
        return NAN;
    return 3600 * hours + 60 * minutes + strtod(end + 1, NULL);
}

static bool read_loss(struct reader *r, const char *line)
{
    double step, loss;

    if (!number_after(line, "lobal step ", &step) || !isfinite(step) ||
        !number_after(line, "Train loss: ", &loss))
        return false;
    put_step(r);
    start(r);
    put_evals(r, step);
    put_sample(r);
    r->next = step;
    r->loss = loss;
    return true;
}

static bool read_time(struct reader *r, const char *line)
{
    const char *at = after(line, "time per step = ");

    if (!at)
        return false;
    r->t_a_step = clock_text(at);
    put_step(r);
    return true;
}

static bool read_eval(struct reader *r, const char *line)
{
    double v;

    if (number_after(line, "Validation loss: ", &v)) {
        put_step(r);
        start(r);
        if (r->n_evals < EVALS_MAX) {
            r->valid[r->n_evals] = v;
            r->bleu[r->n_evals++] = NAN;
        }
        return true;
    }
    if (number_after(line, "Eval BLUE score: ", &v)) {
        if (r->n_evals)
            r->bleu[r->n_evals - 1] = v;
        return true;
    }
    return false;
}

static void set_text(json_t *o, const char *key, const char *text)
{
    json_object_set_new(o, key, json_text(text));
}

/* One sentence an evaluation or print is kept, of the thousands that are printed. */
static bool read_sample(struct reader *r, const char *line)
{
    static const char *const part[][2] = {{"Source[0]:", "source"},
                                          {"Target[0]:", "reference"},
                                          {"Prediction[0]:", "translation"}};

    for (size_t i = 0; i < 3; i++) {
        const char *text = after(line, part[i][0]);
        if (!text)
            continue;
        text += strspn(text, " ");
        if (i == 0) {
            json_decref(r->sample);
            r->sample = foreign_entry("sample", NAN, fmax(0, r->printed));
        }
        if (r->sample)
            set_text(r->sample, part[i][1], text);
        return true;
    }
    return false;
}

static void begin_session(struct reader *r, double step)
{
    if (r->is_started) {
        put_step(r);
        put_evals(r, r->printed);
        r->printed = step;
    }
    r->is_started = false;
    r->is_finished = false;
    r->is_resumed = step > 0;
    r->start_step = step;
}

static bool read_session(struct reader *r, const char *line)
{
    double v;

    if (strstr(line, "Starting training from")) {
        begin_session(r, 0);
    } else if (strstr(line, "Restored checkpoint from ")) {
        const char *stem = strstr(line, "model.ckpt-");
        begin_session(r, stem ? strtod(stem + 11, NULL) : 0);
    } else if (number_after(line, "Building graph in Horovod rank: ", &v)) {
        r->ranks = fmax(isfinite(r->ranks) ? r->ranks : 1, v + 1);
    } else if (number_after(line, "Total trainable parameters: ", &v)) {
        r->parameters = v;
    } else if (number_after(line, "Avg time per step: ", &v)) {
        r->t_step = v;
    } else if (number_after(line, "Avg objects per second: ", &v)) {
        r->tokens_per_s = v;
    } else if (strstr(line, "*** Finished training")) {
        put_step(r);
        put_evals(r, r->max_steps >= 1 ? fmax(r->max_steps - 1, r->printed) : r->printed);
        r->is_finished = true;
    } else {
        return false;
    }
    return true;
}

/* One  'key': value  of the printed dict; the first of a name counts. */
static const char *read_pair(struct reader *r, const char *at)
{
    char key[PAIR_MAX], value[PAIR_MAX];
    const char *end = strchr(at + 1, '\'');

    if (!end || end[1] != ':' || (size_t)(end - at) > sizeof key)
        return end ? end + 1 : at + strlen(at);
    snprintf(key, sizeof key, "%.*s", (int)(end - at - 1), at + 1);
    at = end + 2 + strspn(end + 2, " ");
    if (*at == '{')
        return at + 1;
    if (strncmp(at, "<function ", 10) == 0)
        at += 10;
    const size_t n = *at == '\'' ? strcspn(at + 1, "'") : strcspn(at, ",} ");
    snprintf(value, sizeof value, "%.*s", (int)(n < sizeof value ? n : sizeof value - 1),
             at + (*at == '\''));
    if (utf8_valid(key, strlen(key)) && !json_object_get(r->config, key))
        set_text(r->config, key, value);
    return at + n + (*at == '\'' ? 2 : 0);
}

static void read_config(struct reader *r, const char *line)
{
    for (const char *at = strchr(line, '\''); at && *at; at = strchr(at, '\''))
        at = read_pair(r, at);
    const char *every = json_string_value(json_object_get(r->config, "eval_steps"));
    const char *most = json_string_value(json_object_get(r->config, "max_steps"));
    r->eval_steps = every ? strtod(every, NULL) : NAN;
    r->max_steps = most ? strtod(most, NULL) : NAN;
}

static void read_line(struct reader *r, const char *line)
{
    if (strstr(line, "Training config:")) {
        r->in_config = true;
        read_config(r, line);
        r->n_known++;
        return;
    }
    if (strncmp(line, "***", 3) == 0)
        r->in_config = false;
    if (r->in_config)
        read_config(r, line);
    else if (read_loss(r, line) || read_time(r, line) || read_eval(r, line) ||
             read_session(r, line) || read_sample(r, line))
        r->n_known++;
}

static size_t read_lines(struct reader *r, const void *data, size_t n)
{
    struct lines lines = lines_over(data, n);
    struct str text = str_new(0);

    for (struct line line; lines_next(&lines, &line);) {
        str_reset(&text);
        str_add(&text, line.text, line.n_bytes < LINE_SHOWN ? line.n_bytes : LINE_SHOWN);
        read_line(r, str_text(&text));
    }
    str_release(&text);
    return lines.n_read;
}

static void finish(struct reader *r)
{
    put_step(r);
    put_evals(r, r->printed);
    put_sample(r);
    if (r->is_finished) {
        json_t *o = foreign_entry("stop", r->t, r->printed);
        json_object_set_new(o, "reason", json_string("max_steps"));
        foreign_put(r->out, o);
    }
    json_decref(r->config);
}

status foreign_console(struct runlog *log, const char *name, const void *data, size_t n,
                       struct err *err)
{
    struct str text = str_new(0);
    struct reader r = {.out = &text,
                       .printed = -1,
                       .next = NAN,
                       .t_a_step = NAN,
                       .parameters = NAN,
                       .ranks = NAN,
                       .eval_steps = NAN,
                       .max_steps = NAN,
                       .tokens_per_s = NAN,
                       .t_step = NAN,
                       .config = json_object()};

    *log = (struct runlog){0};
    const size_t n_lines = read_lines(&r, data, n);
    finish(&r);
    status result = str_check(&text, name, err);
    if (result == OK && !r.n_known)
        result = err_set(err, ERR_FORMAT,
                         "%s: neither a run.jsonl nor a log of OpenSeq2Seq: no line of "
                         "it is known",
                         name);
    if (result == OK)
        result = runlog_parse(log, name, text.data, text.len, err);
    str_release(&text);
    if (result != OK)
        return result;
    log->origin = "OpenSeq2Seq, from its console log";
    log->has_no_clock = true;
    log->n_lines = n_lines;
    log->tokens_per_s = r.tokens_per_s;
    log->t_step = r.t_step;
    return OK;
}
