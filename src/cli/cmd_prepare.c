#include <inttypes.h>
#include <stdio.h>

#include "base/progress.h"
#include "cli/cmd.h"
#include "corpus/prepare.h"

const struct opt_table cmd_prepare_options = {prepare_config_rows, PREPARE_N_OPTIONS};

static void print_dropped(const struct prepare_stats *s)
{
    for (enum clean_verdict v = 0; v < N_CLEAN; v++)
        if (v != CLEAN_KEEP && s->n_verdict[v])
            printf("%12" PRIu64 "  dropped: %s\n", s->n_verdict[v], clean_why(v));
}

static void print_set(const char *name, const struct prepare_set_stats *s)
{
    const struct prepare_side_stats *src = &s->side[PAIRS_SOURCE];
    const struct prepare_side_stats *tgt = &s->side[PAIRS_TARGET];

    if (!s->n_pairs)
        return;
    printf("%12" PRIu64 "  %s pairs: %" PRIu64 " source and %" PRIu64
           " target tokens, longest %" PRIu64 " and %" PRIu64 ", unknown %" PRIu64
           " and %" PRIu64 "\n",
           s->n_pairs, name, src->n_tokens, tgt->n_tokens, src->longest, tgt->longest,
           src->n_unknown, tgt->n_unknown);
}

static void print_summary(const struct prepare_stats *s, const char *out)
{
    printf("%12" PRIu64 "  pairs read\n", prepare_stats_read(s));
    print_dropped(s);
    for (enum prepare_set set = 0; set < N_PREPARE_SETS; set++)
        print_set(prepare_stats_set_name(set), &s->set[set]);
    printf("%12" PRIu64 "  pieces in the vocabulary\n", s->n_pieces);
    printf("data directory %s\n", out);
}

status cmd_prepare(int argc, char **argv, struct err *err)
{
    struct progress progress = progress_to(stderr);
    struct opt_words words = {.max = 0};
    struct prepare_config config;
    struct prepare_stats stats;

    TRY(opt_defaults(cmd_prepare_options, &config, err));
    TRY(opt_parse(cmd_prepare_options, &config, &words, argc, argv, err));
    if (prepare_run(&config, &progress, &stats, err) != OK) {
        if (progress.is_open)
            fputc('\n', stderr); /* the error gets a line of its own */
        return err->code;
    }
    print_summary(&stats, config.out);
    return OK;
}
