#include <stdio.h>

#include "cli/cmd.h"
#include "pack/exporting.h"

extern const char commit_text[]; /* made by cmake/commit.cmake */

status cmd_export(int argc, char **argv, struct err *err)
{
    struct opt_words words = {.max = 1};
    struct exporting_config c;
    char made_by[128];

    TRY(opt_read(exporting_options, &c, &words, argc, argv, err));
    if (words.n != 1)
        return err_set(err, ERR_USAGE,
                       "which model? usage: ferry export MODEL to=PROGRAM out=DIR");
    if (!c.out[0])
        return err_set(err, ERR_USAGE, "out is not set: where shall the model go?");
    snprintf(made_by, sizeof made_by, "ferry " FERRY_VERSION " %s", commit_text);
    return exporting_run(&c, words.word[0], made_by, stdout, err);
}
