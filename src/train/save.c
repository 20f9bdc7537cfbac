/*
 * What to save, when, and what came of it. A full disk stops a write, not the run: the
 * last whole checkpoint is still there.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "dist/exchange/reducer.h"
#include "train/save/snapshot.h"
#include "train/trainer.h"

struct checkpoint train_save_parts(struct trainer *t)
{
    return (struct checkpoint){.model = &t->model,
                               .optim = &t->optim,
                               .average = t->average,
                               .outer = t->local.v,
                               .scale = t->state.scale,
                               .is_sharded = t->shards != NULL};
}

status train_save_open(struct trainer *t, struct err *err)
{
    const struct checkpoint parts = train_save_parts(t);
    const size_t n_bytes = snapshot_bytes(&parts);
    const bool in_background = t->shards || train_memory_fits(t, n_bytes);
    const struct saver_options options = {.in_background = in_background,
                                          .waits = t->comm->size > 1};

    if (!t->run_dir.is_writer)
        return OK;
    if (!options.in_background)
        record_note(&t->record,
                    "no memory for a copy of the run (%.0f MiB): training will stand "
                    "still while checkpoints are written",
                    (double)n_bytes / 1048576);
    return saver_open(&t->saver, &parts, options, err);
}

/* ---- what is wanted ---- */

static struct saver_target *add_target(struct trainer *t, const char *dir,
                                       const char *kind, int64_t keep)
{
    struct saver_target *target = &t->to_save[t->n_to_save++];

    BUG_ON(t->n_to_save > SAVER_TARGETS);
    *target = (struct saver_target){
        .shelf = {.kind = kind, .keep = (size_t)keep, .is_pointed = true}};
    snprintf(target->shelf.dir, sizeof target->shelf.dir, "%.900s%s", t->config.run, dir);
    return target;
}

void train_save_want(struct trainer *t)
{
    if (t->saved_at == t->state.step)
        return;
    struct saver_target *target = add_target(t, "", "model.ckpt-", t->config.keep_last);
    snprintf(target->name, sizeof target->name, "model.ckpt-%lld",
             (long long)t->state.step);
}

void train_save_want_best(struct trainer *t, bool by_bleu, double value)
{
    const char *kind = by_bleu ? "bleu=" : "val_loss=";

    if (!t->config.keep_best)
        return;
    struct saver_target *target =
        add_target(t, "/best_models", kind, t->config.keep_best);
    target->shelf.is_pointed = by_bleu == (strcmp(t->config.best_metric, "bleu") == 0);
    target->value = value;
    snprintf(target->name, sizeof target->name, "%s%.*f-step-%lld", kind, by_bleu ? 2 : 4,
             value, (long long)t->state.step);
}

/* ---- what came of it ---- */

static bool is_best(const struct saver_target *target)
{
    return strncmp(target->name, "model.ckpt-", 11) != 0;
}

static status record_report(struct trainer *t, const struct saver_report *r,
                            struct err *err)
{
    if (r->failure.code != OK) {
        record_note(&t->record, "%s not saved, training goes on: %s",
                    is_best(&r->target) ? "best model" : "checkpoint", r->failure.msg);
        return OK;
    }
    if (is_best(&r->target))
        return record_best(&t->record, r->step, r->target.name, r->target.value, err);
    if (t->comm->size == 1)
        t->saved_at = r->step; /* several ranks: decided together */
    const struct runlog_save save = {.step = (double)r->step,
                                     .path = r->target.name,
                                     .bytes = (double)r->n_bytes,
                                     .seconds = r->t_blocked,
                                     .total_seconds = r->t_total};
    return record_saved(&t->record, save, err);
}

/* Failures of the run's own checkpoint stay in *last for who must have it. */
static status take_reports(struct trainer *t, struct err *last, struct err *err)
{
    struct saver_report r;
    status result = OK;

    if (!t->saver || saver_phase(t->saver) != SAVER_DONE)
        return OK;
    while (saver_take(t->saver, &r)) {
        if (last && !is_best(&r.target) && r.failure.code != OK)
            *last = r.failure;
        else if (result == OK)
            result = record_report(t, &r, err);
    }
    return result;
}

static void wait_for_disk(struct trainer *t)
{
    if (t->saver)
        saver_wait(t->saver);
}

/* ---- several ranks ---- */

/* All writers have written. Only what is whole on every disk is published. */
static void decide(struct trainer *t, int failed_rank)
{
    char why[160], name[RANKS_NAME_MAX];

    t->is_saving = false;
    if (failed_rank < 0 && t->saving_own)
        t->saved_at = t->saving_step;
    if (failed_rank >= 0)
        snprintf(why, sizeof why, "%s could not write its copy; its log says why",
                 ranks_name(t->comm, failed_rank, name));
    /* a rank that was given up must not touch what its successor may be using */
    const bool is_current = !t->control || control_is_current(t->control);
    if (t->saver && is_current)
        saver_decide(t->saver, failed_rank < 0, failed_rank < 0 ? "" : why);
    else if (t->saver)
        saver_decide(t->saver, false, "this rank was given up by the watcher");
}

/* The same, waited for: a meeting of all ranks. */
static status settle(struct trainer *t, struct err *err)
{
    double failed = t->comm->size;

    if (!t->is_saving)
        return OK;
    wait_for_disk(t);
    if (t->saver && !saver_is_whole(t->saver))
        failed = t->comm->rank;
    TRY(comm_min(t->comm, &failed, 1, err));
    decide(t, failed < t->comm->size ? (int)failed : -1);
    return OK;
}

status train_save_poll(struct trainer *t, struct err *err)
{
    if (t->is_saving && (int)t->sum.n_written == t->run_dir.n_writers)
        decide(t, ranks_failed_save(t->comm, t->own));
    return take_reports(t, NULL, err);
}

/* Of a sharded optimizer, into the copy of the one rank that writes. */
static status gather_moments(struct trainer *t, struct err *err)
{
    float *m = NULL, *v = NULL;

    if (!t->shards)
        return OK;
    if (t->saver) {
        m = saver_part(t->saver, CHECKPOINT_M);
        v = saver_part(t->saver, CHECKPOINT_V);
    }
    TRY(reducer_gather(t->reducer, t->optim.m.mem, m, err));
    return reducer_gather(t->reducer, t->optim.v.mem, v, err);
}

/* Nodes that train alone have moments and a loss scale of their own; at a save all go on
 * with those that are saved, so that the run does not depend on whether it was
 * interrupted there. */
static status share_moments(struct trainer *t, struct err *err)
{
    if (!train_is_local(t))
        return OK;
    TRY(comm_bcast(t->comm, &t->state, sizeof t->state, 0, err));
    TRY(train_resume_send(t, t->optim.m, 0, err));
    if (t->optim.v.mem)
        return train_resume_send(t, t->optim.v, 0, err);
    return comm_bcast(t->comm, t->optim.norms,
                      t->model.params.n_list * sizeof *t->optim.norms, 0, err);
}

/* One save at a time: this one waits for the one before. */
status train_save_begin(struct trainer *t, struct err *err)
{
    const double t_asked = clock_now();

    if (!t->n_to_save)
        return OK;
    TRY(settle(t, err));
    wait_for_disk(t);
    TRY(take_reports(t, NULL, err));
    train_phase(t, PHASE_SAVE);
    if (t->config.replica_check_every)
        TRY(trainer_compare(t, err)); /* a restart must not begin from wrong weights */
    TRY(gather_moments(t, err));
    TRY(share_moments(t, err));
    if (t->saver)
        saver_save(t->saver, &t->state, t->to_save, t->n_to_save, t_asked);
    t->is_saving = t->comm->size > 1;
    t->saving_step = t->state.step;
    t->saving_own = false;
    for (size_t i = 0; i < t->n_to_save; i++)
        t->saving_own |= !is_best(&t->to_save[i]);
    t->sum.n_written = 0;
    t->n_to_save = 0;
    return OK;
}

/* Is the run's checkpoint of this step on disk, everywhere? */
static status finish_last(struct trainer *t, struct err *err)
{
    struct err failure = {0};

    TRY(settle(t, err));
    wait_for_disk(t);
    TRY(take_reports(t, &failure, err));
    if (failure.code == OK)
        return OK;
    t->saved_at = -1;
    return err_set(err, failure.code, "%s", failure.msg);
}

status train_save_last(struct trainer *t, struct err *err)
{
    train_phase(t, PHASE_SAVE);
    TRY(settle(t, err));
    wait_for_disk(t);
    TRY(take_reports(t, NULL, err));
    train_save_want(t);
    TRY(train_save_begin(t, err));
    return train_together(t, finish_last(t, err), err);
}
