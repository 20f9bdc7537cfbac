#include "base/pool.h"
#include "bench/bench.h"
#include "cli/cmd.h"

status cmd_bench(int argc, char **argv, struct err *err)
{
    struct opt_words words = {.max = 1};
    struct bench_config c;
    char note[POOL_NOTE];

    TRY(opt_read(bench_options, &c, &words, argc, argv, err));
    if (pool_crowded(note, 1, (size_t)c.threads))
        fprintf(stderr, "%s\n", note);
    return bench_run(&c, words.n ? words.word[0] : NULL, stdout, err);
}
