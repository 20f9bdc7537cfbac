#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "format/seal.h"
#include "train/log/roof.h"
#include "train/run/pulse_writer.h"
#include "train/run/unigram.h"
#include "train/save/donor.h"
#include "train/trainer.h"

/* ---- opening ---- */

static status open_run_dir(struct trainer *t, struct err *err)
{
    struct run_dir *dir = &t->peers.dir;
    struct progress *console = &t->record.console;

    TRY(peers_note_result(&t->peers,
                          run_dir_open(dir, t->peers.comm, t->config.run, console, err)));
    TRY(peers_agree(&t->peers, dir->is_writer ? shelf_sweep(t->config.run, err) : OK,
                    err));
    if (t->peers.comm->rank == 0)
        TRY(pulse_writer_open(&t->peers.pulse, t->config.run, dir->lock,
                              t->peers.control ? &t->peers.control->phase : NULL, err));
    if (t->config.shard_optimizer && dir->n_writers > 1) {
        progress_note(
            console, "shard_optimizer: only the first rank's disk will hold checkpoints");
        dir->n_writers = 1;
        dir->is_writer = t->peers.comm->rank == 0;
    }
    return OK;
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
    const struct affinity *a = &t->peers.affinity;
    const struct device_options options = {.threads = a->threads,
                                           .pin = c->pin && !a->is_crowded,
                                           .precision = precision_of(c->precision),
                                           .local_rank =
                                               (size_t)t->peers.comm->local_rank};

    TRY(schedule_init(&t->schedule, &c->schedule, c->model.d_model, c->max_steps, err));
    loss_scale_begin(&t->state.scale, c->loss_scaling, c->loss_scale);
    return device_open(&t->device, c->device, options, err);
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

/* Beside the tensors: index, graph and state, and lines of the logs. A disk that has room
 * for the tensors alone lets a run begin that can never save. */
static const double checkpoint_extra_mib = 1;

static status check_ranks(struct trainer *t, struct err *err)
{
    const struct train_config *c = &t->config;
    struct peers *p = &t->peers;
    const double moments = strcmp(c->optim.optimizer, "novograd") == 0 ? 1 : 2;
    const double average = c->moving_average > 0, local = local_sgd_is_on(&t->local);
    double mib = 0;

    TRY(array_mib(&c->model, &mib, err));
    /* weights, gradients, moments; with local steps also where they began */
    const double n_arrays =
        2 + moments / (c->shard_optimizer ? p->comm->size : 1) + average + 2 * local;
    const struct preflight_options o = {
        .config = c,
        .data = &t->data.sets,
        .valid = training_data_valid_hash(&t->data),
        .checkpoint_mib = checkpoint_extra_mib + mib * (1 + moments + average + local),
        .memory_mib = t->device.gpu ? 0 : mib * n_arrays,
        .is_writer = p->dir.is_writer,
        .device = &t->device};
    return peers_note_result(p, preflight_run(&p->preflight, p->comm, o, err));
}

/* The model and what belongs to it; nothing here needs another rank. */
static status open_model(struct trainer *t, struct err *err)
{
    struct translate_config how;

    TRY(model_open(&t->model, &t->device, &t->config.model, true, err));
    t->model.recompute = t->config.recompute;
    if (train_config_has_prior(&t->config))
        TRY(unigram_set(&t->model, &t->data.sets.train, err));
    t->micro = (struct micro_batch){.config = &t->config, .model = &t->model};
    if (!t->config.eval_bleu || !t->data.sets.valid.is_there)
        return OK;
    TRY(opt_defaults(translate_config_table, &how, err));
    how.beam = t->config.eval_beam;
    how.split = false; /* a line of the set is a sentence */
    return translate_open(&t->translator, &t->model, t->data.spm, &how, err);
}

/*
 * Rows of nodes. `auto` follows what preflight measured, or a resumed run as it began, so
 * that it makes the same sums; the run's config.yaml says which.
 */
static size_t choose_rows(struct trainer *t)
{
    struct train_config *c = &t->config;
    const size_t n_nodes = (size_t)t->peers.comm->n_nodes;
    const double bytes = (double)wire_segment_bytes(
        wire_find(c->wire),
        MIN((size_t)(c->bucket_mib * 1048576) / sizeof(float), t->model.params.n_flat));
    const bool is_auto = strcmp(c->exchange, "auto") == 0;

    if (is_auto && n_nodes < GRID_NODES)
        return 1;
    if (is_auto) {
        const bool pays = grid_choose(n_nodes, bytes, t->peers.preflight.link) > 1;
        const bool is_grid = t->saving.was_grid || (!t->saving.was_direct && pays);
        snprintf(c->exchange, sizeof c->exchange, "%s", is_grid ? "grid" : "direct");
    }
    return strcmp(c->exchange, "grid") == 0 ? grid_square(n_nodes) : 1;
}

static status open_gradients(struct trainer *t, struct err *err)
{
    const struct train_config *c = &t->config;
    const bool is_cuda = strcmp(t->device.kind, "cuda") == 0;
    const struct reducer_options o = {.wire = wire_find(c->wire),
                                      .bucket_bytes = (size_t)(c->bucket_mib * 1048576),
                                      .is_sharded = c->shard_optimizer,
                                      .is_checked = c->wire_check,
                                      .n_rows = choose_rows(t),
                                      .device = is_cuda ? &t->device : NULL};

    if (t->device.gpu && c->shard_optimizer && t->peers.comm->size > 1)
        return err_set(
            err, ERR_USAGE,
            "shard_optimizer = true is not there for device = %s: leave it out, "
            "or use device = cpu",
            t->device.kind);
    TRY(gradients_open(&t->gradients, t->peers.comm, &t->model, o, err));
    if (o.n_rows > 1)
        record_note(&t->record, "%d nodes exchange gradients in a grid of %zu rows",
                    t->peers.comm->n_nodes, o.n_rows);
    if (t->gradients.mirror && is_cuda)
        record_note(&t->record,
                    "gradients go through the host's memory, not from card to card: %s",
                    reducer_carrier(t->gradients.reducer));
    return OK;
}

/* What is kept for every weight: moments, average, and where local SGD began. */
static status open_optimizer(struct trainer *t, struct err *err)
{
    const struct train_config *c = &t->config;
    const struct params *p = &t->model.params;
    const bool is_sharded = t->gradients.reducer && c->shard_optimizer;

    TRY(optim_open(&t->optim, &t->device, p, &c->optim,
                   is_sharded ? reducer_shards(t->gradients.reducer) : NULL, err));
    if (local_sgd_is_on(&t->local))
        TRY(local_sgd_open(&t->local, &t->device, p->n_flat, c->outer_rate,
                           c->outer_momentum, err));
    TRY(moving_average_open(&t->average, &t->device, p->n_flat, c->moving_average, err));
    TRY(layer_gradients_open(&t->layers, p, t->peers.comm, t->optim.shards,
                             c->log_gradients, err));
    t->saving.parts = (struct checkpoint){
        .model = &t->model,
        .optim = &t->optim,
        .part = {t->model.flat, t->optim.m, t->optim.v, t->average.mean, t->local.v},
        .scale = t->state.scale,
        .is_sharded = is_sharded};
    return OK;
}

/* A shape that no model can have is first held against that of init_from, which names all
 * options at once. */
static status open_data(struct trainer *t, bool is_checked, struct err *err)
{
    struct train_config *c = &t->config;
    struct err shape;

    TRY(training_data_open(&t->data, c, is_checked, err));
    if (!*c->init_from || model_config_check(&c->model, &shape) == OK)
        return OK;
    if (donor_is(c->init_from))
        TRY(donor_check(&c->model, c->init_from, err));
    *err = shape;
    return shape.code;
}

status setup_open(struct trainer *t, const struct train_config *config,
                  const struct train_host *host, struct err *err)
{
    struct train_config *c = &t->config;
    struct peers *p = &t->peers;

    *t = (struct trainer){.config = *config, .evaluated_at = -1, .note = host->note};
    TRY(peers_open(p, host->comm, host->control, err));
    t->saving = (struct saving){.config = c,
                                .peers = p,
                                .record = &t->record,
                                .state = &t->state,
                                .local = &t->local,
                                .gradients = &t->gradients,
                                .saved_at = -1,
                                .published_at = -1};
    t->record.console = progress_to(p->comm->rank == 0 ? host->console : NULL);
    t->local.steps = p->comm->n_nodes > 1 ? c->local_steps : 1;
    const bool is_checked = c->verify_data && p->comm->local_rank == 0;
    TRY(peers_agree(p, open_data(t, is_checked, err), err));
    TRY(affinity_choose(&p->affinity, p->comm, (size_t)c->threads, c->pin, err));
    TRY(open_run_dir(t, err));
    TRY(resume_find(&t->saving, err));
    TRY(peers_agree(p, open_device(t, err), err));
    TRY(check_ranks(t, err));
    TRY(peers_agree(p, open_model(t, err), err));
    TRY(open_gradients(t, err));
    return peers_agree(p, open_optimizer(t, err), err);
}

/* ---- the run directory ---- */

static status write_file(const struct trainer *t, const char *name, const void *bytes,
                         size_t n, struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(file_join(path, sizeof path, t->config.run, name, err));
    return file_write(path, bytes, n, err);
}

/* A model directory carries its configuration and its tokenizer. The data is named from
 * the root, so that the run can be evaluated and resumed from anywhere. */
static status write_files(const struct trainer *t, struct err *err)
{
    const struct line tokenizer = spm_bytes(t->data.spm);
    RELEASED_BY(mem_release) struct train_config *c = NULL;
    struct str text = str_new(0), lines = str_new(0);
    char data[FILE_PATH_MAX];

    TRY(mem_alloc(&c, 1, sizeof *c, err));
    *c = t->config;
    TRY(file_absolute(data, c->data, err));
    snprintf(c->data, sizeof c->data, "%s", data);
    TRY(data_list_absolute(c->also_data, "also_data", err));
    TRY(data_list_absolute(c->also_valid, "also_valid", err));
    seal_put_version(&lines);
    str_puts(&lines, "# The resolved configuration of this run.\n");
    opt_dump(train_config_written(c), c, &lines);
    status result = str_check(&lines, "the configuration", err);
    if (result == OK) {
        seal_put(&text, &lines, tokenizer.text, tokenizer.n_bytes);
        str_add(&text, lines.data, lines.len);
        result = str_check(&text, "the configuration", err);
    }
    THEN(result, write_file(t, "config.yaml", text.data, text.len, err));
    str_release(&text);
    str_release(&lines);
    TRY(result);
    const struct line target = spm_target_bytes(t->data.spm);
    if (target.n_bytes)
        TRY(write_file(t, DATASET_TARGET ".model", target.text, target.n_bytes, err));
    return write_file(t, DATASET_VOCAB ".model", tokenizer.text, tokenizer.n_bytes, err);
}

/* A fraction of a second, which a run of a few updates does not pay for. */
static status measure_roof(struct trainer *t, double *gflops, struct err *err)
{
    enum { WORTH_IT = 50 };

    *gflops = NAN;
    if (t->config.max_steps - t->state.step < WORTH_IT || t->device.gpu)
        return OK; /* a GPU's roof is not the processor's */
    return roof_gemm(gflops, &t->device, 0.1, err);
}

static void note_variation(struct trainer *t)
{
    struct str text = str_new(0);

    variation_describe(&t->config.variation, &text);
    record_note(&t->record, "the training text varies: %s", str_text(&text));
    str_release(&text);
}

static status open_record(struct trainer *t, double roof_gflops, struct err *err)
{
    const struct peers *p = &t->peers;
    const struct dataset *data = &t->data.sets;
    const struct reducer *reducer = t->gradients.reducer;
    const bool is_on_device = reducer && reducer_is_on_device(reducer);
    const bool is_other = t->state.n_ranks && t->state.n_ranks != p->comm->size;
    char tokenizer[RECORD_HASH], train[RECORD_HASH], valid[RECORD_HASH];
    struct runlog_start start = {
        .step = (double)t->state.step,
        .resumed = t->saving.is_resumed,
        .ranks_before = is_other ? (double)t->state.n_ranks : (double)NAN,
        .device = t->device.name,
        .threads = (double)pool_size(t->device.pool),
        .parameters = (double)t->model.params.n_elements,
        .micro_tokens = (double)t->micro.limit.n_tgt,
        .train_pairs = data->train.n_pairs,
        .valid_pairs = data->valid.corpus.n_pairs,
        .tokenizer_pieces = data->n_target,
        .tokenizer_hash = record_hash(tokenizer, data->tokenizer_hash),
        .train_hash = record_hash(train, data->train.checksum),
        .roof_gflops = roof_gflops,
        .gradients = is_on_device ? reducer_carrier(reducer) : NULL};

    if (data->valid.is_there)
        start.valid_hash = record_hash(valid, dataset_text_hash(&data->valid));
    for (uint32_t i = 0; i < data->train.n_pairs; i++) {
        start.train_source_tokens += (double)corpus_source(&data->train, i).len;
        start.train_target_tokens += (double)corpus_target(&data->train, i).len;
    }
    TRY(record_open(&t->record, &t->config, t->record.console.out, t->state.step,
                    p->comm->rank, err));
    t->record.has_weights = corpus_has_weights(&data->train);
    if (t->note && p->comm->rank == 0 && !t->saving.is_resumed)
        record_note(&t->record, "%s", t->note);
    if (is_other)
        record_note(&t->record,
                    "after step %lld: %d rank%s instead of %lld; the order of the data "
                    "stays the same",
                    (long long)t->state.step, p->comm->size,
                    p->comm->size == 1 ? "" : "s", (long long)t->state.n_ranks);
    if (t->data.variation)
        note_variation(t);
    if (*t->device.skipped)
        record_note(&t->record, "device = auto takes the processor: %s",
                    t->device.skipped);
    return record_begin(&t->record, start, p, err);
}

/* All ranks cut alike: by what fits the one that has the least memory. */
static status choose_cut(struct trainer *t, size_t *n_tgt, struct err *err)
{
    struct peers *p = &t->peers;

    TRY(peers_agree(p,
                    micro_batch_choose(&t->micro, p->preflight.n_sharing,
                                       (size_t)t->state.micro_tokens, n_tgt, err),
                    err));
    double least = (double)*n_tgt;
    TRY(comm_allreduce(p->comm, COMM_MIN, &least, 1, err));
    *n_tgt = (size_t)least;
    t->state.micro_tokens = (int64_t)least;
    return OK;
}

/* Memory and files; nothing here needs another rank. */
static status prepare_run(struct trainer *t, size_t n_tgt, double *roof_gflops,
                          struct err *err)
{
    char text[MICRO_BATCH_TEXT];

    TRY(local_sgd_begin(&t->local, t->model.flat, t->state.step, err));
    TRY(micro_batch_reserve(&t->micro, n_tgt, err));
    if (micro_batch_compare(&t->micro, text))
        record_note(&t->record, "%s", text);
    if (t->peers.dir.is_writer)
        TRY(write_files(t, err));
    return measure_roof(t, roof_gflops, err);
}

/* The log and threads; nothing here needs another rank. */
static status start_run(struct trainer *t, double roof_gflops, struct err *err)
{
    const size_t copy = saver_copy_bytes(&t->saving.parts);

    TRY(open_record(t, roof_gflops, err));
    TRY(saving_open(&t->saving, micro_batch_leaves(&t->micro, copy), err));
    return training_data_prefetch(&t->data, &t->config, &t->peers, t->micro.limit,
                                  t->state.cursor, err);
}

status setup_run(struct trainer *t, struct err *err)
{
    struct peers *p = &t->peers;
    double roof_gflops = 0;
    size_t n_tgt = 0;

    TRY(resume_begin(&t->saving, &t->data.sets, &t->average, err));
    TRY(choose_cut(t, &n_tgt, err));
    TRY(peers_agree(p, prepare_run(t, n_tgt, &roof_gflops, err), err));
    TRY(comm_allreduce(p->comm, COMM_SUM, &roof_gflops, 1, err));
    TRY(peers_agree(p, start_run(t, roof_gflops, err), err));
    t->state.n_ranks = p->comm->size;
    return OK;
}

void setup_release(struct trainer *t)
{
    saver_close(t->saving.saver);
    translate_close(&t->translator);
    gradients_close(&t->gradients);
    local_sgd_close(&t->local);
    optim_close(&t->optim);
    moving_average_close(&t->average);
    layer_gradients_close(&t->layers);
    micro_batch_release(&t->micro);
    inputs_release(&t->inputs);
    model_close(&t->model);
    device_close(&t->device);
    training_data_close(&t->data);
    peers_close(&t->peers);
}

status setup_close(struct trainer *t, struct err *err)
{
    const status result = record_close(&t->record, err);

    setup_release(t);
    return result;
}
