#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "cli/cmd.h"
#include "sample/gloss.h"
#include "sample/sample.h"

static void print_summary(const struct sample_stats *s, const char *dir)
{
    for (enum sample_split split = 0; split < N_SPLITS; split++)
        printf("%12" PRIu64 "  pairs in %s/%s.{en,de}\n", s->n_pairs[split], dir,
               sample_split_name(split));
    printf("%12" PRIu64 "  English words, %" PRIu64 " different\n", s->n_words[SIDE_EN],
           s->n_types[SIDE_EN]);
    printf("%12" PRIu64 "  German words, %" PRIu64 " different\n", s->n_words[SIDE_DE],
           s->n_types[SIDE_DE]);
    printf("              test.gloss: test.en word for word, by dictionary\n");
}

status cmd_sample(int argc, char **argv, struct err *err)
{
    struct opt_words words = {.max = 1};
    struct sample_options options;
    struct sample_stats stats;
    char from[FILE_PATH_MAX], to[FILE_PATH_MAX];

    TRY(opt_read(sample_options_table, &options, &words, argc, argv, err));
    if (words.n == 0)
        return err_set(err, ERR_USAGE,
                       "which directory? usage: ferry sample DIR [--pairs N] [--seed S]");
    TRY(sample_write(&options, words.word[0], &stats, err));
    /* what a dictionary makes of the test set: the score that a model has to beat */
    TRY(file_join(from, sizeof from, words.word[0], "test.en", err));
    TRY(file_join(to, sizeof to, words.word[0], "test.gloss", err));
    TRY(gloss_file(from, to, err));
    print_summary(&stats, words.word[0]);
    return OK;
}
