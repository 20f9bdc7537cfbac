#include "train/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "train/begin.h"
#include "train/evaluate.h"
#include "train/stop.h"

static struct checkpoint parts_of(struct trainer *t)
{
    return (struct checkpoint){&t->model, &t->optim, t->average};
}

/* ---- saving ---- */

static status save_as(struct trainer *t, const char *dir, const char *name, size_t keep,
                      uint64_t *n_bytes, struct err *err)
{
    const struct checkpoint parts = parts_of(t);
    char prefix[FILE_PATH_MAX];

    TRY(file_join(prefix, sizeof prefix, dir, name, err));
    TRY(checkpoint_write(&parts, &t->state, prefix, n_bytes, err));
    return checkpoint_publish(dir, name, keep, err);
}

static status save(struct trainer *t, struct err *err)
{
    const double t_start = clock_now();
    uint64_t n_bytes = 0;
    char name[64];

    if (t->saved_at == t->state.step)
        return OK;
    snprintf(name, sizeof name, "model.ckpt-%lld", (long long)t->state.step);
    TRY(save_as(t, t->config.run, name, (size_t)t->config.keep_last, &n_bytes, err));
    t->saved_at = t->state.step;
    return record_saved(&t->record, t->state.step, name, n_bytes, clock_now() - t_start,
                        err);
}

/* A full disk stops a write, not the run: the last whole checkpoint is still there. */
static void save_or_say(struct trainer *t)
{
    struct err err = {0};

    if (save(t, &err) != OK)
        record_note(&t->record, "not saved, training goes on: %s", err.msg);
}

/* ---- evaluation ---- */

/*
 * Exchange the weights with their average, for an evaluation and back again. The bytes
 * go through the host in pieces, so that no third copy of the weights is needed.
 */
static status swap_average(struct trainer *t, struct err *err)
{
    enum { PIECE = 1 << 20 };
    const size_t n = t->model.flat.cols, bytes = t->device.real_bytes;
    char *a;

    if (!t->average.mem)
        return OK;
    TRY(mem_alloc(&a, (size_t)2 * PIECE, bytes, err));
    for (size_t at = 0; at < n; at += PIECE) {
        const size_t k = n - at < PIECE ? n - at : PIECE;
        const struct mat w = mat_cols(t->model.flat, at, k);
        const struct mat v = mat_cols(t->average, at, k);
        device_download(&t->device, a, w);
        device_download(&t->device, a + PIECE * bytes, v);
        device_upload(&t->device, w, a + PIECE * bytes);
        device_upload(&t->device, v, a);
    }
    free(a);
    return OK;
}

static status show_samples(struct trainer *t, const struct translations *out,
                           struct err *err)
{
    const struct dataset_set *set = &t->data.valid;

    for (size_t i = 0; i < out->n_lines && i < (size_t)t->config.eval_samples; i++) {
        char source[1024], reference[1024];
        snprintf(source, sizeof source, "%.*s", (int)set->source.line[i].n_bytes,
                 set->source.line[i].text);
        snprintf(reference, sizeof reference, "%.*s", (int)set->target.line[i].n_bytes,
                 set->target.line[i].text);
        TRY(record_sample(&t->record, t->state.step, source, reference,
                          translations_text(out, i, 0), err));
    }
    return OK;
}

static status measure(struct trainer *t, struct evaluate_result *r, struct err *err)
{
    const struct train_config *c = &t->config;
    const struct evaluate_options o = {.smooth = c->label_smoothing,
                                       .batch_tokens = (size_t)c->eval_tokens,
                                       .max_length = EVALUATE_LENGTH,
                                       .group = (size_t)c->eval_group,
                                       .bleu_pairs = (size_t)c->eval_bleu_pairs};
    struct translations out = {0};

    status result = evaluate_loss(r, &t->model, &t->data.valid, &o, err);
    if (result == OK && c->eval_bleu)
        result = evaluate_bleu(r, &out, &t->translator, &t->data.valid, &o, err);
    if (result == OK)
        result = show_samples(t, &out, err);
    translations_release(&out);
    return result;
}

static status save_best(struct trainer *t, bool by_bleu, struct err *err)
{
    const struct state *s = &t->state;
    char dir[FILE_PATH_MAX], name[80];
    uint64_t n_bytes;

    TRY(file_join(dir, sizeof dir, t->config.run, "best_models", err));
    TRY(file_make_dirs(dir, err));
    snprintf(name, sizeof name,
             by_bleu ? "bleu=%.2f-step-%lld" : "val_loss=%.4f-step-%lld", s->best,
             (long long)s->step);
    TRY(save_as(t, dir, name, (size_t)t->config.keep_best, &n_bytes, err));
    return record_best(&t->record, s->step, name, s->best, err);
}

/* Best so far? Then keep this checkpoint among the best. */
static void judge(struct trainer *t, const struct evaluate_result *r)
{
    const bool by_bleu = strcmp(t->config.best_metric, "bleu") == 0;
    const double value = by_bleu ? r->bleu : r->valid_loss;
    struct state *s = &t->state;
    struct err err = {0};

    const bool is_best = isfinite(value) &&
                         (!s->has_best || (by_bleu ? value > s->best : value < s->best));
    s->evals_since_best = is_best ? 0 : s->evals_since_best + 1;
    t->wants_stop = t->config.patience && s->evals_since_best >= t->config.patience;
    if (!is_best)
        return;
    s->has_best = true;
    s->best = value;
    s->best_step = s->step;
    if (t->config.keep_best && save_best(t, by_bleu, &err) != OK)
        record_note(&t->record, "best model not saved, training goes on: %s", err.msg);
}

static status evaluate(struct trainer *t, struct err *err)
{
    const double t_start = clock_now();
    struct evaluate_result r = {0};

    if (!t->data.valid.is_there || t->evaluated_at == t->state.step)
        return OK;
    t->evaluated_at = t->state.step;
    record_evaluating(&t->record);
    TRY(swap_average(t, err));
    const status measured = measure(t, &r, err);
    struct err ignored;
    if (swap_average(t, measured == OK ? err : &ignored) != OK || measured != OK)
        return measured == OK ? err->code : measured;
    struct record_eval e = {.step = t->state.step,
                            .valid_loss = r.valid_loss,
                            .eval_loss = r.eval_loss,
                            .forced_bleu = r.forced_bleu,
                            .has_bleu = r.has_bleu,
                            .bleu = r.bleu,
                            .seconds = clock_now() - t_start};
    memcpy(e.signature, r.signature, sizeof e.signature);
    TRY(record_evaluated(&t->record, &e, err));
    judge(t, &r);
    return OK;
}

/* ---- the loop ---- */

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
        if (t->state.step == before)
            continue; /* skipped */
        if (is_due(t, t->config.eval_every))
            TRY(evaluate(t, err));
        if (is_due(t, t->config.save_every))
            save_or_say(t);
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
        TRY(evaluate(t, err));
    TRY(save(t, err));
    return record_stop(&t->record, t->state.step, reason, message, err);
}

static status run(struct trainer *t, struct err *err)
{
    TRY(begin_run(t, err));
    if (!t->is_resumed)
        TRY(save(t, err));
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
