#include "report/read/runlog_entry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/read/runlog.h"

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
    const bool is_text = f->type == RUNLOG_TEXT;

    if (is_text ? !json_is_string(v) : !json_is_number(v))
        return err_set(err, ERR_FORMAT, "%s:%zu: \"%s\" is not a %s", e->name, e->number,
                       f->name, is_text ? "string" : "number");
    if (is_text)
        return runlog_entry_copy(out, json_string_value(v), err);
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

/* ---- ranks: what every rank measured of itself ---- */

/* The one copy of a host's name that the log keeps, in place of the rank's own. */
static status intern_host(struct runlog *log, struct runlog_rank *r, struct err *err)
{
    for (size_t i = 0; r->host && i < log->n_host; i++)
        if (strcmp(log->host[i], r->host) == 0) {
            runlog_entry_free(RUNLOG_KIND_RANK, r);
            r->host = log->host[i];
            return OK;
        }
    if (!r->host)
        return OK;
    TRY(mem_grow(&log->host, &log->cap_host, log->n_host + 1, sizeof *log->host, err));
    log->host[log->n_host++] = r->host;
    return OK;
}

static void add(double *sum, double v)
{
    if (isfinite(v))
        *sum = isfinite(*sum) ? *sum + v : v;
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
        /* not summed: bridges and shapers count the same bytes once more */
        r->card_sent = fmax(r->card_sent, c.sent); /* fmax ignores a NAN */
        r->card_received = fmax(r->card_received, c.received);
        add(&r->card_errors, c.errors);
        add(&r->card_errors, c.dropped);
    }
    return OK;
}

static status read_rank(struct runlog *log, const struct entry *e, json_t *o,
                        struct err *err)
{
    struct runlog_rank r = {0};

    if (!json_is_object(o))
        return runlog_entry_refuse(e, "a rank that is not an object", err);
    TRY(mem_grow(&log->rank, &log->cap_rank, log->n_rank + 1, sizeof *log->rank, err));
    status result = runlog_entry_get(e, RUNLOG_KIND_RANK, o, &r, err);
    if (result == OK)
        result = read_cards(e, json_object_get(o, "cards"), &r, err);
    if (result == OK)
        result = intern_host(log, &r, err);
    if (result != OK) {
        runlog_entry_free(RUNLOG_KIND_RANK, &r);
        return result;
    }
    log->rank[log->n_rank++] = r;
    return OK;
}

void runlog_entry_pair(struct runlog *log)
{
    struct runlog_ranks *lap = log->n_lap ? &log->lap[log->n_lap - 1] : NULL;
    const struct runlog_step *step = log->n_step ? &log->step[log->n_step - 1] : NULL;

    if (!lap || !step || lap->step != step->step || isfinite(lap->steps))
        return;
    lap->steps = step->steps;
    lap->is_first = step->is_first;
}

status runlog_entry_ranks(struct runlog *log, const struct entry *e, struct err *err)
{
    json_t *ranks = json_object_get(e->json, "ranks"), *o;
    struct runlog_ranks lap = {.first = log->n_rank, .steps = NAN};
    size_t i;

    TRY(runlog_entry_get(e, RUNLOG_KIND_RANKS, e->json, &lap, err));
    if (!isfinite(lap.step))
        return runlog_entry_refuse(e, "a ranks event without a \"step\"", err);
    if (!json_is_array(ranks))
        return runlog_entry_refuse(e, "\"ranks\" is not a list", err);
    json_array_foreach(ranks, i, o) TRY(read_rank(log, e, o, err));
    lap.n = log->n_rank - lap.first;
    TRY(mem_grow(&log->lap, &log->cap_lap, log->n_lap + 1, sizeof *log->lap, err));
    log->lap[log->n_lap++] = lap;
    runlog_entry_pair(log);
    return OK;
}
