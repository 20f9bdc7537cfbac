/*
 * Where a run begins: fresh, or from the newest checkpoint that is whole on any rank.
 *
 * Writers (run_dir.h) list what their directories hold; all ranks sort the lists alike,
 * and from the newest on, who has a checkpoint reads it and tells whether it is whole.
 * Then its tensors and state go to everybody, so that nothing depends on which disk a
 * rank sees, nor on how many ranks there were before. One rank alone does the same with
 * itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "decode/model_dir.h"
#include "dist/exchange/reducer.h"
#include "format/tf/tf_checkpoint.h"
#include "train/trainer.h"

static status run_path(const struct trainer *t, char *path, const char *name,
                       struct err *err)
{
    return file_join(path, FILE_PATH_MAX, t->config.run, name, err);
}

/* A run directory that holds a checkpoint resumes, with the options it began with. */
static status check_options(struct trainer *t, bool *is_there, struct err *err)
{
    char pointer[FILE_PATH_MAX], path[FILE_PATH_MAX];
    struct train_config *old;

    *is_there = false;
    if (!t->run_dir.is_writer)
        return OK;
    TRY(run_path(t, pointer, "checkpoint", err));
    TRY(run_path(t, path, "config.yaml", err));
    *is_there = file_exists(pointer);
    if (!*is_there || !file_exists(path))
        return OK;
    TRY(mem_alloc(&old, 1, sizeof *old, err));
    status result = opt_defaults(train_config_table, old, err);
    if (result == OK)
        result = opt_file(train_config_table, old, path, OPT_REFUSE_UNKNOWN, err);
    if (result == OK)
        result = train_config_same(old, &t->config, err);
    free(old);
    return result;
}

status train_resume_find(struct trainer *t, struct err *err)
{
    bool is_there;

    TRY(train_together(t, check_options(t, &is_there, err), err));
    return comm_any(t->comm, is_there, &t->is_resumed, err);
}

/* ---- from one rank to all ---- */

status train_resume_send(struct trainer *t, struct mat flat, int from, struct err *err)
{
    enum { PIECE = 4 << 20 };
    const size_t n = flat.cols;
    float *x;

    TRY(mem_alloc(&x, n < PIECE ? n : PIECE, sizeof *x, err));
    status result = OK;
    for (size_t at = 0; result == OK && at < n; at += PIECE) {
        const size_t k = n - at < PIECE ? n - at : PIECE;
        const struct mat part = mat_cols(flat, at, k);
        device_download(&t->device, x, part);
        result = comm_bcast(t->comm, x, k * sizeof *x, from, err);
        if (result == OK)
            device_upload(&t->device, part, x);
    }
    free(x);
    return result;
}

static status send_all(struct trainer *t, const struct checkpoint *parts, int from,
                       struct err *err)
{
    if (t->comm->size == 1)
        return OK;
    for (int i = 0; i < CHECKPOINT_N_PARTS; i++) {
        const struct mat flat = checkpoint_part(parts, (enum checkpoint_part)i);
        if (flat.mem)
            TRY(train_resume_send(t, flat, from, err));
    }
    if (!t->optim.norms)
        return OK;
    return comm_bcast(t->comm, t->optim.norms,
                      t->model.params.n_list * sizeof *t->optim.norms, from, err);
}

/* ---- fresh ---- */

/* Weights of another model of the same shape; its optimizer state stays behind. */
static status take_weights(struct trainer *t, struct err *err)
{
    struct model_dir from;

    status result = model_dir_open(&from, t->config.init_from, "last", err);
    if (result == OK)
        result = model_dir_load_weights(&t->model, from.prefix, true, err);
    model_dir_close(&from);
    return result == OK ? OK : err_wrap(err, "init_from");
}

static status draw_weights(struct trainer *t, struct err *err)
{
    float *flat;

    TRY(mem_alloc(&flat, t->model.params.n_flat, sizeof *flat, err));
    params_init(&t->model.params, (uint64_t)t->config.seed, flat);
    const status result = model_set_weights(&t->model, flat, err);
    free(flat);
    return result;
}

/* The average starts as the weights are. */
static void begin_average(struct trainer *t)
{
    if (t->average.mem)
        t->device.k->average(&t->device, t->average, t->model.flat, 0);
}

static void note_data(struct trainer *t)
{
    t->state.corpus_pairs = t->data.train.n_pairs;
    t->state.tokenizer_hash = t->data.tokenizer_hash;
}

/* Every rank draws the same numbers; another model's weights are read by the first. */
static status begin_fresh(struct trainer *t, struct err *err)
{
    const bool takes = *t->config.init_from;

    status mine = draw_weights(t, err);
    if (mine == OK && takes && t->comm->rank == 0)
        mine = take_weights(t, err);
    TRY(train_together(t, mine, err));
    if (takes && t->comm->size > 1)
        TRY(train_resume_send(t, t->model.flat, 0, err));
    begin_average(t);
    note_data(t);
    return OK;
}

/* ---- resumed ---- */

/* The checkpoint must belong to this data, or its place in the order means nothing. */
static status check_data(const struct trainer *t, struct err *err)
{
    const struct state *s = &t->state;

    if (s->corpus_pairs != t->data.train.n_pairs)
        return err_set(err, ERR_USAGE,
                       "this run began on a corpus of %llu pairs, %s has %u; resume with "
                       "the same data",
                       (unsigned long long)s->corpus_pairs, t->config.data,
                       t->data.train.n_pairs);
    if (s->tokenizer_hash != t->data.tokenizer_hash)
        return err_set(err, ERR_USAGE,
                       "the tokenizer of %s is not the one that this run began with",
                       t->config.data);
    return OK;
}

static status adopt(struct trainer *t, enum checkpoint_kind kind, struct err *err)
{
    t->saved_at = t->state.step;
    if (kind == CHECKPOINT_OURS)
        return train_together(t, check_data(t, err), err);
    progress_note(&t->record.console, "the checkpoint was made by another tool: weights "
                                      "are taken, the data begins a new epoch");
    begin_average(t);
    note_data(t);
    return OK;
}

/* A checkpoint that some rank could read. */
struct candidate {
    int rank;
    size_t place; /* in that rank's list */
    int64_t step; /* the number that its name ends with; -1: none */
    const char *name;
};

/* Newest first. Names without a number keep their order, behind the others. */
static int newer_first(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->step != y->step)
        return x->step > y->step ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->place < y->place) - (x->place > y->place);
}

static int64_t step_of(const char *name)
{
    const char *dash = strrchr(name, '-');
    char *end = NULL;
    const long long n = dash ? strtoll(dash + 1, &end, 10) : -1;

    return end && end > dash + 1 && *end == '\0' ? n : -1;
}

/* The names of this rank's pointer file, a line each. A file that cannot be read lists
 * nothing: another rank may have what it lacks. */
static void list_mine(const struct trainer *t, struct str *names, struct err *why)
{
    struct tf_checkpoint list;
    char path[FILE_PATH_MAX];

    if (!t->run_dir.is_writer || run_path(t, path, "checkpoint", why) != OK ||
        !file_exists(path) || tf_checkpoint_read(&list, path, why) != OK)
        return;
    for (size_t i = 0; i < list.n; i++) {
        str_puts(names, list.all[i]);
        str_putc(names, '\n');
    }
    tf_checkpoint_release(&list);
}

/* Cut the lines of all ranks into candidates; n_each: bytes of each rank. */
static status list_all(struct candidate **out, size_t *n, struct str *names,
                       const size_t *n_each, const struct comm *c, struct err *err)
{
    size_t cap = 0, at = 0;

    *out = NULL;
    *n = 0;
    for (int r = 0; r < c->size; r++) {
        const size_t end = at + n_each[r];
        for (size_t place = 0; at < end; place++) {
            char *name = names->data + at, *stop = strchr(name, '\n');
            BUG_ON(!stop);
            *stop = '\0';
            TRY(mem_grow(out, &cap, *n + 1, sizeof **out, err));
            (*out)[(*n)++] = (struct candidate){r, place, step_of(name), name};
            at += strlen(name) + 1;
        }
    }
    qsort(*out, *n, sizeof **out, newer_first);
    return OK;
}

/* What the rank that has a checkpoint tells the others about it. */
struct verdict {
    enum checkpoint_kind kind;
    struct state state;
    struct err failure;
};

static status read_prefix(struct trainer *t, const struct checkpoint *parts,
                          const char *name, struct verdict *v, struct err *err)
{
    char prefix[FILE_PATH_MAX];

    if (name[0] == '/')
        snprintf(prefix, sizeof prefix, "%s", name);
    else
        TRY(run_path(t, prefix, name, err));
    return checkpoint_read(parts, &v->state, prefix, &v->kind, err);
}

/* Read by one rank, and known to all whether it is whole. */
static status try_candidate(struct trainer *t, const struct checkpoint *parts,
                            const struct candidate *c, struct verdict *v, struct err *err)
{
    char name[RANKS_NAME_MAX];

    *v = (struct verdict){0};
    if (c->rank == t->comm->rank &&
        read_prefix(t, parts, c->name, v, &v->failure) != OK && t->comm->size > 1)
        (void)err_wrap(&v->failure, "%s", ranks_name(t->comm, c->rank, name));
    return comm_bcast(t->comm, v, sizeof *v, c->rank, err);
}

static status try_all(struct trainer *t, const struct checkpoint *parts,
                      const struct candidate *list, size_t n, const char *why,
                      struct err *err)
{
    struct verdict v;

    for (size_t i = 0; i < n; i++) {
        TRY(try_candidate(t, parts, &list[i], &v, err));
        if (v.failure.code == OK) {
            t->state = v.state;
            TRY(send_all(t, parts, list[i].rank, err));
            return adopt(t, v.kind, err);
        }
        progress_note(&t->record.console, v.failure.msg);
    }
    t->is_agreed = true;
    return err_set(err, ERR_FORMAT,
                   "%s: no whole checkpoint is left to resume from%s%s; choose another "
                   "run directory",
                   t->config.run, *why ? ": " : "", why);
}

/* Shards are read whole, and each rank keeps its own of them. */
static status begin_resumed(struct trainer *t, const struct candidate *list, size_t n,
                            const char *why, struct err *err)
{
    const size_t n_flat = t->model.params.n_flat;
    struct checkpoint parts = train_save_parts(t);
    void *m = NULL, *v = NULL;

    if (!t->shards)
        return try_all(t, &parts, list, n, why, err);
    status result = device_alloc(&t->device, &m, n_flat * sizeof(float), err);
    if (result == OK)
        result = device_alloc(&t->device, &v, n_flat * sizeof(float), err);
    result = train_together(t, result, err);
    parts.whole_m = (struct mat){m, 0, 1, n_flat, n_flat};
    parts.whole_v = (struct mat){v, 0, 1, n_flat, n_flat};
    if (result == OK)
        result = try_all(t, &parts, list, n, why, err);
    if (result == OK) {
        reducer_pick(t->reducer, t->optim.m.mem, m);
        reducer_pick(t->reducer, t->optim.v.mem, v);
    }
    device_free(&t->device, m);
    device_free(&t->device, v);
    return result;
}

static status find_and_read(struct trainer *t, struct err *err)
{
    struct str mine = str_new(1 << 20), names = str_new(1 << 24);
    struct candidate *list = NULL;
    struct err why = {0};
    size_t n = 0, *n_each = NULL;

    list_mine(t, &mine, &why);
    status result = str_check(&mine, "the list of checkpoints", err);
    if (result == OK)
        result = mem_alloc(&n_each, (size_t)t->comm->size, sizeof *n_each, err);
    if (result == OK)
        result = comm_gather(t->comm, &names, n_each, mine.data, mine.len, 0, err);
    uint64_t length = names.len;
    if (result == OK)
        result = comm_bcast(t->comm, &length, sizeof length, 0, err);
    while (result == OK && names.len < length && !names.bad)
        str_putc(&names, ' '); /* room for what the first rank has */
    if (result == OK)
        result =
            train_together(t, str_check(&names, "the list of checkpoints", err), err);
    if (result == OK)
        result = comm_bcast(t->comm, names.data, length, 0, err);
    if (result == OK)
        result = list_all(&list, &n, &names, n_each, t->comm, err);
    if (result == OK)
        result = begin_resumed(t, list, n, why.msg, err);
    free(list);
    free(n_each);
    str_release(&mine);
    str_release(&names);
    return result;
}

status train_resume(struct trainer *t, struct err *err)
{
    TRY(t->is_resumed ? find_and_read(t, err) : begin_fresh(t, err));
    t->is_synced = true;
    t->met_at = t->state.step; /* checkpoints are made at meetings */
    if (!train_is_local(t))
        return OK;
    return train_together(t, local_sgd_begin(&t->local, t->model.flat, err), err);
}
