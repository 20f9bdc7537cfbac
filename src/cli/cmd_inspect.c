#include "cli/cmd.h"
#include "inspect/inspect.h"

status cmd_inspect(int argc, char **argv, struct err *err)
{
    struct opt_words words = {.max = 64};
    struct inspect view = {.out = stdout};

    TRY(opt_read(inspect_options, &view.config, &words, argc, argv, err));
    if (words.n == 0)
        return err_set(err, ERR_USAGE, "which file? usage: ferry inspect FILE...");
    for (size_t i = 0; i < words.n; i++)
        TRY(inspect_show(&view, words.word[i], err));
    return OK;
}
