#include "train/log/record.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
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
#include "base/os.h"
#include "format/json_text.h"
#include "train/run/peers.h"

void record_say_stuck(struct record *r, const char *name, bool *was_stuck, bool is_stuck,
                      const char *why)
{
    if (is_stuck && !*was_stuck)
        record_note(r, "%s cannot be written, it waits in memory: %s", name, why);
    else if (!is_stuck && *was_stuck)
        record_note(r, "%s is written again", name);
    *was_stuck = is_stuck;
}

static status put_entry(struct record *r, enum runlog_kind kind, const void *fields,
                        struct err *err)
{
    TRY(journal_put(&r->journal, journal_object(kind, fields), err));
    record_say_stuck(r, "run.jsonl", &r->is_journal_stuck, r->journal.is_stuck,
                     r->journal.why);
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

void record_note(struct record *r, const char *fmt, ...)
{
    char text[1200];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    progress_note(&r->console, text);
}

static status open_rank_log(struct record *r, int rank, struct err *err)
{
    char path[FILE_PATH_MAX], name[32];
    int fd;

    snprintf(name, sizeof name, "rank-%d.log", rank);
    TRY(file_join(path, sizeof path, r->config->run, name, err));
    TRY(file_open_regular(&fd, path, O_WRONLY | O_CREAT | O_APPEND, err));
    r->rank_log = fdopen(fd, "a");
    if (!r->rank_log) {
        close(fd);
        return err_set(err, ERR_MEMORY, "%s: no memory to write it", path);
    }
    setvbuf(r->rank_log, NULL, _IOLBF, 0);
    r->console = progress_to(r->rank_log);
    return OK;
}

/* Whoever read the console may have left: what he would see goes to a file then. */
static void keep_console(struct record *r, int64_t step)
{
    struct err ignored;

    if (!r->console.out || r->rank_log || !ferror(r->console.out))
        return;
    r->console = progress_to(NULL);
    if (open_rank_log(r, 0, &ignored) == OK)
        record_note(r,
                    "standard error was closed before step %lld, its lines follow here",
                    (long long)step);
}

status record_open(struct record *r, const struct train_config *c, FILE *console,
                   int64_t step, int rank, struct err *err)
{
    *r = (struct record){.config = c,
                         .console = progress_to(console),
                         .is_reference = strcmp(c->log_format, "reference") == 0,
                         .first_step = step,
                         .t_begin = clock_now(),
                         .samples = str_new(0),
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
    str_release(&r->samples);
    *r = (struct record){0};
    return result;
}

static json_t *config_of(const struct train_config *c)
{
    const struct opt_table t = train_config_written(c);
    json_t *config = json_object();

    for (size_t i = 0; i < t.n; i++) {
        const struct opt *row = &t.opt[i];
        const void *field = (const char *)c + row->at;
        json_t *v;
        if (row->type == OPT_INT)
            v = json_integer((json_int_t) * (const int64_t *)field);
        else if (row->type == OPT_REAL)
            v = journal_number(*(const double *)field);
        else if (row->type == OPT_BOOL)
            v = json_boolean(*(const bool *)field);
        else
            v = json_text(field);
        json_object_set_new(config, row->name, v);
    }
    return config;
}

/* What carries the ranks' messages, and what preflight found of it. */
static json_t *network_of(const char *gradients, const struct comm *c,
                          const struct preflight *p)
{
    const struct runlog_start network = {.backend = c->backend,
                                         .library = c->library ? c->library : "",
                                         .gradients = gradients,
                                         .settings = json_array(),
                                         .hosts = json_array(),
                                         .latency_s = p->t_latency,
                                         .mb_per_s = p->mb_per_s,
                                         .clock_spread_s = p->clock_spread,
                                         .free_mib = p->free_mib,
                                         .disk_mib = p->disk_mib};

    for (const char **text = c->setting; *text; text++)
        json_array_append_new(network.settings, json_string(*text));
    for (int i = 0; i < c->size; i++)
        json_array_append_new(network.hosts, json_string(c->peer[i].host));
    return journal_object(RUNLOG_KIND_NETWORK, &network);
}

const char *record_hash(char text[RECORD_HASH], uint64_t hash)
{
    snprintf(text, RECORD_HASH, "%016" PRIx64, hash);
    return text;
}

status record_begin(struct record *r, struct runlog_start e, const struct peers *p,
                    struct err *err)
{
    const struct comm *c = p->comm;
    char host[128];

    os_host_name(host, sizeof host);
    e.t = clock_wall();
    e.version = FERRY_VERSION;
    e.host = host;
    e.processors = (double)sysconf(_SC_NPROCESSORS_ONLN);
    e.ranks = c->size;
    e.nodes = c->n_nodes;
    e.config = config_of(r->config);
    e.data = journal_object(RUNLOG_KIND_DATA, &e);
    e.network = c->size > 1 ? network_of(e.gradients, c, &p->preflight) : NULL;
    r->roof_gflops = e.roof_gflops;
    record_console_start(r, &e, p);
    TRY(put_entry(r, RUNLOG_KIND_START, &e, err));
    return record_board_start(r, err);
}

static double memory_mib(void)
{
    struct rusage use;
    const long mib = getrusage(RUSAGE_SELF, &use) == 0 ? use.ru_maxrss / 1024 : 0;

    return (double)mib;
}

static status log_step(struct record *r, const struct record_step *sum, struct err *err)
{
    struct record_step e = *sum;

    e.t = clock_wall();
    e.loss = record_console_loss(sum);
    e.disagreement =
        train_config_has_views(r->config) ? sum->disagreement / sum->target_tokens : NAN;
    if (strcmp(r->config->loss_scaling, "none") == 0)
        e.loss_scale = NAN;
    if (!r->has_weights)
        e.target_weight = NAN;
    e.tokens_per_s = record_console_speed(sum);
    e.gflops = sum->t_step > 0 ? sum->flops / sum->t_step * 1e-9 : NAN;
    e.memory_mib = memory_mib();
    return put_entry(r, RUNLOG_KIND_STEP, &e, err);
}

/* The fields that both have stand at the same places. */
static_assert(offsetof(struct record_step, pairs_hash) ==
                  offsetof(struct runlog_step, pairs_hash),
              "record_step begins as runlog_step does");

static double *field_of(const struct record_step *s, const struct runlog_field *f)
{
    return (double *)((char *)s + f->at);
}

void record_add(struct record_step *sum, const struct record_step *s)
{
    for (size_t i = 0; i < runlog_schema[RUNLOG_KIND_STEP].n; i++) {
        const struct runlog_field *f = &runlog_schema[RUNLOG_KIND_STEP].field[i];
        if (f->over_steps == RUNLOG_SUM || f->over_steps == RUNLOG_MEAN)
            *field_of(sum, f) += *field_of(s, f);
        else /* as bytes: not all of them are doubles */
            memcpy(field_of(sum, f), field_of(s, f), sizeof(double));
    }
    sum->flops += s->flops;
}

void record_add_sums(double *sum, const struct record_step *s)
{
    for (size_t i = 0; i < runlog_schema[RUNLOG_KIND_STEP].n; i++)
        if (runlog_schema[RUNLOG_KIND_STEP].field[i].over_ranks == RUNLOG_ADD)
            *sum++ += *field_of(s, &runlog_schema[RUNLOG_KIND_STEP].field[i]);
    sum[0] += s->flops;
    sum[1] += s->linear_flops;
}

void record_take_sums(struct record_step *s, const double *sum)
{
    for (size_t i = 0; i < runlog_schema[RUNLOG_KIND_STEP].n; i++)
        if (runlog_schema[RUNLOG_KIND_STEP].field[i].over_ranks == RUNLOG_ADD)
            *field_of(s, &runlog_schema[RUNLOG_KIND_STEP].field[i]) = *sum++;
    s->flops = sum[0];
    s->linear_flops = sum[1];
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
    const int64_t step = (int64_t)s->step;
    /* nodes that train alone know their common loss only when they meet */
    const bool due = record_is_due(r, step) && s->target_tokens > 0;

    record_add(&r->since_log, s);
    record_add(&r->since_summary, s);
    if (step > r->first_step + RECORD_WARM_UP) {
        r->objects += s->source_tokens + s->target_tokens;
        r->t_objects += s->t_step;
    }
    if (is_due(r, step, r->config->summary_every) && s->target_tokens > 0) {
        TRY(record_board_summary(r, &r->since_summary, s, err));
        r->since_summary = (struct record_step){0};
    }
    record_console_update(r, s, due);
    keep_console(r, step);
    if (due) {
        TRY(log_step(r, &r->since_log, err));
        r->since_log = (struct record_step){0};
    }
    return OK;
}

bool record_has_rest(const struct record *r)
{
    return r->since_log.steps > 0 && r->since_log.target_tokens > 0;
}

status record_rest(struct record *r, struct err *err)
{
    if (!record_has_rest(r))
        return OK;
    TRY(log_step(r, &r->since_log, err));
    r->since_log = (struct record_step){0};
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
    const struct runlog_ranks e = {.t = clock_wall(),
                                   .step = (double)step,
                                   .slowest = (double)slowest_of(ranks),
                                   .ranks = json_incref(ranks)};

    const status result = put_entry(r, RUNLOG_KIND_RANKS, &e, err);
    return result == OK ? record_board_values(r, step, values, 2, err) : result;
}

status record_skip(struct record *r, int64_t step, const char *reason, struct err *err)
{
    const struct runlog_skip e = {clock_wall(), (double)step, reason};

    record_note(r, "step %" PRId64 " skipped: %s", step + 1, reason);
    return put_entry(r, RUNLOG_KIND_SKIP, &e, err);
}

void record_evaluating(struct record *r)
{
    if (r->is_reference)
        record_note(r, "*** Running evaluation on a validation set:");
}

status record_evaluated(struct record *r, struct runlog_eval e, struct err *err)
{
    e.t = clock_wall();
    record_console_evaluated(r, &e);
    TRY(record_board_evaluated(r, &e, err));
    return put_entry(r, RUNLOG_KIND_EVAL, &e, err);
}

status record_also_evaluated(struct record *r, struct runlog_valid e, struct err *err)
{
    e.t = clock_wall();
    record_console_also(r, &e);
    TRY(record_board_also(r, &e, err));
    return put_entry(r, RUNLOG_KIND_VALID, &e, err);
}

status record_sample(struct record *r, struct runlog_sample s, struct err *err)
{
    s.t = clock_wall();
    record_console_sample(r, &s);
    record_board_sample(r, &s);
    return put_entry(r, RUNLOG_KIND_SAMPLE, &s, err);
}

status record_saved(struct record *r, struct runlog_save s, struct err *err)
{
    s.t = clock_wall();
    return put_entry(r, RUNLOG_KIND_SAVE, &s, err);
}

status record_best(struct record *r, int64_t step, const char *name, double value,
                   struct err *err)
{
    const struct train_config *c = r->config;
    const bool is_bleu = strncmp(name, "bleu=", 5) == 0;
    const bool is_loss = strncmp(name, "val_loss=", 9) == 0;
    const bool is_other = !is_bleu && !is_loss;
    const struct runlog_best e = {.t = clock_wall(),
                                  .step = (double)step,
                                  .path = name,
                                  .valid_loss = is_loss ? value : NAN,
                                  .bleu = is_bleu ? value : NAN,
                                  .measure = is_other ? c->best_metric : NULL,
                                  .set = is_other && *c->best_set ? c->best_set : NULL,
                                  .value = is_other ? value : NAN};

    return put_entry(r, RUNLOG_KIND_BEST, &e, err);
}

status record_stop(struct record *r, int64_t step, const char *reason,
                   const char *message, struct err *err)
{
    const struct runlog_stop e = {clock_wall(), (double)step, reason, message};

    if (strcmp(reason, "error") != 0) /* whoever called us gets the error to show */
        record_console_stop(r, step, message);
    keep_console(r, step);
    TRY(record_board_stop(r, step, reason, err));
    return put_entry(r, RUNLOG_KIND_STOP, &e, err);
}
