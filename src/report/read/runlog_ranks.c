/* The ranks events of a log: what every rank measured of itself. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/read/runlog.h"
#include "report/read/runlog_line.h"

/* The one copy of a host's name that the log keeps. */
static status intern_host(struct runlog *log, char *name, const char **out,
                          struct err *err)
{
    *out = NULL;
    if (!name)
        return OK;
    for (size_t i = 0; i < log->n_host; i++)
        if (strcmp(log->host[i], name) == 0) {
            free(name);
            *out = log->host[i];
            return OK;
        }
    const status result =
        mem_grow(&log->host, &log->cap_host, log->n_host + 1, sizeof *log->host, err);
    if (result != OK) {
        free(name);
        return result;
    }
    *out = log->host[log->n_host++] = name;
    return OK;
}

static void add(double *sum, double v)
{
    if (isfinite(v))
        *sum = isfinite(*sum) ? *sum + v : v;
}

static status read_cards(const struct line *l, json_t *cards, struct runlog_rank *r,
                         struct err *err)
{
    const char *name;
    json_t *card;

    if (cards && !json_is_null(cards) && !json_is_object(cards))
        return runlog_line_refuse(l, "\"cards\" is not an object", err);
    json_object_foreach(cards, name, card)
    {
        double sent, received, errors, dropped;
        TRY(runlog_line_number(l, card, "sent", &sent, err));
        TRY(runlog_line_number(l, card, "received", &received, err));
        TRY(runlog_line_number(l, card, "errors", &errors, err));
        TRY(runlog_line_number(l, card, "dropped", &dropped, err));
        /* not summed: bridges and shapers count the same bytes once more */
        r->card_sent = fmax(r->card_sent, sent); /* fmax ignores a NAN */
        r->card_received = fmax(r->card_received, received);
        add(&r->card_errors, errors);
        add(&r->card_errors, dropped);
    }
    return OK;
}

static status read_rank(struct runlog *log, const struct line *l, json_t *o,
                        struct err *err)
{
    char *host;

    if (!json_is_object(o))
        return runlog_line_refuse(l, "a rank that is not an object", err);
    TRY(mem_grow(&log->rank, &log->cap_rank, log->n_rank + 1, sizeof *log->rank, err));
    struct runlog_rank *r = &log->rank[log->n_rank];
    *r = (struct runlog_rank){.card_sent = NAN, .card_received = NAN, .card_errors = NAN};
#define X(field) TRY(runlog_line_number(l, o, #field, &r->field, err));
    RUNLOG_RANK_FIELDS(X)
#undef X
    TRY(read_cards(l, json_object_get(o, "cards"), r, err));
    TRY(runlog_line_member(l, o, "host", &host, err));
    TRY(intern_host(log, host, &r->host, err));
    log->n_rank++;
    return OK;
}

void runlog_pair_lap(struct runlog *log)
{
    struct runlog_lap *lap = log->n_lap ? &log->lap[log->n_lap - 1] : NULL;
    const struct runlog_step *step = log->n_step ? &log->step[log->n_step - 1] : NULL;

    if (!lap || !step || lap->step != step->step || isfinite(lap->steps))
        return;
    lap->steps = step->steps;
    lap->is_first = step->is_first;
}

status runlog_read_ranks(struct runlog *log, const struct line *l, struct err *err)
{
    json_t *ranks = json_object_get(l->json, "ranks"), *o;
    struct runlog_lap lap = {.first = log->n_rank};
    size_t i;

    TRY(runlog_line_number(l, l->json, "t", &lap.t, err));
    TRY(runlog_line_number(l, l->json, "step", &lap.step, err));
    if (!isfinite(lap.step))
        return runlog_line_refuse(l, "a ranks event without a \"step\"", err);
    if (!json_is_array(ranks))
        return runlog_line_refuse(l, "\"ranks\" is not a list", err);
    json_array_foreach(ranks, i, o) TRY(read_rank(log, l, o, err));
    lap.n = log->n_rank - lap.first;
    lap.steps = NAN;
    TRY(mem_grow(&log->lap, &log->cap_lap, log->n_lap + 1, sizeof *log->lap, err));
    log->lap[log->n_lap++] = lap;
    runlog_pair_lap(log);
    return OK;
}
