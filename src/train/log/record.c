#include "train/log/record.h"

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
#include "base/host.h"
#include "dist/comm/comm.h"
#include "train/run/preflight.h"

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

/* A person should know when the disk refuses a file, and when it is over; once each. */
static void say_stuck(struct record *r, const char *name, bool *was_stuck, bool is_stuck,
                      const char *why)
{
    if (is_stuck && !*was_stuck)
        record_note(r, "%s cannot be written, it waits in memory: %s", name, why);
    else if (!is_stuck && *was_stuck)
        record_note(r, "%s is written again", name);
    *was_stuck = is_stuck;
}

static status put_line(struct record *r, json_t *o, struct err *err)
{
    TRY(journal_put(&r->journal, o, err));
    say_stuck(r, "run.jsonl", &r->is_journal_stuck, r->journal.is_stuck, r->journal.why);
    return OK;
}

status record_append(const char *run_dir, struct json_t *o, struct err *err)
{
    struct journal j;

    if (journal_open(&j, run_dir, err) != OK) {
        json_decref(o);
        return err->code;
    }
    const status result = journal_put(&j, o, err);
    struct err second;
    if (journal_close(&j, &second) != OK && result == OK)
        return err_set(err, second.code, "%s: %s", run_dir, second.msg);
    return result;
}

static status open_rank_log(struct record *r, int rank, struct err *err)
{
    char path[FILE_PATH_MAX], name[32];

    snprintf(name, sizeof name, "rank-%d.log", rank);
    TRY(file_join(path, sizeof path, r->config->run, name, err));
    r->rank_log = fopen(path, "ae");
    if (!r->rank_log)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    setvbuf(r->rank_log, NULL, _IOLBF, 0);
    r->console = progress_to(r->rank_log);
    return OK;
}

status record_open(struct record *r, const struct train_config *c, FILE *console,
                   int64_t step, int rank, struct err *err)
{
    *r = (struct record){.config = c,
                         .console = progress_to(console),
                         .is_reference = strcmp(c->log_format, "reference") == 0,
                         .first_step = step,
                         .t_begin = clock_now(),
                         .journal = journal_none};
    if (rank != 0)
        return open_rank_log(r, rank, err);
    TRY(journal_open(&r->journal, c->run, err));
    TRY(tb_event_open(&r->events, c->run, clock_wall(), err));
    r->has_events = true;
    /* points of an earlier process beyond the checkpoint are void */
    return tb_event_start(&r->events, step + 1, clock_wall(), err);
}

status record_close(struct record *r, struct err *err)
{
    status result = OK;
    struct err second;

    if (r->has_events)
        result = tb_event_close(&r->events, err);
    if (r->config && journal_close(&r->journal, &second) != OK && result == OK)
        result = err_set(err, second.code, "%s", second.msg);
    if (r->rank_log)
        fclose(r->rank_log);
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

/* "64 GFLOP/s (71 % of roof)  net 3 %": the part of a step spent waiting for it. */
static void describe_speed(const struct record *r, const struct record_step *s, char *out,
                           size_t n)
{
    const double gflops = s->t_step > 0 ? s->flops / s->t_step * 1e-9 : 0;
    char share[32] = "", net[24] = "";

    if (r->roof_gflops > 0)
        snprintf(share, sizeof share, " (%.0f %% of roof)",
                 100 * gflops / r->roof_gflops);
    if (s->t_comm + s->t_hidden > 0 && s->t_step > 0)
        snprintf(net, sizeof net, "  net %.0f %%", 100 * s->t_comm / s->t_step);
    snprintf(out, n, "%.0f tok/s  %.0f GFLOP/s%s%s", tokens_per_s(s), gflops, share, net);
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

/* "4 ranks on 2 nodes, each " or nothing. */
static const char *describe_ranks(char *text, size_t n, const struct comm *c)
{
    text[0] = '\0';
    if (c->size > 1)
        snprintf(text, n, "%d ranks on %d node%s, each ", c->size, c->n_nodes,
                 c->n_nodes == 1 ? "" : "s");
    return text;
}

static void say_start(struct record *r, const struct record_start *s)
{
    char ranks[64];

    if (r->is_reference) {
        record_note(r,
                    s->is_resumed ? "*** Restored checkpoint from %s. Resuming training"
                                  : "*** Starting training from scratch",
                    r->config->run);
        record_note(r, "*** Total trainable parameters: %zu", s->n_parameters);
        return;
    }
    record_note(r, "%s %s: %zu parameters, %" PRIu64 " pairs, %s%s",
                s->is_resumed ? "resuming" : "training", r->config->run, s->n_parameters,
                s->train_pairs, describe_ranks(ranks, sizeof ranks, s->comm), s->device);
}

/* What carries the ranks' messages, and what preflight found of it. */
static void add_network(json_t *o, const struct record_start *s)
{
    const struct preflight *p = s->preflight;
    json_t *network = json_object(), *settings = json_array(), *hosts = json_array();

    set_text(network, "backend", s->comm->backend);
    set_text(network, "library", s->comm->library ? s->comm->library : "");
    if (s->gradients)
        set_text(network, "gradients", s->gradients);
    for (size_t i = 0; comm_setting(s->comm, i); i++)
        json_array_append_new(settings, json_string(comm_setting(s->comm, i)));
    json_object_set_new(network, "settings", settings);
    for (int i = 0; i < s->comm->size; i++)
        json_array_append_new(hosts, json_string(s->comm->peer[i].host));
    json_object_set_new(network, "hosts", hosts);
    set_real(network, "latency_s", p->t_latency);
    set_real(network, "mb_per_s", p->mb_per_s);
    set_real(network, "clock_spread_s", p->clock_spread);
    set_real(network, "free_mib", p->free_mib);
    set_real(network, "disk_mib", p->disk_mib);
    json_object_set_new(o, "network", network);
}

/* What a person should know before it takes hours. */
static void say_doubts(struct record *r, const struct record_start *s)
{
    enum { CLOCKS_APART = 5 };

    if (s->is_crowded)
        record_note(r, "more threads than cores: %d rank%s of %zu threads on this host",
                    s->comm->local_size, s->comm->local_size == 1 ? "" : "s", s->threads);
    if (s->comm->size > 1 && s->preflight->clock_spread > CLOCKS_APART)
        record_note(r,
                    "the clocks of the hosts differ by %.0f s, host %s is furthest from "
                    "the others; times in logs will differ too",
                    s->preflight->clock_spread,
                    s->comm->peer[s->preflight->clock_rank].host);
}

status record_begin(struct record *r, const struct record_start *s, struct err *err)
{
    json_t *o = event("start", s->step), *data = json_object();
    char host[128];

    host_name(host, sizeof host);
    set_text(o, "version", FERRY_VERSION);
    json_object_set_new(o, "resumed", json_boolean(s->is_resumed));
    set_text(o, "host", host);
    set_text(o, "device", s->device);
    set_int(o, "threads", (int64_t)s->threads);
    set_int(o, "processors", sysconf(_SC_NPROCESSORS_ONLN));
    set_int(o, "ranks", s->comm->size);
    set_int(o, "nodes", s->comm->n_nodes);
    set_int(o, "parameters", (int64_t)s->n_parameters);
    set_int(o, "micro_tokens", (int64_t)s->micro_tokens);
    add_config(o, r->config);
    set_int(data, "train_pairs", (int64_t)s->train_pairs);
    set_int(data, "train_source_tokens", (int64_t)s->train_source_tokens);
    set_int(data, "train_target_tokens", (int64_t)s->train_target_tokens);
    set_int(data, "valid_pairs", (int64_t)s->valid_pairs);
    set_int(data, "tokenizer_pieces", (int64_t)s->tokenizer_pieces);
    json_object_set_new(o, "data", data);
    set_real(o, "roof_gflops", s->roof_gflops);
    if (s->comm->size > 1)
        add_network(o, s);
    r->roof_gflops = s->roof_gflops;
    say_start(r, s);
    say_doubts(r, s);
    return put_line(r, o, err);
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
    if (strcmp(r->config->loss_scaling, "none") != 0)
        set_real(o, "loss_scale", s->loss_scale);
    set_int(o, "source_tokens", (int64_t)s->n_source);
    set_int(o, "target_tokens", (int64_t)s->n_target);
    set_int(o, "sentences", (int64_t)s->n_sents);
    set_int(o, "steps", s->n_steps);
    set_real(o, "t_step", s->t_step);
    set_real(o, "t_data", s->t_data);
    set_real(o, "t_compute", s->t_forward + s->t_backward);
    set_real(o, "t_comm", s->t_comm);
    set_real(o, "t_hidden", s->t_hidden);
    set_real(o, "t_update", s->t_update);
    set_real(o, "tokens_per_s", tokens_per_s(s));
    set_real(o, "gflops", s->t_step > 0 ? s->flops / s->t_step * 1e-9 : NAN);
    set_int(o, "memory_mib", memory_mib());
    set_int(o, "skipped", s->n_skipped);
    return put_line(r, o, err);
}

/* What the disk refuses stays in the writer's buffer for the next time. */
static status forgive(struct record *r, status result, struct err *err)
{
    const bool is_stuck = result == ERR_IO || result == ERR_MEMORY;

    say_stuck(r, "the event file", &r->are_events_stuck, is_stuck, err->msg);
    return is_stuck ? OK : result;
}

static status put_values(struct record *r, int64_t step,
                         const struct tb_event_value *values, size_t n, struct err *err)
{
    if (!r->has_events)
        return OK;
    const status result =
        tb_event_scalars(&r->events, step, clock_wall(), values, n, err);
    return result == OK ? OK : forgive(r, result, err); /* only a flush proves the disk */
}

static status flush_events(struct record *r, struct err *err)
{
    return r->has_events ? forgive(r, tb_event_flush(&r->events, err), err) : OK;
}

/* Where the time of a step went, in seconds a step. */
static status summarize_times(struct record *r, const struct record_step *s, int64_t step,
                              struct err *err)
{
    const double n = (double)s->n_steps;
    const struct tb_event_value values[] = {
        {"time/compute", (float)((s->t_forward + s->t_backward) / n)},
        {"time/network_exposed", (float)(s->t_comm / n)},
        {"time/network_hidden", (float)(s->t_hidden / n)},
        {"time/data", (float)(s->t_data / n)},
        {"time/update", (float)(s->t_update / n)}};

    return put_values(r, step, values, 5, err);
}

static status summarize(struct record *r, const struct record_step *s,
                        const struct record_step *now, struct err *err)
{
    const bool clips = r->config->optim.max_grad_norm > 0;
    const double limit = r->config->optim.max_grad_norm;
    const char *rule = r->config->loss_scaling;
    const bool scales = strcmp(rule, "backoff") == 0 || strcmp(rule, "logmax") == 0;
    struct tb_event_value values[6] = {
        {"train_loss", (float)mean_loss(now)},
        {"learning_rate", (float)now->rate},
        {"Loss_Optimization/global_gradient_norm", (float)now->grad_norm},
        {"global_step/sec", (float)(s->t_step > 0 ? (double)s->n_steps / s->t_step : 0)}};
    size_t n = 4;

    if (!r->has_events)
        return OK;
    if (clips)
        values[n++] =
            (struct tb_event_value){"Loss_Optimization/global_clipped_gradient_norm",
                                    (float)fmin(now->grad_norm, limit)};
    if (scales)
        values[n++] = (struct tb_event_value){"Loss_Optimization/loss_scale",
                                              (float)now->loss_scale};
    TRY(put_values(r, now->step, values, n, err));
    TRY(summarize_times(r, s, now->step, err));
    return flush_events(r, err);
}

void record_add(struct record_step *sum, const struct record_step *s)
{
    sum->step = s->step;
    sum->epoch = s->epoch;
    sum->rate = s->rate;
    sum->grad_norm = s->grad_norm;
    sum->loss_scale = s->loss_scale;
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
    sum->t_hidden += s->t_hidden;
    sum->t_update += s->t_update;
    sum->flops += s->flops;
    sum->linear_flops += s->linear_flops;
}

static bool is_due(const struct record *r, int64_t step, int64_t every)
{
    return step % every == 0 || step == r->config->max_steps || step == r->first_step + 1;
}

bool record_is_due(const struct record *r, int64_t step)
{
    return is_due(r, step, r->config->log_every);
}

status record_update(struct record *r, const struct record_step *s, struct err *err)
{
    record_add(&r->since_log, s);
    record_add(&r->since_summary, s);
    if (s->step > r->first_step + WARM_UP) {
        r->objects += s->n_source + s->n_target;
        r->t_objects += s->t_step;
    }
    if (r->is_reference && (s->step - 1) % r->config->log_every == 0 && s->n_target)
        put_reference_step(r, s);
    if (is_due(r, s->step, r->config->summary_every) && s->n_target) {
        TRY(summarize(r, &r->since_summary, s, err));
        r->since_summary = (struct record_step){0};
    }
    /* nodes that train alone know their common loss only when they meet */
    const bool due = record_is_due(r, s->step) && s->n_target;
    if (!r->is_reference && due && !r->console.is_terminal)
        put_console(r, &r->since_log, true);
    else if (!r->is_reference && r->console.is_terminal && s->n_target &&
             progress_due(&r->console))
        put_console(r, &r->since_log, false);
    if (due) {
        TRY(log_step(r, &r->since_log, err));
        r->since_log = (struct record_step){0};
    }
    return OK;
}

/* Who worked longest while the others waited. */
static json_int_t slowest_of(const json_t *ranks)
{
    json_int_t slowest = 0;
    double most = -1;
    size_t i;
    json_t *o;

    json_array_foreach(ranks, i, o)
    {
        const double busy = json_number_value(json_object_get(o, "t_step")) -
                            json_number_value(json_object_get(o, "t_comm"));
        if (busy > most) {
            most = busy;
            slowest = (json_int_t)i;
        }
    }
    return slowest;
}

/* Bytes of all cards of all hosts, one way. */
static double card_bytes(const json_t *ranks, const char *way)
{
    double sum = 0;
    size_t i;
    json_t *o;

    json_array_foreach(ranks, i, o)
    {
        const char *name;
        json_t *card;
        json_object_foreach(json_object_get(o, "cards"), name, card) sum +=
            json_number_value(json_object_get(card, way));
    }
    return sum;
}

status record_ranks(struct record *r, int64_t step, struct json_t *ranks, struct err *err)
{
    const struct tb_event_value values[] = {
        {"network/sent_mb", (float)(card_bytes(ranks, "sent") * 1e-6)},
        {"network/received_mb", (float)(card_bytes(ranks, "received") * 1e-6)}};
    json_t *o = event("ranks", step);

    set_int(o, "slowest", slowest_of(ranks));
    json_object_set(o, "ranks", ranks);
    TRY(put_values(r, step, values, 2, err));
    return put_line(r, o, err);
}

status record_skip(struct record *r, int64_t step, const char *reason, struct err *err)
{
    json_t *o = event("skip", step);

    set_text(o, "reason", reason);
    record_note(r, "step %" PRId64 " skipped: %s", step + 1, reason);
    return put_line(r, o, err);
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
    TRY(put_values(r, e->step, values, e->has_bleu ? 4 : 3, err));
    TRY(flush_events(r, err));
    return put_line(r, o, err);
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
    return put_line(r, o, err);
}

status record_saved(struct record *r, const struct record_save *s, struct err *err)
{
    json_t *o = event("save", s->step);

    set_text(o, "path", s->name);
    set_int(o, "bytes", (int64_t)s->n_bytes);
    set_real(o, "seconds", s->t_blocked);
    set_real(o, "total_seconds", s->t_total);
    return put_line(r, o, err);
}

status record_best(struct record *r, int64_t step, const char *name, double value,
                   struct err *err)
{
    json_t *o = event("best", step);

    set_text(o, "path", name);
    set_real(o, strncmp(name, "bleu=", 5) == 0 ? "bleu" : "valid_loss", value);
    return put_line(r, o, err);
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
        return put_line(r, o, err); /* whoever called us gets the error to show */
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
    return put_line(r, o, err);
}
