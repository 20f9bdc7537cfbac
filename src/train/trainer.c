#include "train/trainer.h"

#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

/* ---- signals ---- */

/* Written by a handler, and read by every rank of a process that holds several. */
static atomic_int requested;
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a handler may only touch what has no lock");

static void on_signal(int number)
{
    (void)number;
    requested = 1;
}

/* The second signal ends the process at once, as usual. */
static void listen_to_signals(void)
{
    const struct sigaction action = {.sa_handler = on_signal,
                                     .sa_flags = SA_RESTART | (int)SA_RESETHAND};

    requested = 0;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static void forget_signals(void)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

bool trainer_is_to_stop(void)
{
    return requested;
}

/* ---- updates ---- */

static bool is_due(const struct trainer *t, int64_t every)
{
    return every && t->state.step % every == 0;
}

/* A gradient that is not finite costs its update; too many in a row end the run. */
static status skip(struct trainer *t, struct err *err)
{
    struct state *s = &t->state;
    char reason[sizeof err->msg], who[PEERS_TEXT_MAX];
    const size_t n = strlen(err->msg);

    memcpy(reason, err->msg, sizeof reason);
    t->layers.is_fresh = false;
    TRY(peers_find_odd(&t->peers, who, err));
    if (who[0])
        snprintf(reason + n, sizeof reason - n, "; %s", who);
    s->n_skipped++;
    if (++s->skipped_in_a_row > t->config.skip_limit) {
        t->peers.is_agreed = true; /* all see the same sum */
        t->peers.comm->fault = 0;
        return err_set(err, ERR_NUMERIC,
                       "step %lld: %lld updates in a row were not finite; lower "
                       "learning_rate or raise warmup_steps (%.300s)",
                       (long long)s->step + 1, (long long)s->skipped_in_a_row, reason);
    }
    return record_skip(&t->record, s->step, reason, err);
}

/* With local SGD each node skips its own updates and counts them. At an averaging, a node
 * that skips too many in a row ends the run of all. */
static status count_skips(struct trainer *t, const struct record_step *rec,
                          struct err *err)
{
    struct peers *p = &t->peers;
    struct state *s = &t->state;
    char name[COMM_NAME_MAX];

    s->skipped_in_a_row = rec->skipped > 0 ? s->skipped_in_a_row + 1 : 0;
    if (!local_sgd_is_on(&t->local) || !t->local.is_synced)
        return OK;
    const int rank = ranks_most_skipped(p->comm, &p->most, &s->skipped_in_a_row);
    if (s->skipped_in_a_row <= t->config.skip_limit)
        return OK;
    p->is_agreed = true;
    return err_set(err, ERR_NUMERIC,
                   "step %lld: the last %lld updates of %s and its node were not finite; "
                   "lower learning_rate or raise warmup_steps",
                   (long long)s->step, (long long)s->skipped_in_a_row,
                   comm_name(p->comm, rank, name));
}

/* One update and what is logged of it. */
static status update(struct trainer *t, struct err *err)
{
    struct record_step rec;
    struct state *s = &t->state;
    struct rank_stats *stats = &t->stats;
    char who[PEERS_TEXT_MAX] = "";

    const status result = micro_batch_advise(&t->micro, train_step(t, &rec, err), err);
    if (result == ERR_NUMERIC)
        return skip(t, err);
    TRY(result);
    TRY(count_skips(t, &rec, err));
    if (t->local.is_synced)
        TRY(peers_watch_odd(&t->peers, s->step, who, err));
    if (who[0])
        record_note(&t->record, "step %lld: %s", (long long)s->step, who);
    s->n_source += (uint64_t)rec.source_tokens;
    s->n_target += (uint64_t)rec.target_tokens;
    s->t_trained += rec.t_step;
    meter_look(&stats->meter);
    record_add(&stats->since, &rec);
    stats->is_due |= record_is_due(&t->record, s->step);
    if (stats->is_due && t->local.is_synced)
        TRY(rank_stats_gather(stats, t->peers.comm, &t->record, s->step, err));
    TRY(record_layers(&t->record, &t->layers, s->step, err));
    return record_update(&t->record, &rec, err);
}

/* ---- what the run stands on ---- */

bool trainer_has_lost(struct trainer *t)
{
    return dataset_check_has_failed(&t->data.check) || run_dir_is_lost(&t->peers.dir);
}

/* Whole data, and a directory that is still its own: what one rank has lost ends the run
 * of all. With `waits` all of the data is read before. */
static status check_ground(struct trainer *t, bool waits, struct err *err)
{
    struct peers *p = &t->peers;
    const bool has_lost = trainer_has_lost(t);
    status mine = OK;

    if (!waits && !(p->comm->size == 1 ? has_lost : p->sum.n_lost > 0))
        return OK;
    if (waits || dataset_check_has_failed(&t->data.check))
        mine = dataset_check_finish(&t->data.check, err);
    THEN(mine, run_dir_check(&p->dir, err));
    return peers_agree(p, mine, err);
}

/* ---- the loop ---- */

static bool is_over(const struct trainer *t)
{
    const struct train_config *c = &t->config;

    return t->state.step >= c->max_steps || t->is_patience_used || t->is_signalled ||
           (c->max_epochs && t->state.cursor.epoch >= (uint64_t)c->max_epochs);
}

/* A signal to any rank stops all of them after the same update. */
static void check_signal(struct trainer *t)
{
    t->is_signalled =
        t->peers.comm->size == 1 ? trainer_is_to_stop() : t->peers.sum.n_stop > 0;
}

static status loop(struct trainer *t, struct err *err)
{
    const struct train_config *c = &t->config;

    for (check_signal(t); !is_over(t); check_signal(t)) {
        const int64_t before = t->state.step;
        TRY(update(t, err));
        TRY(check_ground(t, false, err));
        TRY(saving_poll(&t->saving, err));
        if (is_due(t, c->replica_check_every) && t->local.is_synced)
            TRY(peers_compare(&t->peers, &t->device, t->model.flat, t->state.step, err));
        if (t->state.step == before)
            continue; /* skipped */
        if (is_due(t, c->eval_every))
            TRY(validation_run(t, err));
        if (is_due(t, c->save_every))
            saving_want(&t->saving);
        TRY(saving_begin(&t->saving, err));
    }
    return OK;
}

static const char *reason_of(const struct trainer *t, const char **message)
{
    if (t->is_signalled) {
        *message = "stopped by a signal, saved";
        return "signal";
    }
    if (t->is_patience_used) {
        *message = "stopped early: no better evaluation within patience";
        return "early_stop";
    }
    *message = "finished";
    return t->state.step >= t->config.max_steps ? "max_steps" : "max_epochs";
}

/* The log covers every update when the run stops. */
static status log_rest(struct trainer *t, struct err *err)
{
    if (!record_has_rest(&t->record))
        return OK;
    if (t->stats.since.steps > 0)
        TRY(rank_stats_gather(&t->stats, t->peers.comm, &t->record, t->state.step, err));
    return record_rest(&t->record, err);
}

/* The last evaluation and the last checkpoint; a signal leaves time for the latter. */
static status finish(struct trainer *t, struct err *err)
{
    const char *message, *reason = reason_of(t, &message);

    TRY(check_ground(t, true, err));
    TRY(log_rest(t, err));
    if (!t->is_signalled && t->state.step > 0)
        TRY(validation_run(t, err));
    TRY(saving_finish(&t->saving, !t->is_signalled, err));
    TRY(record_stop(&t->record, t->state.step, reason, message, err));
    if (t->is_signalled)
        record_note(&t->record, "the same command continues from there");
    return OK;
}

static status run(struct trainer *t, struct err *err)
{
    TRY(setup_run(t, err));
    if (!t->saving.is_resumed)
        TRY(saving_finish(&t->saving, true, err));
    if (t->saving.is_resumed)
        t->evaluated_at = t->state.step; /* by those who made that step */
    validation_patience(t); /* a run that had stopped stays so until patience grows */
    t->record.t_begin = clock_now();
    meter_start(&t->stats.meter, "/sys/class/net", &t->device);
    status result = loop(t, err);
    THEN(result, finish(t, err));
    if (result == OK)
        return OK;
    struct err second; /* the first failure is the one to report */
    if (record_rest(&t->record, &second) != OK)
        record_note(&t->record, "%s", second.msg);
    if (record_stop(&t->record, t->state.step, "error", err->msg, &second) != OK)
        record_note(&t->record, "%s", second.msg);
    return result;
}

status train_run(const struct train_config *config, struct train_host *host,
                 struct err *err)
{
    struct trainer *t;

    host->is_agreed = true; /* all ranks have these options and this much memory */
    TRY(train_config_check(config, err));
    TRY(mem_alloc(&t, 1, sizeof *t, err));
    listen_to_signals();
    status result = setup_open(t, config, host, err);
    THEN(result, run(t, err));
    forget_signals();
    struct err closing = {0};
    host->is_agreed = t->peers.is_agreed || host->comm->size == 1;
    if (setup_close(t, &closing) != OK && result == OK)
        result = err_set(err, closing.code, "%s", closing.msg);
    free(t);
    return result;
}
