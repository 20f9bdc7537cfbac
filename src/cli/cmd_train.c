#include "cli/cmd.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "train/config.h"
#include "train/trainer.h"

const struct opt_table cmd_train_options = {train_config_rows, TRAIN_N_OPTIONS};

/*
 * Defaults, then the file, then the command line. Without a file, the configuration of
 * the run directory itself is taken when there is one: `ferry train run=DIR` goes on.
 */
static status read_config(struct train_config *c, int argc, char **argv, struct err *err)
{
    struct opt_words words = {.max = 1};
    char path[FILE_PATH_MAX];

    TRY(opt_defaults(train_config_table, c, err));
    TRY(opt_parse(train_config_table, c, &words, argc, argv, err));
    TRY(file_join(path, sizeof path, c->run, "config.yaml", err));
    const char *file = words.n ? words.word[0] : path;
    if (!words.n && !file_exists(path))
        return OK;
    TRY(opt_defaults(train_config_table, c, err));
    TRY(opt_file(train_config_table, c, file, OPT_REFUSE_UNKNOWN, err));
    words.n = 0;
    return opt_parse(train_config_table, c, &words, argc, argv, err);
}

status cmd_train(int argc, char **argv, struct err *err)
{
    struct train_config *c;

    TRY(mem_alloc(&c, 1, sizeof *c, err));
    status result = read_config(c, argc, argv, err);
    if (result == OK)
        result = train_run(c, stderr, err);
    free(c);
    return result;
}
