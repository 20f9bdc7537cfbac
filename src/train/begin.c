#include "train/begin.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "decode/model_dir.h"
#include "format/tf_checkpoint.h"
#include "train/roof.h"
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

static status settle_data(struct trainer *t, struct err *err)
{
    TRY(dataset_open(&t->data, t->config.data, err));
    TRY(settle_vocabulary(t, err));
    return spm_load(&t->spm, t->data.tokenizer, err);
}

/* Two trainings in one directory would overwrite each other's checkpoints. */
static status lock_run(struct trainer *t, struct err *err)
{
    char best[FILE_PATH_MAX];

    TRY(file_make_dirs(t->config.run, err));
    t->run_lock = open(t->config.run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (t->run_lock < 0)
        return err_set(err, ERR_IO, "%s: %s", t->config.run, strerror(errno));
    if (flock(t->run_lock, LOCK_EX | LOCK_NB) != 0)
        return err_set(err, ERR_IO, "%s: another process is training in this directory",
                       t->config.run);
    TRY(file_join(best, sizeof best, t->config.run, "best_models", err));
    checkpoint_sweep(t->config.run);
    checkpoint_sweep(best);
    return OK;
}

static status run_path(const struct trainer *t, char *path, const char *name,
                       struct err *err)
{
    return file_join(path, FILE_PATH_MAX, t->config.run, name, err);
}

/* A run directory that holds a checkpoint resumes, with the options it began with. */
static status settle_resume(struct trainer *t, struct err *err)
{
    char pointer[FILE_PATH_MAX], path[FILE_PATH_MAX];
    struct train_config *old;

    TRY(run_path(t, pointer, "checkpoint", err));
    TRY(run_path(t, path, "config.yaml", err));
    t->is_resumed = file_exists(pointer);
    if (!t->is_resumed || !file_exists(path))
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

status begin_open(struct trainer *t, FILE *console, struct err *err)
{
    const struct train_config *c = &t->config;
    const struct device_options options = {.threads = (size_t)c->threads, .pin = c->pin};

    t->record.console = progress_to(console);
    TRY(settle_data(t, err));
    TRY(lock_run(t, err));
    TRY(settle_resume(t, err));
    TRY(schedule_init(&t->schedule, &c->schedule, c->model.d_model, c->max_steps, err));
    TRY(device_open(&t->device, c->device, options, err));
    TRY(model_open(&t->model, &t->device, &c->model, true, err));
    t->model.recompute = c->recompute;
    TRY(optim_open(&t->optim, &t->device, &t->model.params, &c->optim, err));
    TRY(open_average(t, err));
    return open_translator(t, err);
}

/* ---- weights and state ---- */

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

static status begin_fresh(struct trainer *t, struct err *err)
{
    float *flat;

    TRY(mem_alloc(&flat, t->model.params.n_flat, sizeof *flat, err));
    params_init(&t->model.params, (uint64_t)t->config.seed, flat);
    status result = model_set_weights(&t->model, flat, err);
    free(flat);
    if (result == OK && *t->config.init_from)
        result = take_weights(t, err);
    return result;
}

/* The average starts as the weights are. */
static void begin_average(struct trainer *t)
{
    if (t->average.mem)
        t->device.k->average(&t->device, t->average, t->model.flat, 0);
}

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

static void note_data(struct trainer *t)
{
    t->state.corpus_pairs = t->data.train.n_pairs;
    t->state.tokenizer_hash = t->data.tokenizer_hash;
}

static status adopt(struct trainer *t, enum checkpoint_kind kind, struct err *err)
{
    if (kind == CHECKPOINT_OURS)
        return check_data(t, err);
    progress_note(&t->record.console, "the checkpoint was made by another tool: weights "
                                      "are taken, the data begins a new epoch");
    begin_average(t);
    note_data(t);
    return OK;
}

/* From the newest checkpoint to the oldest, the first that is whole. */
static status begin_resumed(struct trainer *t, const struct tf_checkpoint *list,
                            struct err *err)
{
    const struct checkpoint parts = {
        .model = &t->model, .optim = &t->optim, .average = t->average};

    for (size_t i = list->n; i-- > 0;) {
        char prefix[FILE_PATH_MAX];
        enum checkpoint_kind kind;
        if (list->all[i][0] == '/')
            snprintf(prefix, sizeof prefix, "%s", list->all[i]);
        else
            TRY(run_path(t, prefix, list->all[i], err));
        if (checkpoint_read(&parts, &t->state, prefix, &kind, err) == OK)
            return adopt(t, kind, err);
        progress_note(&t->record.console, err->msg);
    }
    return err_set(err, ERR_FORMAT,
                   "%s: no whole checkpoint is left to resume from; choose another run "
                   "directory",
                   t->config.run);
}

static status begin_weights(struct trainer *t, struct err *err)
{
    char path[FILE_PATH_MAX];
    struct tf_checkpoint list;

    if (!t->is_resumed) {
        TRY(begin_fresh(t, err));
        begin_average(t);
        note_data(t);
        return OK;
    }
    TRY(run_path(t, path, "checkpoint", err));
    TRY(tf_checkpoint_read(&list, path, err));
    const status result = begin_resumed(t, &list, err);
    tf_checkpoint_release(&list);
    t->saved_at = t->state.step;
    return result;
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
    if (c->max_steps - t->state.step < WORTH_IT)
        return OK;
    return roof_gemm(&t->roof_gflops, pool_size(t->device.pool), 0.1, err);
}

static status open_record(struct trainer *t, struct err *err)
{
    FILE *console = t->record.console.out;
    struct record_start s = {.step = t->state.step,
                             .is_resumed = t->is_resumed,
                             .device = t->device.name,
                             .threads = pool_size(t->device.pool),
                             .n_parameters = t->model.params.n_elements,
                             .train_pairs = t->data.train.n_pairs,
                             .valid_pairs = t->data.valid.corpus.n_pairs,
                             .tokenizer_pieces = t->data.vocab,
                             .roof_gflops = t->roof_gflops};

    count_tokens(&t->data.train, &s.train_source_tokens, &s.train_target_tokens);
    TRY(record_open(&t->record, &t->config, console, t->state.step, err));
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

    const struct share_rule share = {0};

    return feeder_open(&t->feeder, &t->data.train, rule, share, t->limit, t->state.cursor,
                       err);
}

status begin_run(struct trainer *t, struct err *err)
{
    TRY(begin_weights(t, err));
    TRY(train_reserve(t, err));
    TRY(write_config(t, err));
    TRY(copy_tokenizer(t, err));
    TRY(measure_roof(t, err));
    TRY(open_record(t, err));
    TRY(train_save_open(t, err));
    return train_feed(t, err);
}

void train_close(struct trainer *t)
{
    saver_close(t->saver);
    feeder_close(t->feeder);
    translate_close(&t->translator);
    optim_close(&t->optim);
    if (t->average_mem)
        device_free(&t->device, t->average_mem);
    model_close(&t->model);
    device_close(&t->device);
    spm_free(t->spm);
    dataset_close(&t->data);
    free(t->losses);
    if (t->run_lock >= 0)
        close(t->run_lock);
}

status begin_close(struct trainer *t, struct err *err)
{
    const status result = record_close(&t->record, err);

    train_close(t);
    return result;
}
