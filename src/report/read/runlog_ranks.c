/* The ranks entries of a log: what every rank measured of itself. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/read/runlog.h"
#include "report/read/runlog_entry.h"

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
    struct runlog_card c;
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

void runlog_ranks_pair(struct runlog *log)
{
    struct runlog_ranks *lap = log->n_lap ? &log->lap[log->n_lap - 1] : NULL;
    const struct runlog_step *step = log->n_step ? &log->step[log->n_step - 1] : NULL;

    if (!lap || !step || lap->step != step->step || isfinite(lap->steps))
        return;
    lap->steps = step->steps;
    lap->is_first = step->is_first;
}

status runlog_ranks_read(struct runlog *log, const struct entry *e, struct err *err)
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
    runlog_ranks_pair(log);
    return OK;
}
