#include <signal.h>
#include <stdio.h>

#include "adapt/adapt.h"
#include "cli/cmd.h"

extern const char commit_text[]; /* made by cmake/commit.cmake */

status cmd_adapt(int argc, char **argv, struct err *err)
{
    struct opt_words words = {.max = 1};
    struct adapt_config c;
    char made_by[128];

    signal(SIGPIPE, SIG_IGN); /* a reader that left ends no training */
    TRY(opt_read(adapt_options, &c, &words, argc, argv, err));
    if (words.n != 1)
        return err_set(err, ERR_USAGE,
                       "which model? usage: ferry adapt MODEL pairs=FILE run=DIR");
    snprintf(made_by, sizeof made_by, "ferry " FERRY_VERSION " %s", commit_text);
    return adapt_run(&c, words.word[0], made_by, stdout, stderr, err);
}
