/* TensorBoard's event files, with the tags of OpenSeq2Seq and Ferry's own. */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "format/tf/tb_event.h"
#include "report/read/foreign.h"
#include "report/read/foreign_parts.h"

#define FILE_MARK "events.out.tfevents."

/* tag, our key, whether it belongs to an evaluation, whether it is a mean over steps */
static const struct known {
    const char *tag, *key;
    bool is_eval, is_a_step;
} known_tags[] = {
    {"train_loss", "loss", false, false},
    {"learning_rate", "rate", false, false},
    {"Loss_Optimization/global_gradient_norm", "grad_norm", false, false},
    {"epoch", "epoch", false, false},
    {"time/data", "t_data", false, true},
    {"time/compute", "t_compute", false, true},
    {"time/network_exposed", "t_comm", false, true},
    {"time/network_hidden", "t_hidden", false, true},
    {"time/update", "t_update", false, true},
    {"global_step/sec", "t_step", false, true},
    {"eval_loss", "eval_loss", true, false},
    {"valid_loss", "valid_loss", true, false},
    {"Eval_BLEU_Score", "forced_bleu", true, false},
    {"BLEU", "bleu", true, false},
};

/* The entry being put together: tags of one step arrive one by one. */
struct open_entry {
    json_t *json;
    double step, t;
};

struct reader {
    struct runlog *log;
    status failed; /* told in *err */
    struct err *err;
    struct open_entry train, eval;
    double printed;             /* step of the last train entry that was put, 0 before */
    double t;                   /* and its time; NAN before */
    struct runlog_foreign list; /* of attempts */
    size_t n_points;
    bool is_started;
};

static const struct known *known_tag(const char *tag)
{
    for (size_t i = 0; i < sizeof known_tags / sizeof *known_tags; i++)
        if (strcmp(known_tags[i].tag, tag) == 0)
            return &known_tags[i];
    return NULL;
}

static void put(struct reader *r, json_t *o)
{
    foreign_parts_put(r->log, o, &r->failed, r->err);
}

/* Times of a step become sums over the steps since the entry before. */
static void put_train(struct reader *r)
{
    if (!r->train.json)
        return;
    const double steps = fmax(1, r->train.step - r->printed);
    for (size_t i = 0; i < sizeof known_tags / sizeof *known_tags; i++) {
        json_t *v = json_object_get(r->train.json, known_tags[i].key);
        if (known_tags[i].is_a_step && v)
            json_real_set(v, json_real_value(v) * steps);
    }
    foreign_parts_set(r->train.json, "steps", steps);
    if (!json_object_get(r->train.json, "t_step"))
        foreign_parts_set(r->train.json, "t_step",
                          isfinite(r->t) ? fmax(0, r->train.t - r->t) : NAN);
    put(r, r->train.json);
    r->printed = r->train.step;
    r->t = r->train.t;
    r->train.json = NULL;
}

static void put_eval(struct reader *r)
{
    if (r->eval.json)
        put(r, r->eval.json);
    r->eval.json = NULL;
}

/* Steps that begin anew are of another attempt in the same directory. */
static void end_attempt(struct reader *r)
{
    if (r->failed == OK)
        r->failed = foreign_parts_list(&r->list, r->log, 0, r->err);
    if (r->failed != OK)
        return;
    runlog_close(r->log);
    runlog_init(r->log);
    r->is_started = false;
}

static void put_start(struct reader *r, double t, double step)
{
    put_train(r);
    put_eval(r);
    if (r->is_started && step < 1)
        end_attempt(r);
    json_t *o = foreign_parts_entry("start", t, step);
    json_object_set_new(o, "resumed", json_boolean(r->is_started));
    put(r, o);
    r->is_started = true;
    r->printed = step;
    r->t = NAN;
}

static void add_point(struct reader *r, const struct tb_event_point *p)
{
    const struct known *k = known_tag(p->tag);
    const double step = (double)p->step;
    double v = (double)p->value;

    if (!k)
        return;
    struct open_entry *e = k->is_eval ? &r->eval : &r->train;
    if (r->log->n_start >= FOREIGN_SESSIONS_MAX && step < r->printed)
        return;
    if (!r->is_started || (!k->is_eval && step < r->printed))
        put_start(r, p->wall_time, fmax(0, step - 1));
    if (e->json && e->step != step)
        (k->is_eval ? put_eval : put_train)(r);
    if (r->eval.json && r->eval.step < step)
        put_eval(r);
    if (!e->json)
        *e = (struct open_entry){
            foreign_parts_entry(k->is_eval ? "eval" : "step", p->wall_time, step), step,
            p->wall_time};
    if (strcmp(k->key, "t_step") == 0)
        v = v > 0 ? 1 / v : NAN;
    foreign_parts_set(e->json, k->key, v);
    r->n_points++;
}

static status read_points(struct reader *r, struct tb_event_reader *events,
                          struct err *err)
{
    struct tb_event_point point;
    status result = OK;
    bool more = true;

    while (result == OK && r->failed == OK && more) {
        result = tb_event_next(events, &point, &more, err);
        if (result == OK && more)
            add_point(r, &point);
    }
    tb_event_read_close(events);
    return result == OK ? r->failed : result;
}

static int is_event_file(const struct dirent *e)
{
    return strstr(e->d_name, FILE_MARK) != NULL;
}

bool foreign_has_events(const char *dir)
{
    struct dirent **list;
    const int n = scandir(dir, &list, is_event_file, alphasort);

    for (int i = 0; i < n; i++)
        free(list[i]);
    if (n >= 0)
        free(list);
    return n > 0;
}

static status read_files(struct reader *r, const char *dir, struct err *err)
{
    struct tb_event_reader events;
    struct dirent **list;
    char path[FILE_PATH_MAX];
    status result = OK;
    const int n = scandir(dir, &list, is_event_file, alphasort);

    if (n < 0)
        return err_set(err, ERR_IO, "%s: cannot be listed", dir);
    for (int i = 0; i < n; i++) {
        THEN(result, file_join(path, sizeof path, dir, list[i]->d_name, err));
        THEN(result, tb_event_read(&events, path, err));
        THEN(result, read_points(r, &events, err));
        free(list[i]);
    }
    free(list);
    return result;
}

/* What was read becomes a log; `result` is of the reading. */
static status finish(struct reader *r, const char *name, status result)
{
    put_train(r);
    put_eval(r);
    THEN(result, r->failed);
    THEN(result, foreign_parts_list(&r->list, r->log, 0, r->err));
    if (result == OK && !r->n_points)
        result = err_set(r->err, ERR_FORMAT,
                         "%s: its event files hold no curve by a name that is known, "
                         "such as train_loss or eval_loss",
                         name);
    if (result != OK) {
        runlog_close(r->log);
        free(r->list.attempt);
        return result;
    }
    foreign_parts_give(&r->list, r->log, r->list.n_attempts - 1);
    r->log->foreign.origin = "another program, from its TensorBoard events";
    r->log->foreign.has_no_end = true;
    return OK;
}

status foreign_events(struct runlog *log, const char *dir, struct err *err)
{
    struct reader r = {.log = log, .err = err};

    runlog_init(log);
    return finish(&r, dir, read_files(&r, dir, err));
}

status foreign_events_bytes(struct runlog *log, const char *name, const void *data,
                            size_t n, struct err *err)
{
    struct reader r = {.log = log, .err = err};
    struct tb_event_reader events;

    runlog_init(log);
    tb_event_read_bytes(&events, data, n);
    return finish(&r, name, read_points(&r, &events, err));
}
