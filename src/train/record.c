#include "train/record.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

/* The reference leaves the first updates out of its averages. */
enum { WARM_UP = 10 };

static json_t *event(const char *kind, int64_t step)
{
    json_t *o = json_object();

    json_object_set_new(o, "event", json_string(kind));
    json_object_set_new(o, "t", json_real(clock_wall()));
    json_object_set_new(o, "step", json_integer(step));
    return o;
}

/* JSON has no NaN and no infinity: they become null. */
static void set_real(json_t *o, const char *key, double x)
{
    json_object_set_new(o, key, isfinite(x) ? json_real(x) : json_null());
}

static void set_int(json_t *o, const char *key, int64_t x)
{
    json_object_set_new(o, key, json_integer((json_int_t)x));
}

/* Text of users may be anything; what is not UTF-8 cannot be JSON. */
static void set_text(json_t *o, const char *key, const char *text)
{
    json_t *v = json_string(text);

    json_object_set_new(o, key, v ? v : json_string("(not UTF-8)"));
}

/* One whole line, flushed: a killed run loses at most the line being written. */
static status put_line(FILE *log, json_t *o, struct err *err)
{
    char *text = json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER);

    json_decref(o);
    if (!text)
        return err_set(err, ERR_MEMORY, "no memory for a line of run.jsonl");
    const bool ok = fprintf(log, "%s\n", text) > 0 && fflush(log) == 0;
    free(text);
    if (!ok)
        return err_set(err, ERR_IO, "run.jsonl: %s", strerror(errno));
    return OK;
}

/* A line that a killed process left unfinished must not swallow the next one. */
static status end_last_line(FILE *log, struct err *err)
{
    if (fseek(log, -1, SEEK_END) != 0)
        return OK; /* empty */
    const int last = fgetc(log);
    if (last != '\n' && (fseek(log, 0, SEEK_END) != 0 || fputc('\n', log) == EOF))
        return err_set(err, ERR_IO, "run.jsonl: %s", strerror(errno));
    return OK;
}

static status open_log(FILE **log, const char *run_dir, struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(file_join(path, sizeof path, run_dir, "run.jsonl", err));
    *log = fopen(path, "a+e");
    if (!*log)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    if (end_last_line(*log, err) != OK) {
        fclose(*log);
        *log = NULL;
        return err->code;
    }
    return OK;
}

status record_append(const char *run_dir, struct json_t *o, struct err *err)
{
    FILE *log;

    if (open_log(&log, run_dir, err) != OK) {
        json_decref(o);
        return err->code;
    }
    status result = put_line(log, o, err);
    if (fclose(log) != 0 && result == OK)
        result = err_set(err, ERR_IO, "%s/run.jsonl: %s", run_dir, strerror(errno));
    return result;
}

status record_open(struct record *r, const struct train_config *c, FILE *console,
                   int64_t step, struct err *err)
{
    *r = (struct record){.config = c,
                         .console = progress_to(console),
                         .is_reference = strcmp(c->log_format, "reference") == 0,
                         .first_step = step};
    TRY(open_log(&r->log, c->run, err));
    if (tb_event_open(&r->events, c->run, clock_wall(), err) != OK) {
        fclose(r->log);
        r->log = NULL;
        return err->code;
    }
    r->has_events = true;
    r->t_begin = clock_now();
    /* points of an earlier process beyond the checkpoint are void */
    return tb_event_start(&r->events, step + 1, clock_wall(), err);
}

status record_close(struct record *r, struct err *err)
{
    status result = OK;

    if (r->has_events)
        result = tb_event_close(&r->events, err);
    if (r->log && fclose(r->log) != 0 && result == OK)
        result = err_set(err, ERR_IO, "run.jsonl: %s", strerror(errno));
    *r = (struct record){0};
    return result;
}

void record_note(struct record *r, const char *fmt, ...)
{
    char text[1200];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    progress_note(&r->console, text);
}

/* ---- the console ---- */

static double mean_loss(const struct record_step *s)
{
    return s->n_target ? s->loss / (double)s->n_target : NAN;
}

static double tokens_per_s(const struct record_step *s)
{
    return s->t_step > 0 ? (double)(s->n_source + s->n_target) / s->t_step : 0;
}

/* "0:00:1.234": the reference's time a step is all the time since it printed the last. */
static void put_reference_step(struct record *r, const struct record_step *s)
{
    const bool is_first = r->step_printed <= r->first_step;
    const int64_t n = s->step - (is_first ? r->first_step : r->step_printed);
    const double now = clock_now(),
                 t = (now - (is_first ? r->t_begin : r->t_printed)) / (double)n;
    const int64_t minutes = (int64_t)(t / 60);

    record_note(r, "*** Global step %" PRId64 ": ***     Train loss: %.4f ", s->step - 1,
                mean_loss(s));
    record_note(r, "time per step = %" PRId64 ":%02d:%.3f", minutes / 60,
                (int)(minutes % 60), t - 60 * (double)minutes);
    r->t_printed = now;
    r->step_printed = s->step;
}

/* "64 GFLOP/s (71 % of roof)" */
static void describe_speed(const struct record *r, const struct record_step *s, char *out,
                           size_t n)
{
    const double gflops = s->t_step > 0 ? s->flops / s->t_step * 1e-9 : 0;
    char share[32] = "";

    if (r->roof_gflops > 0)
        snprintf(share, sizeof share, " (%.0f %% of roof)",
                 100 * gflops / r->roof_gflops);
    snprintf(out, n, "%.0f tok/s  %.0f GFLOP/s%s", tokens_per_s(s), gflops, share);
}

static void put_console(struct record *r, const struct record_step *s, bool stays)
{
    const int64_t last = r->config->max_steps;
    const double done = (double)(s->step - r->first_step);
    const double left = (clock_now() - r->t_begin) / done * (double)(last - s->step);
    char line[300], eta[24], speed[100];

    describe_speed(r, s, speed, sizeof speed);
    snprintf(line, sizeof line,
             "step %" PRId64 "/%" PRId64 "  epoch %" PRIu64 "  loss %.4f  rate %.2e  "
             "norm %.2f  %s  ETA %s",
             s->step, last, s->epoch + 1, mean_loss(s), s->rate, s->grad_norm, speed,
             progress_duration(eta, left));
    if (stays)
        progress_note(&r->console, line);
    else
        progress_line(&r->console, line);
}

/* ---- events ---- */

static void add_config(json_t *o, const struct train_config *c)
{
    json_t *config = json_object();
    struct str text = str_new(0);

    for (size_t i = 0; i < train_config_table.n; i++) {
        const struct opt *row = &train_config_table.opt[i];
        const char *field = (const char *)c + row->at;
        str_reset(&text);
        opt_value(row, c, &text);
        if (row->type == OPT_INT)
            set_int(config, row->name, *(const int64_t *)(const void *)field);
        else if (row->type == OPT_REAL)
            set_real(config, row->name, *(const double *)(const void *)field);
        else if (row->type == OPT_BOOL)
            json_object_set_new(config, row->name, json_boolean(*(const bool *)field));
        else
            set_text(config, row->name, str_text(&text));
    }
    str_release(&text);
    json_object_set_new(o, "config", config);
}

static void say_start(struct record *r, const struct record_start *s)
{
    if (r->is_reference) {
        record_note(r,
                    s->is_resumed ? "*** Restored checkpoint from %s. Resuming training"
                                  : "*** Starting training from scratch",
                    r->config->run);
        record_note(r, "*** Total trainable parameters: %zu", s->n_parameters);
        return;
    }
    record_note(r, "%s %s: %zu parameters, %" PRIu64 " pairs, %s",
                s->is_resumed ? "resuming" : "training", r->config->run, s->n_parameters,
                s->train_pairs, s->device);
}

status record_begin(struct record *r, const struct record_start *s, struct err *err)
{
    json_t *o = event("start", s->step), *data = json_object();
    char host[128] = "";

    gethostname(host, sizeof host - 1);
    set_text(o, "version", FERRY_VERSION);
    json_object_set_new(o, "resumed", json_boolean(s->is_resumed));
    set_text(o, "host", host);
    set_text(o, "device", s->device);
    set_int(o, "threads", (int64_t)s->threads);
    set_int(o, "ranks", 1);
    set_int(o, "parameters", (int64_t)s->n_parameters);
    add_config(o, r->config);
    set_int(data, "train_pairs", (int64_t)s->train_pairs);
    set_int(data, "train_source_tokens", (int64_t)s->train_source_tokens);
    set_int(data, "train_target_tokens", (int64_t)s->train_target_tokens);
    set_int(data, "valid_pairs", (int64_t)s->valid_pairs);
    set_int(data, "tokenizer_pieces", (int64_t)s->tokenizer_pieces);
    json_object_set_new(o, "data", data);
    set_real(o, "roof_gflops", s->roof_gflops);
    r->roof_gflops = s->roof_gflops;
    say_start(r, s);
    return put_line(r->log, o, err);
}

static int64_t memory_mib(void)
{
    struct rusage use;

    return getrusage(RUSAGE_SELF, &use) == 0 ? use.ru_maxrss / 1024 : 0;
}

static status log_step(struct record *r, const struct record_step *s, struct err *err)
{
    json_t *o = event("step", s->step);

    set_int(o, "epoch", (int64_t)s->epoch);
    set_real(o, "loss", mean_loss(s));
    set_real(o, "rate", s->rate);
    set_real(o, "grad_norm", s->grad_norm);
    set_int(o, "source_tokens", (int64_t)s->n_source);
    set_int(o, "target_tokens", (int64_t)s->n_target);
    set_int(o, "sentences", (int64_t)s->n_sents);
    set_int(o, "steps", s->n_steps);
    set_real(o, "t_step", s->t_step);
    set_real(o, "t_data", s->t_data);
    set_real(o, "t_compute", s->t_forward + s->t_backward);
    set_real(o, "t_comm", s->t_comm);
    set_real(o, "t_update", s->t_update);
    set_real(o, "tokens_per_s", tokens_per_s(s));
    set_real(o, "gflops", s->t_step > 0 ? s->flops / s->t_step * 1e-9 : NAN);
    set_int(o, "memory_mib", memory_mib());
    set_int(o, "skipped", s->n_skipped);
    return put_line(r->log, o, err);
}

static status summarize(struct record *r, const struct record_step *s,
                        const struct record_step *now, struct err *err)
{
    const bool clips = r->config->optim.max_grad_norm > 0;
    const double limit = r->config->optim.max_grad_norm;
    const struct tb_event_value values[] = {
        {"train_loss", (float)mean_loss(now)},
        {"learning_rate", (float)now->rate},
        {"Loss_Optimization/global_gradient_norm", (float)now->grad_norm},
        {"global_step/sec", (float)(s->t_step > 0 ? (double)s->n_steps / s->t_step : 0)},
        {"Loss_Optimization/global_clipped_gradient_norm",
         (float)fmin(now->grad_norm, limit)}};

    TRY(tb_event_scalars(&r->events, now->step, clock_wall(), values, clips ? 5 : 4,
                         err));
    return tb_event_flush(&r->events, err);
}

static void accumulate(struct record_step *sum, const struct record_step *s)
{
    sum->step = s->step;
    sum->epoch = s->epoch;
    sum->rate = s->rate;
    sum->grad_norm = s->grad_norm;
    sum->loss += s->loss;
    sum->n_source += s->n_source;
    sum->n_target += s->n_target;
    sum->n_sents += s->n_sents;
    sum->n_steps += s->n_steps;
    sum->n_skipped += s->n_skipped;
    sum->t_step += s->t_step;
    sum->t_data += s->t_data;
    sum->t_forward += s->t_forward;
    sum->t_backward += s->t_backward;
    sum->t_comm += s->t_comm;
    sum->t_update += s->t_update;
    sum->flops += s->flops;
    sum->linear_flops += s->linear_flops;
}

static bool is_due(const struct record *r, int64_t step, int64_t every)
{
    return step % every == 0 || step == r->config->max_steps || step == r->first_step + 1;
}

status record_update(struct record *r, const struct record_step *s, struct err *err)
{
    accumulate(&r->since_log, s);
    accumulate(&r->since_summary, s);
    if (s->step > r->first_step + WARM_UP) {
        r->objects += s->n_source + s->n_target;
        r->t_objects += s->t_step;
    }
    if (r->is_reference && (s->step - 1) % r->config->log_every == 0)
        put_reference_step(r, s);
    if (is_due(r, s->step, r->config->summary_every)) {
        TRY(summarize(r, &r->since_summary, s, err));
        r->since_summary = (struct record_step){0};
    }
    const bool due = is_due(r, s->step, r->config->log_every);
    if (!r->is_reference && due && !r->console.is_terminal)
        put_console(r, &r->since_log, true);
    else if (!r->is_reference && r->console.is_terminal && progress_due(&r->console))
        put_console(r, &r->since_log, false);
    if (due) {
        TRY(log_step(r, &r->since_log, err));
        r->since_log = (struct record_step){0};
    }
    return OK;
}

status record_skip(struct record *r, int64_t step, const char *reason, struct err *err)
{
    json_t *o = event("skip", step);

    set_text(o, "reason", reason);
    record_note(r, "step %" PRId64 " skipped: %s", step + 1, reason);
    return put_line(r->log, o, err);
}

void record_evaluating(struct record *r)
{
    if (r->is_reference)
        record_note(r, "*** Running evaluation on a validation set:");
}

static void say_evaluated(struct record *r, const struct record_eval *e)
{
    char bleu[48] = "";

    if (r->is_reference) {
        record_note(r, "***     Validation loss: %.4f ", e->eval_loss);
        record_note(r, "***     Eval BLUE score: %.4g", e->forced_bleu);
        return;
    }
    if (e->has_bleu)
        snprintf(bleu, sizeof bleu, "  BLEU %.2f", e->bleu);
    record_note(r, "evaluated at step %" PRId64 ": valid loss %.4f%s  (%.1f s)", e->step,
                e->valid_loss, bleu, e->seconds);
}

status record_evaluated(struct record *r, const struct record_eval *e, struct err *err)
{
    const struct tb_event_value values[] = {{"eval_loss", (float)e->eval_loss},
                                            {"Eval_BLEU_Score", (float)e->forced_bleu},
                                            {"valid_loss", (float)e->valid_loss},
                                            {"BLEU", (float)e->bleu}};
    json_t *o = event("eval", e->step);

    set_real(o, "valid_loss", e->valid_loss);
    set_real(o, "eval_loss", e->eval_loss);
    set_real(o, "forced_bleu", e->forced_bleu);
    set_real(o, "bleu", e->has_bleu ? e->bleu : NAN);
    if (e->has_bleu)
        set_text(o, "bleu_signature", e->signature);
    set_real(o, "seconds", e->seconds);
    say_evaluated(r, e);
    TRY(tb_event_scalars(&r->events, e->step, clock_wall(), values, e->has_bleu ? 4 : 3,
                         err));
    TRY(tb_event_flush(&r->events, err));
    return put_line(r->log, o, err);
}

status record_sample(struct record *r, int64_t step, const char *source,
                     const char *reference, const char *translation, struct err *err)
{
    json_t *o = event("sample", step);

    set_text(o, "source", source);
    set_text(o, "reference", reference);
    set_text(o, "translation", translation);
    if (r->is_reference) {
        record_note(r, "***     *****EVAL Source[0]:     %s", source);
        record_note(r, "***     *****EVAL Target[0]:     %s", reference);
        record_note(r, "***     *****EVAL Prediction[0]: %s", translation);
    }
    return put_line(r->log, o, err);
}

status record_saved(struct record *r, const struct record_save *s, struct err *err)
{
    json_t *o = event("save", s->step);

    set_text(o, "path", s->name);
    set_int(o, "bytes", (int64_t)s->n_bytes);
    set_real(o, "seconds", s->t_blocked);
    set_real(o, "total_seconds", s->t_total);
    return put_line(r->log, o, err);
}

status record_best(struct record *r, int64_t step, const char *name, double value,
                   struct err *err)
{
    json_t *o = event("best", step);

    set_text(o, "path", name);
    set_real(o, strncmp(name, "bleu=", 5) == 0 ? "bleu" : "valid_loss", value);
    return put_line(r->log, o, err);
}

status record_stop(struct record *r, int64_t step, const char *reason,
                   const char *message, struct err *err)
{
    json_t *o = event("stop", step);
    const double t = clock_now() - r->t_begin;
    char took[24];

    set_text(o, "reason", reason);
    set_text(o, "message", message);
    if (strcmp(reason, "error") == 0)
        return put_line(r->log, o, err); /* whoever called us gets the error to show */
    if (r->is_reference && r->t_objects > 0) {
        record_note(r, "*** Finished training");
        record_note(r, "*** Avg time per step: %.3fs",
                    r->t_objects / (double)(step - r->first_step - WARM_UP));
        record_note(r, "*** Avg objects per second: %.3f",
                    (double)r->objects / r->t_objects);
    } else if (r->is_reference) {
        record_note(r, "*** Finished training");
        record_note(r, "*** Not enough steps for benchmarking");
    } else {
        record_note(r, "%s at step %" PRId64 " after %s", message, step,
                    progress_duration(took, t));
    }
    return put_line(r->log, o, err);
}
