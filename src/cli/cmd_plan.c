#include "cli/cmd.h"
#include "plan/plan.h"
#include "train/run/config.h"

/* What a training configuration says that matters here. */
static status read_training(struct forecast_training *t, const char *path,
                            struct err *err)
{
    struct train_config c;

    TRY(opt_defaults(train_config_table, &c, err));
    TRY(opt_file(train_config_table, &c, path, OPT_REFUSE_UNKNOWN, err));
    *t = (struct forecast_training){.model = c.model,
                                    .batch_pairs = (double)c.batch_sentences,
                                    .batch_tokens = (double)c.batch_tokens,
                                    .max_length = (double)c.max_length,
                                    .max_steps = (double)c.max_steps};
    return OK;
}

status cmd_plan(int argc, char **argv, struct err *err)
{
    struct opt_words words = {.max = 1};
    struct forecast_training training;
    struct plan_options o;

    TRY(opt_read(plan_options_table, &o, &words, argc, argv, err));
    if (words.n != 1)
        return err_set(err, ERR_USAGE,
                       "give a training configuration: ferry plan configs/base.yaml");
    TRY(read_training(&training, words.word[0], err));
    return plan_run(&o, &training, words.word[0], stdout, err);
}
