#include <stdio.h>

#include "base/progress.h"
#include "cli/cmd.h"
#include "fetch/fetch.h"

/* The next command, to be copied. */
static void print_prepare(const struct fetch_result *r, const char *dir)
{
    static const char *const prefix[N_FETCH_SETS] = {"", "valid_", "test_"};
    static const char *const name[N_FETCH_SIDES] = {"source", "target"};

    printf("next: ferry prepare out=%s.data", dir);
    for (enum fetch_set set = 0; set < N_FETCH_SETS; set++)
        for (enum fetch_side side = 0; side < N_FETCH_SIDES; side++)
            if (r->files[set][side].len)
                printf(" \\\n    %s%s=%s", prefix[set], name[side],
                       str_text(&r->files[set][side]));
    printf("\n");
}

status cmd_fetch(int argc, char **argv, struct err *err)
{
    struct progress progress = progress_to(stderr);
    struct opt_words words = {.max = 2};
    struct fetch_config config;
    struct fetch_result result;

    TRY(opt_read(fetch_config_table, &config, &words, argc, argv, err));
    if (words.n != 2)
        return err_set(err, ERR_USAGE,
                       "which corpus, and where to? usage: ferry fetch NAME DIR, NAME "
                       "being debian-de-en, wmt16-de-en or a file *.corpus");
    const status done =
        fetch_run(&config, words.word[0], words.word[1], &progress, &result, err);
    if (done == OK) {
        fputs(str_text(&result.summary), stdout);
        print_prepare(&result, words.word[1]);
    } else if (progress.is_open) {
        fputc('\n', stderr); /* the error gets a line of its own */
    }
    fetch_result_release(&result);
    return done;
}
