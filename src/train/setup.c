#include "train/setup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "dist/exchange/reducer.h"
#include "train/log/roof.h"
#include "train/trainer.h"

/* ---- what must fit together ---- */

/* vocab_size may exceed the tokenizer's pieces: rows that no text uses. */
static status settle_vocabulary(struct trainer *t, struct err *err)
{
    struct model_config *m = &t->config.model;

    if (m->vocab_size == 0)
        m->vocab_size = t->data.vocab;
    if (m->vocab_size < (int64_t)t->data.vocab)
        return err_set(err, ERR_USAGE,
                       "vocab_size = %lld, but the tokenizer of %s has %u pieces; leave "
                       "vocab_size at 0 or raise it",
                       (long long)m->vocab_size, t->config.data, t->data.vocab);
    return model_config_check(m, err);
}

/* Every node may have a copy of the data of its own, and reads it once. */
static status settle_data(struct trainer *t, struct err *err)
{
    TRY(dataset_open(&t->data, t->config.data, err));
    if (t->config.verify_data && t->comm->local_rank == 0)
        TRY(dataset_check_start(&t->check, &t->data, err));
    TRY(settle_vocabulary(t, err));
    return spm_load(&t->spm, t->data.tokenizer, err);
}

static status run_path(const struct trainer *t, char *path, const char *name,
                       struct err *err)
{
    return file_join(path, FILE_PATH_MAX, t->config.run, name, err);
}

/* ---- opening ---- */

static status open_average(struct trainer *t, struct err *err)
{
    const size_t n = t->model.params.n_flat;

    if (t->config.moving_average <= 0)
        return OK;
    TRY(device_alloc(&t->device, &t->average_mem, n * t->device.real_bytes, err));
    t->average = (struct mat){t->average_mem, 0, 1, n, n};
    return OK;
}

static status open_translator(struct trainer *t, struct err *err)
{
    struct translate_config how;

    if (!t->config.eval_bleu || !t->data.valid.is_there)
        return OK;
    TRY(opt_defaults(translate_config_table, &how, err));
    how.beam = t->config.eval_beam;
    return translate_open(&t->translator, &t->model, t->spm, &how, err);
}

/* A library that sums on the card takes memory there when it first does: before ours is
 * planned. The gradient is still zero. */
static status warm_up(struct trainer *t, struct err *err)
{
    struct reducer_times ignored;

    reducer_begin(t->reducer, t->model.grad.mem, false);
    return reducer_finish(t->reducer, NULL, &ignored, err);
}

/* A GPU's gradients that its own library cannot sum go through the host. */
static status open_mirror(struct trainer *t, struct err *err)
{
    if (!t->device.driver)
        return OK;
    if (reducer_is_on_device(t->reducer))
        return warm_up(t, err);
    if (strcmp(t->device.kind, "cuda") == 0)
        record_note(&t->record,
                    "gradients go through the host's memory, not from card to card: %s",
                    reducer_carrier(t->reducer));
    return mem_alloc(&t->mirror, t->model.params.n_flat, sizeof *t->mirror, err);
}

static status open_reducer(struct trainer *t, struct err *err)
{
    const struct train_config *c = &t->config;
    const bool is_cuda = strcmp(t->device.kind, "cuda") == 0;
    const struct reducer_options o = {.wire = wire_find(c->wire),
                                      .bucket_bytes = (size_t)(c->bucket_mib * 1048576),
                                      .is_sharded = c->shard_optimizer,
                                      .is_checked = c->wire_check,
                                      .device = is_cuda ? &t->device : NULL};

    if (t->comm->size == 1)
        return OK;
    if (t->device.driver && c->shard_optimizer)
        return err_set(
            err, ERR_USAGE,
            "shard_optimizer = true is not there for device = %s: leave it out, "
            "or use device = cpu",
            t->device.kind);
    t->most_slices = (size_t)(c->model.encoder_layers + c->model.decoder_layers) + 3;
    TRY(mem_alloc(&t->slice_sq, t->most_slices, sizeof *t->slice_sq, err));
    TRY(reducer_open(&t->reducer, t->comm, &t->model.params, o, err));
    return open_mirror(t, err);
}

/* The reducer says which parts of the arrays this rank owns. */
static status list_shards(struct trainer *t, struct err *err)
{
    if (!t->reducer || !t->config.shard_optimizer)
        return OK;
    const size_t n = reducer_n_ranges(t->reducer);
    TRY(mem_alloc(&t->shards, n, sizeof *t->shards, err));
    for (size_t i = 0; i < n; i++) {
        const struct reducer_range r = reducer_range(t->reducer, i);
        t->shards[i] = (struct optim_shard){r.first, r.n, r.at};
    }
    return OK;
}

/* What is kept for every weight: moments and average. */
static status open_optimizer(struct trainer *t, struct err *err)
{
    TRY(list_shards(t, err));
    const struct optim_shards shards = {
        .list = t->shards,
        .n_list = t->shards ? reducer_n_ranges(t->reducer) : 0,
        .n_owned = t->shards ? reducer_n_owned(t->reducer) : 0,
        .comm = t->comm};
    TRY(optim_open(&t->optim, &t->device, &t->model.params, &t->config.optim,
                   t->shards ? &shards : NULL, err));
    if (train_is_local(t))
        TRY(local_sgd_open(&t->local, &t->device, t->model.params.n_flat,
                           t->config.outer_rate, t->config.outer_momentum, err));
    return open_average(t, err);
}

static enum precision precision_of(const char *name)
{
    if (strcmp(name, "fp16") == 0)
        return PRECISION_FP16;
    return strcmp(name, "bf16") == 0 ? PRECISION_BF16 : PRECISION_FP32;
}

static status open_device(struct trainer *t, struct err *err)
{
    const struct train_config *c = &t->config;
    const struct device_options options = {.threads = t->affinity.threads,
                                           .pin = c->pin && !t->affinity.is_crowded,
                                           .precision = precision_of(c->precision),
                                           .local_rank = (size_t)t->comm->local_rank};
    const size_t n_ranks = (size_t)t->comm->size;

    TRY(mem_alloc(&t->own, n_ranks, sizeof *t->own, err));
    TRY(mem_alloc(&t->node, n_ranks, sizeof *t->node, err));
    for (size_t r = 0; r < n_ranks; r++)
        t->node[r] = t->comm->peer[r].node;
    TRY(schedule_init(&t->schedule, &c->schedule, c->model.d_model, c->max_steps, err));
    loss_scale_begin(&t->state.scale, c->loss_scaling, c->loss_scale);
    return device_open(&t->device, c->device, options, err);
}

/* The model and what belongs to it; nothing here needs another rank. */
static status open_model(struct trainer *t, struct err *err)
{
    TRY(model_open(&t->model, &t->device, &t->config.model, true, err));
    t->model.recompute = t->config.recompute;
    return open_translator(t, err);
}

/* MiB of one array of all parameters. */
static status array_mib(const struct model_config *c, double *mib, struct err *err)
{
    struct params params;

    TRY(params_open(&params, c, err));
    *mib = (double)(params.n_elements * sizeof(float)) / 1048576;
    params_close(&params);
    return OK;
}

static status check_ranks(struct trainer *t, struct err *err)
{
    const struct train_config *c = &t->config;
    const double moments = strcmp(c->optim.optimizer, "novograd") == 0 ? 1 : 2;
    const double average = c->moving_average > 0, outer = train_is_local(t);
    double mib = 0;

    TRY(array_mib(&c->model, &mib, err));
    /* weights, gradients, moments; with local steps also where they began */
    const double n_arrays =
        2 + moments / (c->shard_optimizer ? t->comm->size : 1) + average + 2 * outer;
    const struct preflight_options o = {
        .config = c,
        .data = &t->data,
        .checkpoint_mib = mib * (1 + moments + average + outer),
        .memory_mib = t->device.driver ? 0 : mib * n_arrays,
        .is_writer = t->run_dir.is_writer,
        .device = &t->device};
    const status result = preflight_run(&t->preflight, t->comm, o, err);

    t->is_agreed = result != OK && result != ERR_COMM;
    return result;
}

static status open_run_dir(struct trainer *t, struct err *err)
{
    const status result =
        run_dir_open(&t->run_dir, t->comm, t->config.run, &t->record.console, err);

    t->is_agreed = result != OK && result != ERR_COMM;
    if (result == OK && t->run_dir.is_writer)
        checkpoint_sweep(t->config.run);
    if (result == OK && t->config.shard_optimizer && t->run_dir.n_writers > 1) {
        progress_note(
            &t->record.console,
            "shard_optimizer: only the first rank's disk will hold checkpoints");
        t->run_dir.n_writers = 1;
        t->run_dir.is_writer = t->comm->rank == 0;
    }
    return result;
}

status setup_open(struct trainer *t, FILE *console, struct err *err)
{
    const struct train_config *c = &t->config;

    t->record.console = progress_to(t->comm->rank == 0 ? console : NULL);
    TRY(train_together(t, settle_data(t, err), err));
    TRY(affinity_choose(&t->affinity, t->comm, (size_t)c->threads, c->pin, err));
    TRY(open_run_dir(t, err));
    TRY(train_resume_find(t, err));
    TRY(train_together(t, open_device(t, err), err));
    TRY(check_ranks(t, err));
    TRY(train_together(t, open_model(t, err), err));
    TRY(open_reducer(t, err));
    return train_together(t, open_optimizer(t, err), err);
}

/* ---- the run directory ---- */

static status write_config(const struct trainer *t, struct err *err)
{
    struct str text = str_new(0);
    char path[FILE_PATH_MAX];

    str_puts(&text, "# The resolved configuration of this run.\n");
    opt_dump(train_config_table, &t->config, &text);
    status result = str_check(&text, "the configuration", err);
    if (result == OK)
        result = run_path(t, path, "config.yaml", err);
    if (result == OK)
        result = file_write(path, text.data, text.len, err);
    str_release(&text);
    return result;
}

/* A model directory carries its tokenizer. */
static status copy_tokenizer(const struct trainer *t, struct err *err)
{
    const struct line bytes = spm_bytes(t->spm);
    char path[FILE_PATH_MAX];

    TRY(run_path(t, path, "vocab.model", err));
    return file_write(path, bytes.text, bytes.n_bytes, err);
}

static void count_tokens(const struct corpus *c, uint64_t *source, uint64_t *target)
{
    for (uint32_t i = 0; i < c->n_pairs; i++) {
        *source += corpus_source(c, i).len;
        *target += corpus_target(c, i).len;
    }
}

/* A fraction of a second, which a run of a few updates does not pay for. */
static status measure_roof(struct trainer *t, struct err *err)
{
    enum { WORTH_IT = 50 };
    const struct train_config *c = &t->config;

    t->roof_gflops = NAN;
    if (c->max_steps - t->state.step < WORTH_IT || t->device.driver)
        return OK; /* a GPU's roof is not the processor's */
    return roof_gemm(&t->roof_gflops, pool_size(t->device.pool), 0.1, err);
}

static status open_record(struct trainer *t, struct err *err)
{
    FILE *console = t->record.console.out;
    const bool is_on_device = t->reducer && reducer_is_on_device(t->reducer);
    struct record_start s = {.step = t->state.step,
                             .is_resumed = t->is_resumed,
                             .device = t->device.name,
                             .threads = pool_size(t->device.pool),
                             .comm = t->comm,
                             .gradients =
                                 is_on_device ? reducer_carrier(t->reducer) : NULL,
                             .n_parameters = t->model.params.n_elements,
                             .micro_tokens = t->limit.n_tgt,
                             .train_pairs = t->data.train.n_pairs,
                             .valid_pairs = t->data.valid.corpus.n_pairs,
                             .tokenizer_pieces = t->data.vocab,
                             .roof_gflops = t->roof_gflops,
                             .preflight = &t->preflight,
                             .is_crowded = t->affinity.is_crowded};

    count_tokens(&t->data.train, &s.train_source_tokens, &s.train_target_tokens);
    TRY(record_open(&t->record, &t->config, console, t->state.step, t->comm->rank, err));
    if (*t->device.skipped)
        record_note(&t->record, "device = auto takes the processor: %s",
                    t->device.skipped);
    return record_begin(&t->record, &s, err);
}

status train_feed(struct trainer *t, struct err *err)
{
    const struct train_config *c = &t->config;
    const struct order_rule rule = {.seed = (uint64_t)c->seed,
                                    .drop_overlong = strcmp(c->overlong, "drop") == 0,
                                    .max_length = (size_t)c->max_length,
                                    .batch_tokens = (size_t)c->batch_tokens,
                                    .batch_sentences = (size_t)c->batch_sentences};

    const struct shard_rule shard = {t->comm->rank, t->comm->size, t->node};

    return prefetch_open(&t->prefetch, &t->data.train, rule, shard, t->limit,
                         t->state.cursor, err);
}

/* Memory, files and threads; nothing here needs another rank. */
static status prepare_run(struct trainer *t, struct err *err)
{
    TRY(train_reserve(t, err));
    if (t->run_dir.is_writer) {
        TRY(write_config(t, err));
        TRY(copy_tokenizer(t, err));
    }
    return measure_roof(t, err);
}

static status start_run(struct trainer *t, struct err *err)
{
    TRY(open_record(t, err));
    TRY(train_save_open(t, err));
    return train_feed(t, err);
}

status setup_run(struct trainer *t, struct err *err)
{
    TRY(train_resume(t, err));
    TRY(train_together(t, prepare_run(t, err), err));
    TRY(comm_sum(t->comm, &t->roof_gflops, 1, err));
    return train_together(t, start_run(t, err), err);
}

void train_close(struct trainer *t)
{
    struct err ignored;

    (void)(dataset_check_finish(&t->check, &ignored) ==
           OK); /* what it found was said before */
    saver_close(t->saver);
    prefetch_close(t->prefetch);
    translate_close(&t->translator);
    reducer_close(t->reducer);
    local_sgd_close(&t->local);
    optim_close(&t->optim);
    if (t->average_mem)
        device_free(&t->device, t->average_mem);
    model_close(&t->model);
    device_close(&t->device);
    spm_free(t->spm);
    dataset_close(&t->data);
    free(t->losses);
    free(t->mirror);
    free(t->slice_sq);
    free(t->own);
    free(t->shards);
    free(t->node);
    run_dir_close(&t->run_dir);
}

status setup_close(struct trainer *t, struct err *err)
{
    const status result = record_close(&t->record, err);

    train_close(t);
    return result;
}
