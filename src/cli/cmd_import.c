#include <stdio.h>

#include "cli/cmd.h"
#include "pack/importing.h"

extern const char commit_text[]; /* made by cmake/commit.cmake */

status cmd_import(int argc, char **argv, struct err *err)
{
    struct opt_words words = {.max = 1};
    struct importing_config c;
    char made_by[128];

    TRY(opt_read(importing_options, &c, &words, argc, argv, err));
    if (words.n != 1)
        return err_set(err, ERR_USAGE, "which model? usage: ferry import MODEL out=FILE");
    if (!c.out[0])
        return err_set(err, ERR_USAGE, "out is not set: where shall the model go?");
    snprintf(made_by, sizeof made_by, "ferry " FERRY_VERSION " %s", commit_text);
    return importing_run(&c, words.word[0], made_by, stdout, err);
}
