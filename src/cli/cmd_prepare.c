#include <inttypes.h>
#include <stdio.h>

#include "base/progress.h"
#include "cli/cmd.h"
#include "prepare/prepare.h"

static double percent(uint64_t part, uint64_t all)
{
    return all ? 100 * (double)part / (double)all : 0;
}

/* One line per reason why pairs were dropped. */
static void print_dropped(const struct prepare_stats *s)
{
    const uint64_t n_read = prepare_stats_read(s);

    printf("%12" PRIu64 "  pairs read\n", n_read);
    for (int v = 0; v < N_FILTER; v++)
        if (v != CLEAN_KEEP && s->n_reason[v])
            printf("%12" PRIu64 "  dropped (%.2f %%): %s\n", s->n_reason[v],
                   percent(s->n_reason[v], n_read), filter_why(v));
    printf("%12" PRIu64 "  kept (%.2f %%)\n", s->n_reason[CLEAN_KEEP],
           percent(s->n_reason[CLEAN_KEEP], n_read));
}

/* What a held-out set shares with another text: its score would look too good. */
static void print_shared(const char *set, const char *text, const uint64_t n[N_OVERLAP])
{
    if (n[OVERLAP_SOURCE] || n[OVERLAP_TARGET])
        printf("%12" PRIu64 "  %s pairs are in the %s; %" PRIu64
               " of their source and %" PRIu64 " of their target sentences are\n",
               n[OVERLAP_PAIR], set, text, n[OVERLAP_SOURCE], n[OVERLAP_TARGET]);
}

/* Pairs and text at the end of each stage, its time and rate, memory so far. */
static void print_stages(const struct prepare_stats *s)
{
    printf("%-8s %12s %12s %14s %9s %12s %10s\n", "stage", "pairs in", "pairs out",
           "bytes out", "seconds", "pairs/s", "peak MiB");
    for (enum prepare_stage i = 0; i < N_PREPARE_STAGES; i++) {
        const struct prepare_stage_stats *st = &s->stage[i];
        printf("%-8s %12" PRIu64 " %12" PRIu64 " %14" PRIu64 " %9.2f %12.0f %10.0f%s\n",
               prepare_stats_stage_names[i], st->before.n_pairs, st->after.n_pairs,
               st->after.n_bytes[PAIRS_SOURCE] + st->after.n_bytes[PAIRS_TARGET],
               st->seconds,
               st->seconds > 0 ? (double)st->before.n_pairs / st->seconds : 0,
               (double)st->peak_kib / 1024, st->is_resumed ? "  (earlier run)" : "");
    }
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
    print_stages(s);
    print_dropped(s);
    for (enum prepare_set set = 0; set < N_PREPARE_SETS; set++)
        print_set(prepare_stats_set_names[set], &s->set[set]);
    print_shared("validation", "training text", s->overlap[PREPARE_VALID]);
    print_shared("test", "training text", s->overlap[PREPARE_TEST]);
    print_shared("test", "validation set", s->overlap_held_out);
    if (s->n_words_forgotten)
        printf("%12" PRIu64
               "  rare words were dropped before learning: memory_mib is too small for "
               "all of them\n",
               s->n_words_forgotten);
    printf("%12" PRIu64 "  pieces in the vocabulary\n", s->n_pieces);
    printf("data directory %s\n", out);
}

status cmd_prepare(int argc, char **argv, struct err *err)
{
    struct progress progress = progress_to(stderr);
    struct opt_words words = {.max = 0};
    struct prepare_config config;
    struct prepare_stats stats;

    TRY(opt_read(prepare_config_table, &config, &words, argc, argv, err));
    if (prepare_run(&config, &progress, &stats, err) != OK) {
        if (progress.is_open)
            fputc('\n', stderr); /* the error gets a line of its own */
        return err->code;
    }
    print_summary(&stats, config.out);
    return OK;
}
