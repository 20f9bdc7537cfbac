#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "corpus/dataset.h"
#include "decode/model_dir.h"
#include "format/tf/checkpoint_dir.h"
#include "train/run/training_data.h"
#include "train/save/donor.h"
#include "train/save/saving.h"
#include "train/update/moving_average.h"

static status run_path(const struct saving *s, char *path, const char *name,
                       struct err *err)
{
    return file_join(path, FILE_PATH_MAX, s->config->run, name, err);
}

/* What a rank finds in its run directory: 0 or 1 each. */
struct found {
    double is_there, was_direct, was_grid;
};

/* A run directory that holds a checkpoint resumes, with the options it began with. */
static status check_options(struct saving *s, struct found *found, struct err *err)
{
    struct train_config *old;

    *found = (struct found){0};
    if (!s->peers->dir.is_writer)
        return OK;
    if (!checkpoint_dir_has_any(s->config->run))
        return OK;
    found->is_there = 1;
    TRY(train_config_read(&old, s->config->run, err));
    const status result = old ? train_config_same(old, s->config, err) : OK;
    found->was_direct = old && strcmp(old->exchange, "direct") == 0;
    found->was_grid = old && strcmp(old->exchange, "grid") == 0;
    free(old);
    return result;
}

status resume_find(struct saving *s, struct err *err)
{
    struct found found;

    TRY(peers_agree(s->peers, check_options(s, &found, err), err));
    TRY(comm_allreduce(s->peers->comm, COMM_MAX, &found.is_there, 3, err));
    s->is_resumed = found.is_there > 0;
    s->was_direct = found.was_direct > 0;
    s->was_grid = found.was_grid > 0;
    return OK;
}

/* ---- fresh ---- */

/* Names of tensors count sets, so that those of other sets would be taken. */
static status refuse_tying(const struct tying *t, struct err *err)
{
    return err_set(err, ERR_USAGE,
                   "its layers share weights otherwise; train it with "
                   "unique_encoder_layers=%lld unique_decoder_layers=%lld layer_order=%s",
                   (long long)t->unique_encoder_layers,
                   (long long)t->unique_decoder_layers, t->layer_order);
}

/* Weights of another model of the same shape; its optimizer state stays behind. */
static status take_weights(struct saving *s, const struct dataset *data, struct err *err)
{
    struct model_dir from;

    if (donor_is(s->config->init_from)) {
        const char *note = "";
        TRY(donor_take(s->parts.model, s->config->init_from, data, &note, err));
        if (*note)
            progress_note(&s->record->console, note);
        return OK;
    }
    status result = model_dir_open(&from, s->config->init_from, "last", err);
    if (result == OK && *from.note)
        progress_note(&s->record->console, from.note);
    if (result == OK && !tying_same(&from.config.tying, &s->parts.model->config.tying))
        result = refuse_tying(&from.config.tying, err);
    THEN(result, model_dir_load_weights(s->parts.model, &from, true, err));
    model_dir_close(&from);
    return result == OK ? OK : err_wrap(err, "init_from");
}

static status draw_weights(struct saving *s, struct err *err)
{
    struct model *m = s->parts.model;
    float *flat;

    TRY(mem_alloc(&flat, m->params.n_flat, sizeof *flat, err));
    params_init(&m->params, (uint64_t)s->config->seed, flat);
    const status result = model_set_weights(m, flat, err);
    free(flat);
    return result;
}

/* Every rank draws the same numbers; another model's weights are read by the first. */
static status begin_fresh(struct saving *s, const struct dataset *data, struct err *err)
{
    const bool takes = *s->config->init_from;
    const struct model *m = s->parts.model;

    status mine = draw_weights(s, err);
    if (mine == OK && takes && s->peers->comm->rank == 0)
        mine = take_weights(s, data, err);
    TRY(peers_agree(s->peers, mine, err));
    if (takes && s->peers->comm->size > 1)
        TRY(peers_broadcast(s->peers, m->device, m->flat, 0, err));
    return OK;
}

/* ---- resumed ---- */

/* The checkpoint must belong to this data, or its position in the order means nothing. */
static status check_data(const struct saving *s, const struct dataset *data,
                         struct err *err)
{
    const struct train_config *c = s->config;
    struct state *state = s->state;
    char how[100], before[TRAINING_DATA_BEFORE];

    if (state->tokenizer_hash != data->tokenizer_hash)
        return training_data_refuse_vocabulary(c, err);
    if (state->corpus_pairs != data->train.n_pairs)
        snprintf(how, sizeof how, "%u pairs, not %llu", data->train.n_pairs,
                 (unsigned long long)state->corpus_pairs);
    else
        snprintf(how, sizeof how, "checksum %016llx, not %016llx",
                 (unsigned long long)data->train.checksum,
                 (unsigned long long)state->train_hash);
    if (state->corpus_pairs != data->train.n_pairs ||
        (state->train_hash && state->train_hash != data->train.checksum))
        return err_set(err, ERR_USAGE,
                       "%s/train.bin%s is not the corpus that this run is trained on%s: "
                       "%s; resume with that one, or take the weights to this one in "
                       "another run directory with init_from=%s",
                       c->data, *c->also_data ? " with also_data" : "",
                       training_data_before(before, c), how, c->run);
    state->train_hash = data->train.checksum;
    return OK;
}

/* From the rank that has read it to all. */
static status send_all(struct saving *s, const struct checkpoint *parts, int from,
                       struct err *err)
{
    const struct optim *o = parts->optim;

    if (s->peers->comm->size == 1)
        return OK;
    for (int i = 0; i < CHECKPOINT_N_PARTS; i++)
        if (parts->part[i].mem)
            TRY(peers_broadcast(s->peers, o->device, parts->part[i], from, err));
    if (!o->norms)
        return OK;
    return comm_bcast(s->peers->comm, o->norms, o->params->n_list * sizeof *o->norms,
                      from, err);
}

/* The checkpoints of this rank's directory. */
struct candidates {
    struct checkpoint_dir list;
    size_t n_tried;
    struct err why; /* there are none, although there is a file */
};

/* The next to try; NULL when none is left. */
static const char *next(const struct candidates *c)
{
    return c->n_tried < c->list.n ? c->list.name[c->n_tried] : NULL;
}

/* A directory that cannot be read has nothing: another rank may have what it lacks. */
static void list_candidates(struct candidates *c, const struct saving *s)
{
    if (!s->peers->dir.is_writer ||
        checkpoint_dir_list(&c->list, s->config->run, &c->why) != OK)
        return;
    if (*c->list.note && c->list.n)
        record_note(s->record, "%s; resuming from what is there, the newest first",
                    c->list.note);
}

/* Of the checkpoints that ranks would try next, which rank has the newest, the first of
 * equals; -1 when none is left. */
static status choose_rank(struct saving *s, const struct candidates *c, int *rank,
                          struct err *err)
{
    enum { NONE = -2 };
    struct comm *comm = s->peers->comm;
    const char *name = next(c);
    const int64_t mine = name ? checkpoint_dir_step(name) : NONE;
    int64_t *all, best = NONE;

    TRY(mem_alloc(&all, (size_t)comm->size, sizeof *all, err));
    const status result = comm_allgather(comm, all, &mine, sizeof mine, err);
    *rank = -1;
    for (int r = 0; result == OK && r < comm->size; r++)
        if (all[r] > best) {
            best = all[r];
            *rank = r;
        }
    free(all);
    return result;
}

/* What the rank that has a checkpoint tells the others about it. */
struct verdict {
    enum checkpoint_kind kind;
    struct state state;
    struct err failure;
};

static status read_next(struct saving *s, const struct checkpoint *parts,
                        struct candidates *c, struct verdict *v, struct err *err)
{
    const char *name = next(c);
    char prefix[FILE_PATH_MAX];

    BUG_ON(!name);
    c->n_tried++;
    TRY(run_path(s, prefix, name, err));
    return checkpoint_read(parts, &v->state, prefix, &v->kind, err);
}

/* Read by one rank, and known to all whether it is whole. */
static status try_rank(struct saving *s, const struct checkpoint *parts, int rank,
                       struct candidates *c, struct verdict *v, struct err *err)
{
    struct comm *comm = s->peers->comm;
    char name[COMM_NAME_MAX];

    *v = (struct verdict){0};
    if (rank == comm->rank && read_next(s, parts, c, v, &v->failure) != OK &&
        comm->size > 1)
        (void)err_wrap(&v->failure, "%s", comm_name(comm, rank, name));
    return comm_bcast(comm, v, sizeof *v, rank, err);
}

static status load_newest(struct saving *s, const struct checkpoint *parts,
                          struct candidates *c, enum checkpoint_kind *kind,
                          struct err *err)
{
    struct verdict v;
    int rank;

    for (;;) {
        TRY(choose_rank(s, c, &rank, err));
        if (rank < 0)
            break;
        TRY(try_rank(s, parts, rank, c, &v, err));
        if (v.failure.code == OK) {
            *s->state = v.state;
            *kind = v.kind;
            return send_all(s, parts, rank, err);
        }
        if (v.failure.code == ERR_USAGE) { /* whole, but not for this program */
            s->peers->is_agreed = true;
            return err_set(err, ERR_USAGE, "%s", v.failure.msg);
        }
        progress_note(&s->record->console, v.failure.msg);
    }
    s->peers->is_agreed = true;
    return err_set(err, ERR_FORMAT,
                   "%s: no whole checkpoint is left to resume from%s%s; choose another "
                   "run directory",
                   s->config->run, *c->why.msg ? ": " : "", c->why.msg);
}

/* Shards are read whole, and each rank keeps its own of them. */
static status load_shards(struct saving *s, struct candidates *c,
                          enum checkpoint_kind *kind, struct err *err)
{
    struct optim *o = s->parts.optim;
    struct checkpoint parts = s->parts;
    struct mat *m = &parts.part[CHECKPOINT_M], *v = &parts.part[CHECKPOINT_V];

    *m = *v = (struct mat){0};
    status result = device_alloc_row(o->device, m, o->params->n_flat, err);
    THEN(result, device_alloc_row(o->device, v, o->params->n_flat, err));
    result = peers_agree(s->peers, result, err);
    THEN(result, load_newest(s, &parts, c, kind, err));
    if (result == OK) {
        reducer_pick(s->gradients->reducer, o->m.mem, m->mem);
        reducer_pick(s->gradients->reducer, o->v.mem, v->mem);
    }
    device_free(o->device, m->mem);
    device_free(o->device, v->mem);
    return result;
}

static status load(struct saving *s, struct candidates *c, enum checkpoint_kind *kind,
                   struct err *err)
{
    list_candidates(c, s);
    return s->parts.is_sharded ? load_shards(s, c, kind, err)
                               : load_newest(s, &s->parts, c, kind, err);
}

/* An older checkpoint than the newest was asked for, or had to be taken. */
static status set_aside(struct saving *s, struct err *err)
{
    char to[FILE_PATH_MAX];

    if (!s->peers->dir.is_writer)
        return OK;
    TRY(set_aside_newer(to, s->config->run, s->state->step, err));
    if (*to)
        record_note(s->record,
                    "training goes on from step %lld; the checkpoints beyond it were "
                    "moved to %s",
                    (long long)s->state->step, to);
    return OK;
}

/* Each rank takes up what it had of its own, if all of them can: otherwise none does. */
static status take_rests(struct saving *s, struct err *err)
{
    const struct rest r = saving_rest(s);
    const uint64_t number = s->state->rest;
    struct err why = {0};

    s->state->rest = 0;
    s->has_rests = number;
    rest_sweep(s->config->run, number ? s->state->step : -1); /* those of a killed stop */
    if (!number)
        return OK;
    status mine = rest_has_any(&r)
                      ? rest_read(&r, number, &why)
                      : err_set(&why, ERR_FORMAT, "ranks or options changed");
    if (comm_agree(s->peers->comm, mine, &why) == OK)
        return OK;
    s->peers->comm->fault = 0; /* training goes on */
    progress_note(&s->record->console, why.msg);
    progress_note(
        &s->record->console,
        "so what int8 had rounded off, or the moments of each node, is not taken "
        "up: the result will not be that of a run without the stop");
    if (r.residual)
        memset(r.residual, 0, r.n_residual * sizeof *r.residual);
    return saving_share(s, err); /* the first rank's are those of the checkpoint */
}

status resume_begin(struct saving *s, const struct dataset *data,
                    struct moving_average *average, struct err *err)
{
    enum checkpoint_kind kind = CHECKPOINT_FOREIGN;
    struct candidates c = {0};

    status result = s->is_resumed ? load(s, &c, &kind, err) : begin_fresh(s, data, err);
    checkpoint_dir_release(&c.list);
    TRY(result);
    if (kind == CHECKPOINT_OURS)
        TRY(peers_agree(s->peers, check_data(s, data, err), err));
    if (s->is_resumed) {
        s->saved_at = s->published_at = s->began_at = s->state->step;
        TRY(peers_agree(s->peers, set_aside(s, err), err));
    }
    if (kind == CHECKPOINT_OURS)
        return take_rests(s, err);
    rest_sweep(s->config->run, -1);
    if (s->is_resumed)
        progress_note(&s->record->console,
                      "the checkpoint was made by another tool: weights are taken, the "
                      "data begins a new epoch");
    moving_average_begin(average, s->parts.model->flat);
    s->state->corpus_pairs = data->train.n_pairs;
    s->state->train_hash = data->train.checksum;
    s->state->tokenizer_hash = data->tokenizer_hash;
    return OK;
}
