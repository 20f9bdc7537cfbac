#include "train/save/saving.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"

status saving_open(struct saving *s, bool has_room, struct err *err)
{
    const struct saver_options options = {.in_background =
                                              has_room || s->parts.is_sharded,
                                          .waits = s->peers->comm->size > 1,
                                          .dir = &s->peers->dir};

    s->failed_rank = -1;
    if (!s->peers->dir.is_writer)
        return OK;
    if (!options.in_background)
        record_note(s->record,
                    "no memory for a copy of the run (%.0f MiB): training will stand "
                    "still while checkpoints are written",
                    (double)saver_copy_bytes(&s->parts) / 1048576);
    return saver_open(&s->saver, &s->parts, options, err);
}

/* ---- what is wanted ---- */

static struct saver_target *add_target(struct saving *s, const char *dir,
                                       const char *kind, int64_t keep)
{
    struct saver_target *target = &s->wanted[s->n_wanted++];

    BUG_ON(s->n_wanted > SAVER_TARGETS);
    *target = (struct saver_target){
        .shelf = {.kind = kind, .keep = (size_t)keep, .is_pointed = true}};
    snprintf(target->shelf.dir, sizeof target->shelf.dir, "%.900s%s", s->config->run,
             dir);
    return target;
}

void saving_want(struct saving *s)
{
    if (s->saved_at == s->state->step)
        return;
    struct saver_target *target = add_target(s, "", "model.ckpt-", s->config->keep_last);
    snprintf(target->name, sizeof target->name, "model.ckpt-%lld",
             (long long)s->state->step);
}

const char *saving_kind(const struct train_config *c)
{
    if (*c->best_set)
        return SAVING_BEST;
    if (strcmp(c->best_metric, "loss") == 0)
        return SAVING_BEST_LOSS;
    return strcmp(c->best_metric, "bleu") == 0 ? SAVING_BEST_BLEU : SAVING_BEST;
}

void saving_want_best(struct saving *s, const char *kind, double value)
{
    const int n_digits = strcmp(kind, SAVING_BEST_BLEU) == 0 ? 2 : 4;

    if (!s->config->keep_best)
        return;
    struct saver_target *target =
        add_target(s, "/best_models", kind, s->config->keep_best);
    target->shelf.is_pointed = strcmp(kind, saving_kind(s->config)) == 0;
    target->value = value;
    snprintf(target->name, sizeof target->name, "%s%.*f-step-%lld", kind, n_digits, value,
             (long long)s->state->step);
}

/* ---- what came of it ---- */

static bool is_best(const struct saver_target *target)
{
    return strncmp(target->name, "model.ckpt-", 11) != 0;
}

static status record_report(struct saving *s, const struct saver_report *r,
                            struct err *err)
{
    if (r->failure.code != OK) {
        record_note(s->record, "%s not saved, training goes on: %s",
                    is_best(&r->target) ? "best model" : "checkpoint", r->failure.msg);
        return OK;
    }
    if (is_best(&r->target))
        return record_best(s->record, r->step, r->target.name, r->target.value, err);
    s->published_at = r->step;
    const struct runlog_save save = {.step = (double)r->step,
                                     .path = r->target.name,
                                     .bytes = (double)r->n_bytes,
                                     .seconds = r->t_blocked,
                                     .total_seconds = r->t_total};
    return record_saved(s->record, save, err);
}

/* With `last`, a failure of the run's own checkpoint goes there instead of the log. */
static status take_reports(struct saving *s, struct err *last, struct err *err)
{
    struct saver_report r;
    status result = OK;

    if (!s->saver || saver_phase(s->saver) != SAVER_DONE)
        return OK;
    while (saver_take(s->saver, &r)) {
        if (last && !is_best(&r.target) && r.failure.code != OK)
            *last = r.failure;
        else if (result == OK)
            result = record_report(s, &r, err);
    }
    return result;
}

/* ---- several ranks ---- */

/* All writers have written. Only what is whole on every disk is published. */
static void decide(struct saving *s, int failed_rank)
{
    char why[160], name[COMM_NAME_MAX];

    s->is_under_way = false;
    s->failed_rank = failed_rank;
    if (failed_rank >= 0)
        snprintf(why, sizeof why, "%s could not write its copy; its log says why",
                 comm_name(s->peers->comm, failed_rank, name));
    /* a rank that was given up must not touch what its successor may be using */
    const bool is_current = !s->peers->control || control_is_current(s->peers->control);
    if (s->saver && is_current)
        saver_decide(s->saver, failed_rank < 0, failed_rank < 0 ? "" : why);
    else if (s->saver)
        saver_decide(s->saver, false, "this rank was given up by the watcher");
}

/* Saved is what every writer has published. Collective. */
static status agree_on_saved(struct saving *s, struct err *err)
{
    double at = s->saver ? (double)s->published_at : INFINITY;

    if (!s->is_unsettled)
        return OK;
    s->is_unsettled = false;
    TRY(comm_allreduce(s->peers->comm, COMM_MIN, &at, 1, err));
    s->saved_at = (int64_t)at;
    return OK;
}

/* Wait for the save under way. Collective. */
static status settle(struct saving *s, struct err *last, struct err *err)
{
    double failed = s->peers->comm->size;
    struct err first;

    if (s->saver)
        saver_wait(s->saver);
    if (s->is_under_way) {
        if (s->saver && !saver_is_whole(s->saver))
            failed = s->peers->comm->rank;
        TRY(comm_allreduce(s->peers->comm, COMM_MIN, &failed, 1, err));
        decide(s, failed < s->peers->comm->size ? (int)failed : -1);
    }
    if (s->saver)
        saver_wait(s->saver);
    const status mine = take_reports(s, last, &first);
    TRY(agree_on_saved(s, err));
    if (s->has_rests && s->saved_at > s->began_at) { /* on all disks */
        rest_sweep(s->config->run, s->saved_at);
        s->has_rests = false;
    }
    return mine == OK ? OK : err_set(err, mine, "%s", first.msg);
}

status saving_poll(struct saving *s, struct err *err)
{
    if (s->is_under_way && (int)s->peers->sum.n_written == s->peers->dir.n_writers)
        decide(s, ranks_failed_save(&s->peers->most));
    return take_reports(s, NULL, err);
}

/* Of a sharded optimizer, into the copy of the one rank that writes. */
static status gather_moments(struct saving *s, struct err *err)
{
    float *m = NULL, *v = NULL;

    if (!s->parts.is_sharded)
        return OK;
    if (s->saver) {
        m = saver_part(s->saver, CHECKPOINT_M);
        v = saver_part(s->saver, CHECKPOINT_V);
    }
    TRY(reducer_gather(s->gradients->reducer, s->parts.optim->m.mem, m, err));
    return reducer_gather(s->gradients->reducer, s->parts.optim->v.mem, v, err);
}

/* ---- what ranks have of their own ---- */

struct rest saving_rest(const struct saving *s)
{
    struct rest r = {.run = s->config->run, .comm = s->peers->comm, .state = s->state};

    if (s->gradients->reducer)
        r.residual = reducer_residual(s->gradients->reducer, &r.n_residual);
    if (local_sgd_is_on(s->local))
        r.optim = s->parts.optim;
    return r;
}

/* Those of this step, on all ranks; what the run began from may still be needed. */
static void drop_rests(struct saving *s, const char *why)
{
    s->state->rest = 0;
    rest_sweep(s->config->run, s->has_rests ? s->began_at : -1);
    record_note(s->record,
                "what the ranks have of their own was not saved, the run will not go on "
                "as if it had not stopped%s%s",
                *why ? ": " : "", why);
}

/* A rank that cannot write costs the same bytes, not the run. Collective. */
static status write_rests(struct saving *s, struct err *err)
{
    const struct rest r = saving_rest(s);
    uint64_t number = 0;
    struct err why = {0};

    if (!rest_has_any(&r))
        return OK;
    if (s->peers->comm->rank == 0 && getrandom(&number, sizeof number, 0) < 0)
        number = (uint64_t)(clock_wall() * 1e6);
    number |= 1; /* not 0 */
    TRY(comm_bcast(s->peers->comm, &number, sizeof number, 0, err));
    if (comm_agree(s->peers->comm, rest_write(&r, number, &why), &why) == OK)
        s->state->rest = number;
    else
        drop_rests(s, why.msg);
    s->peers->comm->fault = 0; /* training goes on */
    return OK;
}

/* At a save all nodes continue with the moments that are saved, so that a resumed run
 * equals an uninterrupted one. */
status saving_share(struct saving *s, struct err *err)
{
    const struct optim *o = s->parts.optim;

    if (!local_sgd_is_on(s->local))
        return OK;
    TRY(comm_bcast(s->peers->comm, s->state, sizeof *s->state, 0, err));
    TRY(peers_broadcast(s->peers, o->device, o->m, 0, err));
    if (o->v.mem)
        return peers_broadcast(s->peers, o->device, o->v, 0, err);
    return comm_bcast(s->peers->comm, o->norms, o->params->n_list * sizeof *o->norms, 0,
                      err);
}

/* What was wanted, without what this disk has already and another one lacks. */
static size_t list_targets(const struct saving *s, struct saver_target *list)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_wanted; i++)
        if (is_best(&s->wanted[i]) || s->published_at != s->state->step)
            list[n++] = s->wanted[i];
    return n;
}

/* One save at a time: this one waits for the one before. */
status saving_begin(struct saving *s, struct err *err)
{
    const double t_asked = clock_now();
    const struct model *m = s->parts.model;
    struct saver_target list[SAVER_TARGETS];

    if (!s->n_wanted)
        return OK;
    TRY(settle(s, NULL, err));
    peers_phase(s->peers, s->state->step, PHASE_SAVE);
    if (s->config->replica_check_every) /* a restart must not begin from wrong weights */
        TRY(peers_compare(s->peers, m->device, m->flat, s->state->step, err));
    TRY(gather_moments(s, err));
    TRY(saving_share(s, err));
    if (s->saver)
        saver_save(s->saver, s->state, list, list_targets(s, list), t_asked);
    s->is_under_way = s->peers->comm->size > 1;
    s->is_unsettled = true;
    s->peers->sum.n_written = 0;
    s->n_wanted = 0;
    return OK;
}

/* Is the run's checkpoint of this step on disk, everywhere? */
static status finish_last(struct saving *s, struct err *err)
{
    struct err failure = {0};

    TRY(settle(s, &failure, err));
    return failure.code == OK ? OK : err_set(err, failure.code, "%s", failure.msg);
}

/* The checkpoint matters more than the rests: without room for both it is saved alone. */
static status save_without_rests(struct saving *s, struct err *err)
{
    struct err failure = {0};

    TRY(settle(s, &failure, err));
    if (s->saved_at == s->state->step)
        return OK;
    drop_rests(s, failure.msg);
    saving_want(s);
    return saving_begin(s, err);
}

status saving_finish(struct saving *s, bool is_due, struct err *err)
{
    peers_phase(s->peers, s->state->step, PHASE_SAVE);
    TRY(settle(s, NULL, err));
    saving_want(s);
    if (!is_due && s->n_wanted)
        TRY(write_rests(s, err));
    TRY(saving_begin(s, err));
    if (s->state->rest)
        TRY(save_without_rests(s, err));
    const status result = peers_agree(s->peers, finish_last(s, err), err);
    if (result != OK && s->failed_rank >= 0) /* all writers fail when one does */
        s->peers->comm->fault = 1 + s->failed_rank;
    return result;
}

bool saving_has_written(const struct saving *s, bool *failed)
{
    const bool has =
        s->is_under_way && s->saver && saver_phase(s->saver) == SAVER_WRITTEN;

    *failed = has && !saver_is_whole(s->saver);
    return has;
}
