#include "train/run/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "format/seal.h"
#include "train/run/measures.h"

static const struct opt rows[] = {
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct train_config, field), field, __VA_ARGS__)
    TRAIN_OPTIONS(X)
#undef X
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct train_config, model.field), field, __VA_ARGS__)
        MODEL_OPTIONS(X)
#undef X
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct train_config, schedule.field), field, __VA_ARGS__)
            SCHEDULE_OPTIONS(X)
#undef X
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct train_config, optim.field), field, __VA_ARGS__)
                OPTIM_OPTIONS(X)
#undef X
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct train_config, variation.field), field, __VA_ARGS__)
                    VARIATION_OPTIONS(X)
#undef X
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct train_config, score.field), field, __VA_ARGS__)
                        SCORE_TEXT_OPTIONS(X)
#undef X
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct train_config, arch.field), field, __VA_ARGS__)
                            ARCHITECTURE_OPTIONS(X)
#undef X
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct train_config, model.tying.field), field, __VA_ARGS__)
                                TYING_OPTIONS(X)
#undef X
};

const struct opt_table train_config_table = {rows, sizeof rows / sizeof *rows};

struct opt_table train_config_written(const struct train_config *c)
{
    const struct architecture a = architecture_from_options(&c->arch);
    struct opt_table t = train_config_table;

    if (tying_is_on(&c->model.tying))
        return t;
    t.n -= tying_table.n; /* they are the last */
    if (architecture_is_reference(&a))
        t.n -= architecture_table.n;
    return t;
}

/* Ranges of a bucket do not follow tensors, so nothing that goes by tensor works. */
static status check_shards(const struct train_config *c, struct err *err)
{
    const struct optim_config *o = &c->optim;

    if (!c->shard_optimizer)
        return OK;
    if (c->local_steps > 1)
        return err_set(
            err, ERR_USAGE,
            "shard_optimizer = true and local_steps = %lld exclude each other: "
            "a node that trains alone needs all of its moments",
            (long long)c->local_steps);
    if (strcmp(o->optimizer, "novograd") == 0)
        return err_set(err, ERR_USAGE,
                       "shard_optimizer = true needs optimizer = adam or adamw, not %s",
                       o->optimizer);
    if (strcmp(o->larc, "none") != 0 || *o->freeze)
        return err_set(err, ERR_USAGE,
                       "shard_optimizer = true works neither with larc nor with freeze");
    return OK;
}

static status check_positions(const struct train_config *c, struct err *err)
{
    const struct architecture a = architecture_from_options(&c->arch);

    if ((size_t)c->max_length <= architecture_longest(&a))
        return OK;
    return err_set(err, ERR_USAGE,
                   "max_length = %lld, but max_positions = %lld of positions = learned; "
                   "lower the one or raise the other",
                   (long long)c->max_length, (long long)a.max_positions);
}

static status check_views(const struct train_config *c, struct err *err)
{
    const bool has_dropout = c->attention_dropout > 0 || c->relu_dropout > 0 ||
                             c->residual_dropout > 0 || c->word_dropout > 0;

    if (c->simcut > 0 && c->rdrop > 0)
        return err_set(err, ERR_USAGE,
                       "simcut = %g and rdrop = %g exclude each other: both compare two "
                       "views of every pair",
                       c->simcut, c->rdrop);
    if (c->rdrop > 0 && !has_dropout)
        return err_set(err, ERR_USAGE,
                       "rdrop = %g compares two dropout masks, but every dropout is 0",
                       c->rdrop);
    if (c->simcut > 0 && c->simcut_rate <= 0 && !has_dropout)
        return err_set(err, ERR_USAGE,
                       "simcut = %g compares two views that are the same: simcut_rate "
                       "and every dropout are 0",
                       c->simcut);
    return OK;
}

status train_config_defaults(struct train_config *c, struct err *err)
{
    *c = (struct train_config){0};
    return opt_defaults(train_config_table, c, err);
}

status train_config_check(const struct train_config *c, struct err *err)
{
    if (!*c->data)
        return err_set(err, ERR_USAGE,
                       "data is not set; give data=DIR, a directory made "
                       "by `ferry prepare`");
    if (!*c->run)
        return err_set(err, ERR_USAGE,
                       "run is not set; give run=DIR, where checkpoints "
                       "and logs go");
    if ((c->batch_tokens > 0) == (c->batch_sentences > 0))
        return err_set(err, ERR_USAGE,
                       "batch_tokens = %lld and batch_sentences = %lld: exactly one of "
                       "them must be above 0",
                       (long long)c->batch_tokens, (long long)c->batch_sentences);
    if (strcmp(c->best_metric, "loss") != 0 && !c->eval_bleu)
        return err_set(err, ERR_USAGE, "best_metric = %s needs eval_bleu = true",
                       c->best_metric);
    TRY(check_positions(c, err));
    TRY(check_shards(c, err));
    TRY(check_views(c, err));
    if (strcmp(c->smoothing, "uniform") != 0 && c->label_smoothing <= 0)
        return err_set(err, ERR_USAGE,
                       "smoothing = %s has no effect with label_smoothing = 0",
                       c->smoothing);
    if (c->log_gradients && c->local_steps > 1)
        return err_set(err, ERR_USAGE,
                       "log_gradients shows the gradient of all ranks, and with "
                       "local_steps = %lld every node follows its own: leave one of the "
                       "two out",
                       (long long)c->local_steps);
    if (strcmp(c->loss_scaling, "none") != 0 && strcmp(c->precision, "fp32") == 0)
        return err_set(err, ERR_USAGE,
                       "loss_scaling = %s needs precision = fp16 or bf16: in fp32 no "
                       "gradient is lost",
                       c->loss_scaling);
    if (strcmp(c->loss_scaling, "logmax") == 0 && c->shard_optimizer)
        return err_set(err, ERR_USAGE,
                       "loss_scaling = logmax needs the whole gradient on every rank: "
                       "use backoff with shard_optimizer = true");
    TRY(variation_check(&c->variation, err));
    TRY(optim_check(&c->optim, err));
    return schedule_check(&c->schedule, err);
}

status train_config_read(struct train_config **c, const char *run, struct err *err)
{
    char path[FILE_PATH_MAX];

    *c = NULL;
    TRY(file_join(path, sizeof path, run, "config.yaml", err));
    if (!file_exists(path))
        return OK;
    TRY(seal_check(path, NULL, err));
    TRY(mem_alloc(c, 1, sizeof **c, err));
    status result = train_config_defaults(*c, err);
    THEN(result, opt_file(train_config_table, *c, path, OPT_REFUSE_UNKNOWN, err));
    if (result == OK)
        return OK;
    free(*c);
    *c = NULL;
    return result;
}

/* Options that may change between the parts of one run. */
static bool is_free(const char *name)
{
    static const char *const names[] = {"data",         "run",
                                        "also_data",    "also_valid",
                                        "init_from",    "max_steps",
                                        "max_epochs",   "device",
                                        "threads",      "pin",
                                        "memory_mib",   "micro_tokens",
                                        "recompute",    "patience",
                                        "keep_last",    "keep_best",
                                        "save_every",   "log_every",
                                        "log_format",   "summary_every",
                                        "comm",         "comm_poll_us",
                                        "wire",         "wire_check",
                                        "bucket_mib",   "shard_optimizer",
                                        "clock_limit",  "replica_check_every",
                                        "verify_data",  "source_lang",
                                        "target_lang",  "exchange",
                                        "log_gradients"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strncmp(name, "eval_", 5) == 0;
}

status train_config_same(const struct train_config *old, const struct train_config *now,
                         struct err *err)
{
    struct str was = str_new(0), is = str_new(0);
    status result = OK;

    for (size_t i = 0; result == OK && i < train_config_table.n; i++) {
        const struct opt *o = &train_config_table.opt[i];
        str_reset(&was);
        str_reset(&is);
        opt_value(o, old, &was);
        opt_value(o, now, &is);
        if (strcmp(str_text(&was), str_text(&is)) != 0 && !is_free(o->name))
            result = err_set(err, ERR_USAGE,
                             "%s = %.200s, but this run began with %s = %.200s; keep it, "
                             "or choose another run directory",
                             o->name, str_text(&is), o->name, str_text(&was));
    }
    str_release(&was);
    str_release(&is);
    return result;
}
