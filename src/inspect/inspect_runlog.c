#include <math.h>

#include "inspect/inspect.h"
#include "page/fmt.h"
#include "report/log/runlog.h"

/* A number that the log does not give is left out. */
static void add_number(json_t *o, const char *key, double x)
{
    if (!isfinite(x))
        return;
    if (x == floor(x) && fabs(x) < 1e15)
        json_object_set_new(o, key, json_integer((json_int_t)x));
    else
        json_object_set_new(o, key, json_real(x));
}

static void add_start(json_t *page, const struct runlog *log)
{
    const struct runlog_start *s = runlog_latest(log);

    inspect_page_int(page, "sessions", log->all.n_starts);
    if (!s)
        return;
    if (s->version)
        inspect_page_text(page, "ferry", s->version);
    if (s->host)
        inspect_page_text(page, "host", s->host);
    if (s->device)
        inspect_page_text(page, "device", s->device);
    add_number(page, "threads", s->threads);
    add_number(page, "parameters", s->parameters);
    add_number(page, "training_pairs", s->train_pairs);
}

static void add_times(json_t *page, const struct runlog *log)
{
    const struct runlog_stop *stop = runlog_end(log);

    if (isfinite(log->t_first)) {
        inspect_page_text(page, "first_entry", fmt_time(log->t_first).s);
        inspect_page_text(page, "last_entry", fmt_time(log->t_last).s);
        inspect_page_real(page, "seconds", log->t_last - log->t_first - log->t_idle);
    }
    inspect_page_text(page, "ended",
                      stop && stop->reason ? stop->reason
                      : stop               ? "yes"
                                           : "no: it is running or was killed");
}

static void add_last_step(json_t *page, const struct runlog *log)
{
    if (!log->n_step)
        return;
    const struct runlog_step *s = &log->step[log->n_step - 1];
    const char *limit = runlog_config(log, "max_steps");

    add_number(page, "step", s->step);
    if (limit)
        inspect_page_text(page, "max_steps", limit);
    add_number(page, "epochs_done", s->epoch);
    add_number(page, "loss", s->loss);
    add_number(page, "learning_rate", s->rate);
    add_number(page, "tokens_per_second", s->tokens_per_s);
}

static void add_eval(json_t *table, const char *which, const struct runlog_eval *e)
{
    json_t *row = inspect_page_row(table);

    inspect_page_text(row, "evaluation", which);
    add_number(row, "step", e->step);
    inspect_page_real(row, "valid_loss", e->valid_loss);
    if (isfinite(e->bleu))
        inspect_page_real(row, "BLEU", e->bleu);
}

static void add_evals(json_t *page, const struct runlog *log)
{
    const struct runlog_eval *best = NULL, *last = NULL;
    json_t *table = inspect_page_table(page, "evaluations");

    for (size_t i = 0; i < log->n_eval; i++) {
        const struct runlog_eval *e = &log->eval[i];
        if (e->is_lost)
            continue;
        last = e;
        if (!best || e->valid_loss < best->valid_loss)
            best = e;
    }
    if (best)
        add_eval(table, "best", best);
    if (last)
        add_eval(table, "last", last);
}

status inspect_runlog(json_t *page, const char *path, const struct inspect_config *c,
                      struct err *err)
{
    struct runlog log;

    (void)c;
    TRY(runlog_open(&log, path, err));
    if (log.n_lines == log.n_cut) {
        runlog_close(&log);
        return err_set(err, ERR_FORMAT, "%s: truncated: it has no whole entry", path);
    }
    inspect_page_text(page, "run_log", path);
    inspect_page_int(page, "entries", log.n_lines);
    add_start(page, &log);
    add_times(page, &log);
    add_last_step(page, &log);
    inspect_page_int(page, "logged_steps", log.n_step);
    inspect_page_int(page, "evaluated", log.all.n_evals);
    add_evals(page, &log);
    runlog_close(&log);
    return OK;
}
