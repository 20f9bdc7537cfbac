#include "report/read/runlog_entry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/read/runlog.h"

enum { ENTRIES_MAX = 1 << 18, EVALS_MAX = 1 << 14 };

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
    THEN(result, read_cards(e, json_object_get(o, "cards"), &r, err));
    THEN(result, intern_host(log, &r, err));
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

/* ---- very long logs ---- */

static double mean(double a, double b, double weight_a, double weight_b)
{
    if (!isfinite(a) || !isfinite(b))
        return isfinite(a) ? a : b;
    return (weight_a * a + weight_b * b) / (weight_a + weight_b);
}

/* What *a and the entry after it are together, field by field as the schema says. */
static void merge_fields(enum runlog_kind kind, void *a, const void *b, double weight_a,
                         double weight_b, double t_a, double t_b)
{
    for (size_t i = 0; i < runlog_schema[kind].n; i++) {
        const struct runlog_field *f = &runlog_schema[kind].field[i];
        double *to = (double *)((char *)a + f->at);
        const double v = *(const double *)((const char *)b + f->at);

        if (f->type == RUNLOG_TEXT || f->type == RUNLOG_JSON || f->type == RUNLOG_FLAG)
            continue;
        if (f->type == RUNLOG_HASH)
            memcpy(to, (const char *)b + f->at, sizeof(uint64_t));
        else if (f->over_steps == RUNLOG_SUM)
            add(to, v);
        else if (f->over_steps == RUNLOG_MEAN)
            *to = mean(*to, v, weight_a, weight_b);
        else if (f->over_steps == RUNLOG_TIMED || f->over_steps == RUNLOG_MADE)
            *to = mean(*to, v, t_a, t_b);
        else if (f->over_steps == RUNLOG_MOST)
            *to = fmax(*to, v);
        else if (isfinite(v))
            *to = v;
    }
}

static void thin_steps(struct runlog *log)
{
    size_t kept = 0;

    for (size_t i = 0; i < log->n_step; i++, kept++) {
        struct runlog_step s = log->step[i];
        const struct runlog_step *next = i + 1 < log->n_step ? &log->step[i + 1] : NULL;
        if (next && !s.is_first && next->session == s.session &&
            next->is_lost == s.is_lost && isfinite(next->t_step) == isfinite(s.t_step)) {
            merge_fields(RUNLOG_KIND_STEP, &s, next, runlog_weight(&s),
                         runlog_weight(next), s.t_step, next->t_step);
            i++;
        }
        log->step[kept] = s;
    }
    log->n_step = kept;
}

static void add_lap(const struct runlog *log, struct runlog_ranks *a,
                    const struct runlog_ranks *b)
{
    for (size_t k = 0; k < a->n; k++) {
        struct runlog_rank *r = &log->rank[a->first + k];
        const struct runlog_rank *s = &log->rank[b->first + k];
        merge_fields(RUNLOG_KIND_RANK, r, s, 1, 1, r->t_step, s->t_step);
        add(&r->card_sent, s->card_sent);
        add(&r->card_received, s->card_received);
        add(&r->card_errors, s->card_errors);
    }
    a->steps += b->steps;
    a->step = b->step;
    a->t = b->t;
}

static void thin_laps(struct runlog *log)
{
    size_t kept = 0, n_rank = 0;

    for (size_t i = 0; i < log->n_lap; i++, kept++) {
        struct runlog_ranks lap = log->lap[i];
        const struct runlog_ranks *next = i + 1 < log->n_lap ? &log->lap[i + 1] : NULL;
        if (next && !lap.is_first && next->n == lap.n && next->is_lost == lap.is_lost &&
            isfinite(lap.steps + next->steps)) {
            add_lap(log, &lap, next);
            i++;
        }
        memmove(&log->rank[n_rank], &log->rank[lap.first], lap.n * sizeof *log->rank);
        lap.first = n_rank;
        n_rank += lap.n;
        log->lap[kept] = lap;
    }
    log->n_lap = kept;
    log->n_rank = n_rank;
}

/* Of two evaluations the better one stays. */
static void thin_evals(struct runlog *log)
{
    size_t kept = 0;

    for (size_t i = 0; i < log->n_eval; i += 2, kept++) {
        struct runlog_eval a = log->eval[i];
        if (i + 1 < log->n_eval) {
            struct runlog_eval b = log->eval[i + 1];
            const bool takes_b =
                b.valid_loss < a.valid_loss || b.eval_loss < a.eval_loss || a.is_lost;
            runlog_entry_free(RUNLOG_KIND_EVAL, takes_b ? &a : &b);
            a = takes_b ? b : a;
        }
        log->eval[kept] = a;
    }
    log->n_eval = kept;
}

/* Entries that cannot be merged, of sessions of one, must not be tried at every line. */
void runlog_entry_thin(struct runlog *log)
{
    if (log->n_eval >= EVALS_MAX)
        thin_evals(log);
    if (log->n_step + log->n_rank < (log->thin_at ? log->thin_at : ENTRIES_MAX))
        return;
    thin_steps(log);
    thin_laps(log);
    const size_t n = 2 * (log->n_step + log->n_rank);
    log->thin_at = n > ENTRIES_MAX ? n : ENTRIES_MAX;
}
