#include "train/trainer.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "dist/exchange/reducer.h"
#include "train/run/stop.h"
#include "train/setup.h"

static bool is_due(const struct trainer *t, int64_t every)
{
    return every && t->state.step % every == 0;
}

/* With several ranks: whose gradient it was. */
static void add_odd_rank(const struct trainer *t, char *reason, size_t n_reason)
{
    const size_t n = strlen(reason);
    char who[256];

    if (t->comm->size > 1 && ranks_find_odd(t->comm, t->own, who, sizeof who))
        snprintf(reason + n, n_reason - n, "; %s", who);
}

/* A rank that is far from the others is named, at most once in so many updates. */
static void note_odd_rank(struct trainer *t)
{
    enum { AGAIN_AFTER = 100 };
    char who[256];

    if (t->comm->size == 1 || !t->is_synced || t->state.step < t->odd_again ||
        !ranks_find_odd(t->comm, t->own, who, sizeof who))
        return;
    t->odd_again = t->state.step + AGAIN_AFTER;
    record_note(&t->record, "step %lld: %s", (long long)t->state.step, who);
}

/* A gradient that is not finite costs its update; too many in a row end the run. */
static status skip(struct trainer *t, struct err *err)
{
    struct state *s = &t->state;
    char reason[sizeof err->msg];

    memcpy(reason, err->msg, sizeof reason);
    add_odd_rank(t, reason, sizeof reason);
    s->n_skipped++;
    if (++s->skipped_in_a_row > t->config.skip_limit)
        return err_set(err, ERR_NUMERIC,
                       "step %lld: %lld updates in a row were not finite; lower "
                       "learning_rate or raise warmup_steps (%.300s)",
                       (long long)s->step + 1, (long long)s->skipped_in_a_row, reason);
    return record_skip(&t->record, s->step, reason, err);
}

/* Nodes that train alone leave out updates alone, and count them. When they meet, a node
 * that goes on doing so ends the run of all. */
static status count_skips(struct trainer *t, const struct record_step *rec,
                          struct err *err)
{
    struct state *s = &t->state;
    char name[RANKS_NAME_MAX];

    s->skipped_in_a_row = rec->skipped > 0 ? s->skipped_in_a_row + 1 : 0;
    if (!train_is_local(t) || !t->is_synced)
        return OK;
    const int rank = ranks_most_skipped(t->comm, t->own);
    s->skipped_in_a_row = (int64_t)t->own[rank].n_skipped;
    if (s->skipped_in_a_row <= t->config.skip_limit)
        return OK;
    t->is_agreed = true;
    return err_set(err, ERR_NUMERIC,
                   "step %lld: the last %lld updates of %s and its node were not finite; "
                   "lower learning_rate or raise warmup_steps",
                   (long long)s->step, (long long)s->skipped_in_a_row,
                   ranks_name(t->comm, rank, name));
}

static status update(struct trainer *t, struct err *err)
{
    struct record_step rec;
    struct state *s = &t->state;

    const status result = train_memory_advise(t, train_step(t, &rec, err), err);
    if (result == ERR_NUMERIC)
        return skip(t, err);
    if (result != OK)
        return result;
    TRY(count_skips(t, &rec, err));
    note_odd_rank(t);
    meter_look(&t->meter);
    s->n_source += (uint64_t)rec.source_tokens;
    s->n_target += (uint64_t)rec.target_tokens;
    s->t_trained += rec.t_step;
    record_add(&t->since_stats, &rec);
    t->wants_stats |= record_is_due(&t->record, (int64_t)rec.step);
    if (t->wants_stats && t->is_synced)
        TRY(train_rank_stats(t, err));
    return record_update(&t->record, &rec, err);
}

/* Weights of a GPU are compared on the host. */
static status find_odd_replica(struct trainer *t, struct reducer_odd *odd,
                               struct err *err)
{
    const struct mat flat = t->model.flat;
    float *copy;

    if (!t->device.driver)
        return reducer_compare(t->comm, flat.mem, flat.cols, odd, err);
    TRY(mem_alloc(&copy, flat.cols, sizeof *copy, err));
    device_download(&t->device, copy, flat);
    const status result = reducer_compare(t->comm, copy, flat.cols, odd, err);
    free(copy);
    return result;
}

/* Ranks that hold different weights train different models and would never know. */
status trainer_compare(struct trainer *t, struct err *err)
{
    char name[RANKS_NAME_MAX], other[RANKS_NAME_MAX];
    struct reducer_odd odd;

    if (t->comm->size == 1 || t->compared_at == t->state.step)
        return OK;
    TRY(find_odd_replica(t, &odd, err));
    t->compared_at = t->state.step;
    if (odd.rank < 0)
        return OK;
    t->is_agreed = true;
    (void)ranks_name(t->comm, odd.rank, name);
    if (!odd.is_clear)
        return err_set(
            err, ERR_DEVICE,
            "step %lld: the weights of %s and %s differ, and it cannot be told "
            "whose are wrong; the memory, processor or network of one of them "
            "may be faulty",
            (long long)t->state.step, ranks_name(t->comm, odd.other, other), name);
    return err_set(err, ERR_DEVICE,
                   "step %lld: the weights of %s differ from those of the other ranks; "
                   "its memory, processor or network may be faulty, leave that host out",
                   (long long)t->state.step, name);
}

/* Damage in one node's copy of the data ends the run of all, by its name. */
static status judge_data(struct trainer *t, bool waits, struct err *err)
{
    char name[RANKS_NAME_MAX];
    status mine = OK;

    if (waits || dataset_check_has_failed(&t->check))
        mine = dataset_check_finish(&t->check, err);
    if (mine != OK && t->comm->size > 1)
        mine = err_wrap(err, "%s", ranks_name(t->comm, t->comm->rank, name));
    return train_together(t, mine, err);
}

static status poll_data(struct trainer *t, struct err *err)
{
    const bool is_damaged =
        t->comm->size == 1 ? dataset_check_has_failed(&t->check) : t->sum.n_damaged > 0;

    return is_damaged ? judge_data(t, false, err) : OK;
}

static bool is_over(const struct trainer *t)
{
    const struct train_config *c = &t->config;

    return t->state.step >= c->max_steps || t->wants_stop || t->is_told ||
           (c->max_epochs && t->state.cursor.epoch >= (uint64_t)c->max_epochs);
}

/* A signal to any rank stops all of them after the same update. */
static void listen(struct trainer *t)
{
    t->is_told = t->comm->size == 1 ? stop_requested() : t->sum.n_stop > 0;
}

/* What int8 has rounded off so far is in no checkpoint: one more update, sent whole,
 * takes it along before the run stops. */
static status flush(struct trainer *t, struct err *err)
{
    const bool has_rest = strcmp(t->config.wire, "int8") == 0 && t->comm->n_nodes > 1;

    if (!t->is_told || !has_rest || t->state.step >= t->config.max_steps)
        return OK;
    return update(t, err);
}

static status loop(struct trainer *t, struct err *err)
{
    for (listen(t); !is_over(t); listen(t)) {
        const int64_t before = t->state.step;
        TRY(update(t, err));
        TRY(poll_data(t, err));
        TRY(train_save_poll(t, err));
        if (is_due(t, t->config.replica_check_every) && t->is_synced)
            TRY(trainer_compare(t, err));
        if (t->state.step == before)
            continue; /* skipped */
        if (is_due(t, t->config.eval_every))
            TRY(train_assess(t, err));
        if (is_due(t, t->config.save_every))
            train_save_want(t);
        TRY(train_save_begin(t, err));
    }
    return flush(t, err);
}

static const char *reason_of(const struct trainer *t, const char **message)
{
    if (t->is_told) {
        *message = "stopped by a signal, saved";
        return "signal";
    }
    if (t->wants_stop) {
        *message = "stopped early: no better evaluation within patience";
        return "early_stop";
    }
    *message = "finished";
    return t->state.step >= t->config.max_steps ? "max_steps" : "max_epochs";
}

/* The last evaluation and the last checkpoint; a signal leaves time for the latter. */
static status finish(struct trainer *t, struct err *err)
{
    const char *message, *reason = reason_of(t, &message);

    TRY(judge_data(t, true, err));
    if (!t->is_told && t->state.step > 0)
        TRY(train_assess(t, err));
    TRY(train_save_last(t, err));
    return record_stop(&t->record, t->state.step, reason, message, err);
}

static status run(struct trainer *t, struct err *err)
{
    TRY(setup_run(t, err));
    if (!t->is_resumed)
        TRY(train_save_last(t, err));
    t->record.t_begin = clock_now();
    meter_start(&t->meter, "/sys/class/net", &t->device);
    const status result = loop(t, err);
    if (result == OK)
        return finish(t, err);
    struct err second; /* the first failure is the one to report */
    if (record_stop(&t->record, t->state.step, "error", err->msg, &second) != OK)
        record_note(&t->record, "%s", second.msg);
    return result;
}

status train_together(struct trainer *t, status mine, struct err *err)
{
    const status result = comm_agree(t->comm, mine, err);

    t->is_agreed = result != OK && result != ERR_COMM;
    return result;
}

status train_run(const struct train_config *config, struct train_host *host,
                 struct err *err)
{
    struct trainer *t;

    host->is_agreed = true; /* all ranks have these options and this much memory */
    TRY(train_config_check(config, err));
    TRY(mem_alloc(&t, 1, sizeof *t, err));
    *t = (struct trainer){.config = *config,
                          .comm = host->comm,
                          .control = host->control,
                          .run_dir = {.lock = -1},
                          .evaluated_at = -1,
                          .compared_at = -1,
                          .saved_at = -1};
    stop_listen();
    status result = setup_open(t, host->console, err);
    if (result == OK)
        result = run(t, err);
    stop_forget();
    struct err closing = {0};
    host->is_agreed = t->is_agreed || t->comm->size == 1;
    if (setup_close(t, &closing) != OK && result == OK)
        result = err_set(err, closing.code, "%s", closing.msg);
    free(t);
    return result;
}
