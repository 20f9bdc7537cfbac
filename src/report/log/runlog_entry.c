#include "report/log/runlog_entry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/log/runlog.h"

status runlog_entry_refuse(const struct entry *e, const char *what, struct err *err)
{
    return err_set(err, ERR_FORMAT, "%s:%zu: %s", e->name, e->number, what);
}

status runlog_entry_copy(char **out, const char *text, struct err *err)
{
    *out = strdup(text);
    return *out ? OK : err_set(err, ERR_MEMORY, "no memory for the run log");
}

/* A value that is there, and not null. */
static status get_value(const struct entry *e, const struct runlog_field *f,
                        const json_t *v, void *out, struct err *err)
{
    const bool is_text = f->type == RUNLOG_TEXT || f->type == RUNLOG_HASH;

    if (is_text ? !json_is_string(v) : !json_is_number(v))
        return err_set(err, ERR_FORMAT, "%s:%zu: \"%s\" is not a %s", e->name, e->number,
                       f->name, is_text ? "string" : "number");
    if (f->type == RUNLOG_HASH)
        *(uint64_t *)out = strtoull(json_string_value(v), NULL, 16);
    else if (is_text)
        return runlog_entry_copy(out, json_string_value(v), err);
    else
        *(double *)out = json_number_value(v);
    return OK;
}

status runlog_entry_get(const struct entry *e, enum runlog_kind kind,
                        const json_t *object, void *out, struct err *err)
{
    for (size_t i = 0; i < runlog_schema[kind].n; i++) {
        const struct runlog_field *f = &runlog_schema[kind].field[i];
        const json_t *v = json_object_get(object, f->name);
        void *at = (char *)out + f->at;

        if (f->type == RUNLOG_FLAG)
            *(bool *)at = json_is_true(v);
        else if (f->type == RUNLOG_TEXT)
            *(char **)at = NULL;
        else if (f->type == RUNLOG_HASH)
            *(uint64_t *)at = 0;
        else if (f->type != RUNLOG_JSON)
            *(double *)at = NAN;
        if (v && !json_is_null(v) && f->type != RUNLOG_FLAG && f->type != RUNLOG_JSON)
            TRY(get_value(e, f, v, at, err));
    }
    return OK;
}

void runlog_entry_free(enum runlog_kind kind, void *fields)
{
    for (size_t i = 0; i < runlog_schema[kind].n; i++)
        if (runlog_schema[kind].field[i].type == RUNLOG_TEXT)
            free(*(char **)((char *)fields + runlog_schema[kind].field[i].at));
}

status runlog_entry_name(struct runlog *log, const char **out, const char *text, size_t n,
                         struct err *err)
{
    /* ranks stand host by host, in every entry alike */
    for (size_t k = 0; k < log->n_name; k++) {
        const size_t i = (log->name_at + k) % log->n_name;
        if (strncmp(log->name[i], text, n) == 0 && log->name[i][n] == '\0') {
            log->name_at = i;
            *out = log->name[i];
            return OK;
        }
    }
    TRY(mem_grow(&log->name, &log->cap_name, log->n_name + 1, sizeof *log->name, err));
    *out = strndup(text, n);
    if (!*out)
        return err_set(err, ERR_MEMORY, "no memory for the run log");
    log->name_at = log->n_name;
    log->name[log->n_name++] = *out;
    return OK;
}

/* A text that was copied becomes the log's. */
static status share(struct runlog *log, const char **text, struct err *err)
{
    const char *own = *text;

    if (!own)
        return OK;
    *text = NULL;
    const status result = runlog_entry_name(log, text, own, strlen(own), err);
    free((char *)own);
    return result;
}

void runlog_entry_sum(double *sum, double v)
{
    if (isfinite(v))
        *sum = isfinite(*sum) ? *sum + v : v;
}

void runlog_entry_time(struct runlog *log, double t, bool is_start)
{
    if (!isfinite(t))
        return;
    if (!isfinite(log->t_first))
        log->t_first = t;
    else if (!is_start)
        log->t_gap = fmax(log->t_gap, t - log->t_last);
    log->t_last = fmax(log->t_last, t); /* an evaluation may be told late */
}

/* ---- steps and evaluations ---- */

/* Mean loss of the entry and those before it that stand, RUNLOG_FEW together; NAN when
 * there are fewer, or most have none. */
static double recent_loss(const struct runlog *log, const struct runlog_step *s)
{
    size_t n = 1, n_good = isfinite(s->loss) ? 1 : 0;
    double sum = n_good ? s->loss : 0;

    for (size_t i = log->n_step; n < RUNLOG_FEW && i > 0;) {
        const struct runlog_step *before = &log->step[i - 1];
        i -= before->is_lost ? before->lost_run : 1;
        if (before->is_lost)
            continue;
        n++;
        if (isfinite(before->loss)) {
            sum += before->loss;
            n_good++;
        }
    }
    return n == RUNLOG_FEW && 2 * n_good > n ? sum / (double)n_good : NAN;
}

/* The newest ranks entry and the newest step entry, which stand beside each other in
 * either order: the latter says how many updates the sums of both cover. */
static void pair(struct runlog *log)
{
    struct runlog_ranks *lap = log->n_lap ? &log->lap[log->n_lap - 1] : NULL;
    const struct runlog_step *step = log->n_step ? &log->step[log->n_step - 1] : NULL;

    if (!lap || !step || lap->step != step->step || isfinite(lap->steps))
        return;
    lap->steps = step->steps;
    lap->is_first = step->is_first;
}

status runlog_entry_add_step(struct runlog *log, struct runlog_step *s, struct err *err)
{
    TRY(runlog_thin(log, err));
    TRY(mem_grow(&log->step, &log->cap_step, log->n_step + 1, sizeof *log->step, err));
    s->session = log->all.n_starts;
    s->is_first = log->n_step == 0 || log->step[log->n_step - 1].session != s->session;
    if (!(s->steps >= 1))
        s->steps = 1;
    s->entries = 1;
    s->slowest = NAN;
    s->low = recent_loss(log, s);
    log->step[log->n_step++] = *s;
    pair(log);
    return OK;
}

status runlog_entry_step(struct runlog *log, const struct entry *e, struct err *err)
{
    struct runlog_step s = {.steps = NAN};

    TRY(runlog_entry_get(e, RUNLOG_KIND_STEP, e->json, &s, err));
    if (!isfinite(s.step))
        return runlog_entry_refuse(e, "a step event without a \"step\"", err);
    return runlog_entry_add_step(log, &s, err);
}

status runlog_entry_eval(struct runlog *log, const struct entry *e, struct err *err)
{
    struct runlog_eval v = {.entries = 1};

    TRY(runlog_thin(log, err));
    TRY(mem_grow(&log->eval, &log->cap_eval, log->n_eval + 1, sizeof *log->eval, err));
    status result = runlog_entry_get(e, RUNLOG_KIND_EVAL, e->json, &v, err);
    THEN(result, share(log, &v.bleu_signature, err));
    if (result != OK) {
        runlog_entry_free(RUNLOG_KIND_EVAL, &v);
        return result;
    }
    log->eval[log->n_eval++] = v;
    log->all.n_evals++;
    log->all.eval_seconds += isfinite(v.seconds) ? v.seconds : 0;
    return isfinite(v.step)
               ? OK
               : runlog_entry_refuse(e, "an eval event without a \"step\"", err);
}

/* Where the newest of this set is, or will be. */
static status place_of(struct runlog *log, const char *name, struct runlog_valid **at,
                       struct err *err)
{
    size_t i = 0;

    while (i < log->n_valid && log->valid[i].name != name) /* each name is there once */
        i++;
    TRY(mem_grow(&log->valid, &log->cap_valid, i + 1, sizeof *log->valid, err));
    log->n_valid = i < log->n_valid ? log->n_valid : i + 1;
    *at = &log->valid[i];
    return OK;
}

status runlog_entry_valid(struct runlog *log, const struct entry *e, struct err *err)
{
    struct runlog_valid v, *at;

    status result = runlog_entry_get(e, RUNLOG_KIND_VALID, e->json, &v, err);
    THEN(result, share(log, &v.name, err));
    if (result != OK) {
        runlog_entry_free(RUNLOG_KIND_VALID, &v);
        return result;
    }
    if (!v.name || !isfinite(v.step))
        return runlog_entry_refuse(e, "a valid event without a \"name\" or a \"step\"",
                                   err);
    TRY(place_of(log, v.name, &at, err));
    *at = v;
    log->all.eval_seconds += isfinite(v.seconds) ? v.seconds : 0;
    return OK;
}

/* ---- ranks: what every rank measured of itself ---- */

void runlog_entry_card(struct runlog_rank *r, const struct runlog_card *c)
{
    /* not summed: bridges and shapers count the same bytes once more */
    r->card_sent = fmax(r->card_sent, c->sent); /* fmax ignores a NAN */
    r->card_received = fmax(r->card_received, c->received);
    runlog_entry_sum(&r->card_errors, c->errors);
    runlog_entry_sum(&r->card_errors, c->dropped);
}

static status read_cards(const struct entry *e, json_t *cards, struct runlog_rank *r,
                         struct err *err)
{
    struct runlog_card c = {0};
    const char *name;
    json_t *card;

    r->card_sent = r->card_received = r->card_errors = NAN;
    if (cards && !json_is_null(cards) && !json_is_object(cards))
        return runlog_entry_refuse(e, "\"cards\" is not an object", err);
    json_object_foreach(cards, name, card)
    {
        TRY(runlog_entry_get(e, RUNLOG_KIND_CARD, card, &c, err));
        runlog_entry_card(r, &c);
    }
    return OK;
}

status runlog_entry_add_rank(struct runlog *log, const struct runlog_rank *r,
                             struct err *err)
{
    TRY(mem_grow(&log->rank, &log->cap_rank, log->n_rank + 1, sizeof *log->rank, err));
    log->rank[log->n_rank++] = *r;
    return OK;
}

static status read_rank(struct runlog *log, const struct entry *e, json_t *o,
                        struct err *err)
{
    struct runlog_rank r = {0};

    if (!json_is_object(o))
        return runlog_entry_refuse(e, "a rank that is not an object", err);
    status result = runlog_entry_get(e, RUNLOG_KIND_RANK, o, &r, err);
    THEN(result, read_cards(e, json_object_get(o, "cards"), &r, err));
    THEN(result, share(log, &r.host, err));
    if (result != OK) {
        runlog_entry_free(RUNLOG_KIND_RANK, &r);
        return result;
    }
    return runlog_entry_add_rank(log, &r, err);
}

static double busy_of(const struct runlog_rank *r)
{
    return r->t_step - r->t_comm;
}

/* The first of the ranks [from, to) that no other one is busier than. */
static void mark_busiest(struct runlog_rank *from, const struct runlog_rank *to)
{
    struct runlog_rank *best = NULL;

    for (struct runlog_rank *r = from; r < to; r++)
        if (isfinite(busy_of(r)) && (!best || busy_of(r) > busy_of(best)))
            best = r;
    if (best)
        best->n_busiest = 1;
}

status runlog_entry_add_ranks(struct runlog *log, struct runlog_ranks *lap,
                              struct err *err)
{
    TRY(mem_grow(&log->lap, &log->cap_lap, log->n_lap + 1, sizeof *log->lap, err));
    lap->n = log->n_rank - lap->first;
    lap->steps = NAN;
    lap->entries = 1;
    if (lap->n)
        mark_busiest(log->rank + lap->first, log->rank + log->n_rank);
    log->lap[log->n_lap++] = *lap;
    pair(log);
    return OK;
}

status runlog_entry_ranks(struct runlog *log, const struct entry *e, struct err *err)
{
    json_t *ranks = json_object_get(e->json, "ranks"), *o;
    struct runlog_ranks lap = {.first = log->n_rank};
    size_t i;

    TRY(runlog_entry_get(e, RUNLOG_KIND_RANKS, e->json, &lap, err));
    if (!isfinite(lap.step))
        return runlog_entry_refuse(e, "a ranks event without a \"step\"", err);
    if (!json_is_array(ranks))
        return runlog_entry_refuse(e, "\"ranks\" is not a list", err);
    json_array_foreach(ranks, i, o) TRY(read_rank(log, e, o, err));
    return runlog_entry_add_ranks(log, &lap, err);
}
