#include <signal.h>
#include <stdio.h>

#include "cli/cmd.h"
#include "cli/terminal.h"
#include "serve/serve.h"

status cmd_serve(int argc, char **argv, struct err *err)
{
    struct opt_words words = {.max = SIZE_MAX};
    struct serve_config c;

    TRY(opt_read(serve_options, &c, &words, argc, argv, err));
    if (words.n == 0)
        return err_set(err, ERR_USAGE, "which model? usage: ferry serve MODEL...");
    terminal_catch();
    signal(SIGPIPE, SIG_IGN); /* nobody reads our console any more: serve all the same */
    return serve_run(&c, words.word, words.n, stdout, &terminal_is_over, err);
}
