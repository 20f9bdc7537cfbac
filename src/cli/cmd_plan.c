#include <libgen.h>

#include "base/file.h"
#include "cli/cmd.h"
#include "cli/config_name.h"
#include "corpus/corpus.h"
#include "plan/plan.h"
#include "train/run/config.h"

/* Both rooms' options. A name that both have is the planner's. */
struct all_options {
    struct plan_options plan;
    struct train_config train;
};

static struct opt_table all_options(struct opt *rows)
{
    struct opt_table t = {rows, 0};

    for (size_t i = 0; i < plan_options_table.n; i++)
        rows[t.n++] = plan_options_table.opt[i];
    for (size_t i = 0; i < train_config_table.n; i++)
        if (!opt_find(plan_options_table, train_config_table.opt[i].name)) {
            rows[t.n] = train_config_table.opt[i];
            rows[t.n++].at += offsetof(struct all_options, train);
        }
    return t;
}

static struct forecast_batch batch_of(const struct train_config *c)
{
    return (struct forecast_batch){(double)c->batch_sentences, (double)c->batch_tokens};
}

static struct forecast_training training_of(const struct train_config *c)
{
    struct model_config model = c->model;

    model.arch = architecture_from_options(&c->arch);
    return (struct forecast_training){.model = model,
                                      .batch = batch_of(c),
                                      .max_length = (double)c->max_length,
                                      .max_steps = (double)c->max_steps,
                                      .max_epochs = (double)c->max_epochs,
                                      .bucket_mib = c->bucket_mib,
                                      .wire = c->wire,
                                      .exchange = c->exchange,
                                      .precision = c->precision,
                                      .local_steps = (double)c->local_steps,
                                      .views = train_config_has_views(c) ? 2 : 1,
                                      .shard_optimizer = c->shard_optimizer};
}

/* A proposal, and the configuration of a run, leave the vocabulary to the data: in the
 * directory that is named, or in that of the file. */
static void find_vocabulary(struct train_config *c, const char *path)
{
    RELEASED_BY(corpus_close) struct corpus corpus = {0};
    char copy[FILE_PATH_MAX], train[FILE_PATH_MAX];
    struct err ignored;

    if (c->model.vocab_size || file_path(copy, &ignored, "%s", path) != OK)
        return;
    const char *dir = *c->data ? c->data : dirname(copy);
    if (file_path(train, &ignored, "%s/train.bin", dir) == OK &&
        corpus_open(&corpus, train, &ignored) == OK)
        c->model.vocab_size = corpus.vocab;
}

/* The command line once for the name of the file, and once more over what that says. */
static status read_options(struct all_options *o, struct forecast_training *t,
                           char path[FILE_PATH_MAX], int argc, char **argv,
                           struct err *err)
{
    enum { ROWS_MAX = 256, NOT_GIVEN = -1 };
    struct opt rows[ROWS_MAX];
    struct opt_words words = {.max = 1};
    struct train_config *c = &o->train;

    BUG_ON(plan_options_table.n + train_config_table.n > ROWS_MAX);
    const struct opt_table table = all_options(rows);
    TRY(opt_read(table, o, &words, argc, argv, err));
    if (words.n != 1)
        return err_set(err, ERR_USAGE, "give a training configuration: ferry plan base");
    TRY(config_name_find(path, words.word[0], err));
    TRY(train_config_defaults(c, err));
    TRY(opt_file(train_config_table, c, path, OPT_REFUSE_UNKNOWN, err));
    const struct train_config of_file = *c;
    c->max_steps = NOT_GIVEN;
    words.n = 0;
    TRY(opt_parse(table, o, &words, argc, argv, err));
    const bool is_given = c->max_steps != NOT_GIVEN;
    if (!is_given)
        c->max_steps = of_file.max_steps;
    find_vocabulary(c, path);
    *t = training_of(c);
    if (!is_given)
        t->planned = batch_of(&of_file);
    return OK;
}

status cmd_plan(int argc, char **argv, struct err *err)
{
    struct all_options o;
    struct forecast_training training;
    char path[FILE_PATH_MAX];

    TRY(read_options(&o, &training, path, argc, argv, err));
    return plan_run(&o.plan, &training, path, stdout, err);
}
