#include "train/trainer.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "train/begin.h"
#include "train/stop.h"

static bool is_due(const struct trainer *t, int64_t every)
{
    return every && t->state.step % every == 0;
}

/* A gradient that is not finite costs its update; too many in a row end the run. */
static status skip(struct trainer *t, struct err *err)
{
    struct state *s = &t->state;
    char reason[sizeof err->msg];

    memcpy(reason, err->msg, sizeof reason);
    s->n_skipped++;
    if (++s->skipped_in_a_row > t->config.skip_limit)
        return err_set(err, ERR_NUMERIC,
                       "step %lld: %lld updates in a row were not finite; lower "
                       "learning_rate or raise warmup_steps (%.300s)",
                       (long long)s->step + 1, (long long)s->skipped_in_a_row, reason);
    return record_skip(&t->record, s->step, reason, err);
}

static status update(struct trainer *t, struct err *err)
{
    struct record_step rec;
    struct state *s = &t->state;

    const status result = train_step(t, &rec, err);
    if (result == ERR_NUMERIC)
        return skip(t, err);
    if (result != OK)
        return result;
    s->skipped_in_a_row = 0;
    s->n_source += rec.n_source;
    s->n_target += rec.n_target;
    s->t_trained += rec.t_step;
    return record_update(&t->record, &rec, err);
}

static bool is_over(const struct trainer *t)
{
    const struct train_config *c = &t->config;

    return t->state.step >= c->max_steps || t->wants_stop || stop_requested() ||
           (c->max_epochs && t->state.cursor.epoch >= (uint64_t)c->max_epochs);
}

static status loop(struct trainer *t, struct err *err)
{
    while (!is_over(t)) {
        const int64_t before = t->state.step;
        TRY(update(t, err));
        TRY(train_save_poll(t, err));
        if (t->state.step == before)
            continue; /* skipped */
        if (is_due(t, t->config.eval_every))
            TRY(train_assess(t, err));
        if (is_due(t, t->config.save_every))
            train_save_want(t);
        TRY(train_save_begin(t, err));
    }
    return OK;
}

static const char *reason_of(const struct trainer *t, const char **message)
{
    if (stop_requested()) {
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

    if (!stop_requested() && t->state.step > 0)
        TRY(train_assess(t, err));
    TRY(train_save_last(t, err));
    return record_stop(&t->record, t->state.step, reason, message, err);
}

static status run(struct trainer *t, struct err *err)
{
    TRY(begin_run(t, err));
    if (!t->is_resumed)
        TRY(train_save_last(t, err));
    t->record.t_begin = clock_now();
    const status result = loop(t, err);
    if (result == OK)
        return finish(t, err);
    struct err second; /* the first failure is the one to report */
    if (record_stop(&t->record, t->state.step, "error", err->msg, &second) != OK)
        record_note(&t->record, "%s", second.msg);
    return result;
}

status train_run(const struct train_config *config, FILE *console, struct err *err)
{
    struct trainer *t;

    TRY(train_config_check(config, err));
    TRY(mem_alloc(&t, 1, sizeof *t, err));
    *t = (struct trainer){
        .config = *config, .run_lock = -1, .evaluated_at = -1, .saved_at = -1};
    stop_listen();
    status result = begin_open(t, console, err);
    if (result == OK)
        result = run(t, err);
    stop_forget();
    struct err closing = {0};
    if (begin_close(t, &closing) != OK && result == OK)
        result = err_set(err, closing.code, "%s", closing.msg);
    free(t);
    return result;
}
