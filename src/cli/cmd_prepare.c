#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/progress.h"
#include "bench/bench.h"
#include "cli/cmd.h"
#include "corpus/dataset.h"
#include "prepare/prepare.h"
#include "train/run/proposal.h"

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
    if (!n[OVERLAP_SOURCE] && !n[OVERLAP_TARGET])
        return;
    if (n[OVERLAP_PAIR])
        printf("%" PRIu64 " of the %s pairs are in the %s;", n[OVERLAP_PAIR], set, text);
    else
        printf("No %s pair is in the %s;", set, text);
    printf(" %" PRIu64 " of its source and %" PRIu64 " of its target sentences are.\n",
           n[OVERLAP_SOURCE], n[OVERLAP_TARGET]);
}

/* "de (99 % sure)", or as given; a guess that contradicts it is said. */
static void print_language(const char *side, const struct prepare_language *l)
{
    const struct language_guess *g = &l->guess;
    const int percent = (int)(100 * g->confidence); /* never rounded up to 100 */
    const bool is_given = strcmp(l->name, g->name) != 0;

    if (!*l->name)
        printf("%s language unknown; name it with %s_lang=CODE\n", side, side);
    else if (!is_given)
        printf("%s language %s (%d %% sure)\n", side, l->name, percent);
    else if (*g->name && strncmp(l->name, g->name, 2) != 0)
        printf("%s language %s, as given; the text looks like %s (%d %% sure)\n", side,
               l->name, g->name, percent);
    else
        printf("%s language %s, as given\n", side, l->name);
}

static void warn_without_valid(const struct prepare_stats *s)
{
    if (!s->set[PREPARE_VALID].n_pairs)
        printf("warning: there is no validation set: training will keep no best model, "
               "cannot stop by itself, and shows no validation loss and no BLEU; "
               "valid=1000 draws one from the text\n");
}

static void warn_of_languages(const struct prepare_stats *s)
{
    const char *name = s->language[PAIRS_SOURCE].name;

    if (*name && strcmp(name, s->language[PAIRS_TARGET].name) == 0)
        printf("warning: both sides are %s: the model will learn to copy; if one is not, "
               "name it with source_lang= or target_lang=\n",
               name);
}

/* Frequent sentences in a held-out set take much of the training text with them. */
static void warn_of_held_out(const struct prepare_stats *s)
{
    const uint64_t n = s->n_reason[FILTER_HELD_OUT], all = n + s->n_reason[CLEAN_KEEP];

    if (n > all / 10)
        printf("warning: %" PRIu64 " of %" PRIu64
               " training pairs (%.0f %%) were dropped "
               "because they share a sentence with a held-out set; prepare.json shows "
               "some of them\n",
               n, all, percent(n, all));
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
    if (s->weights.n_other)
        printf("%12" PRIu64 "  of them do not count 1: weights from %g to %g, %g on "
               "average\n",
               s->weights.n_other, s->weights.least, s->weights.most,
               s->weights.sum / (double)s->n_pairs);
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
    print_language("source", &s->language[PAIRS_SOURCE]);
    print_language("target", &s->language[PAIRS_TARGET]);
    warn_of_languages(s);
    warn_without_valid(s);
    warn_of_held_out(s);
    printf("data directory %s\n", out);
}

/* Ten seconds tell the speed; a short training is not measured for longer than a
 * tenth of it, as far as that can be guessed. */
static double seconds_of(const struct proposal *p)
{
    const double guess = p->n_tokens * p->n_parameters / 5e10;

    return guess / 10 < 10 ? guess / 10 : 10;
}

static void say_proposal(const struct proposal *p, const char *out)
{
    const struct train_config *c = &p->config;
    char time[PROPOSAL_TIME];

    printf("proposal %s/" DATASET_PROPOSAL ": %.1f million parameters (width %" PRId64
           ", %" PRId64 "+%" PRId64 " layers), %" PRId64 " steps, about %" PRId64
           " passes over the text\n",
           out, p->n_parameters / 1e6, c->model.d_model, c->model.encoder_layers,
           c->model.decoder_layers, c->max_steps, p->epochs);
    if (p->seconds > 0)
        printf("training takes about %s here, at %.0f tokens per second\n",
               proposal_say_time(time, p->seconds), p->tokens_per_s);
    printf("next: ferry train data=%s run=RUN\n", out);
}

/* What fits this corpus, and how long that takes here. The file is there before the time
 * is known, so that whoever stops the measurement has it. */
static status propose(const struct prepare_config *config, const struct prepare_stats *s,
                      struct progress *progress, struct err *err)
{
    const struct prepare_set_stats *train = &s->set[PREPARE_TRAIN];
    const struct prepare_set_stats *valid = &s->set[PREPARE_VALID];
    const uint64_t longest[] = {train->side[0].longest, train->side[1].longest};
    const struct proposal_corpus corpus = {.n_pairs = train->n_pairs,
                                           .n_source = train->side[PAIRS_SOURCE].n_tokens,
                                           .n_target = train->side[PAIRS_TARGET].n_tokens,
                                           .longest = longest[longest[1] > longest[0]],
                                           .n_valid = valid->n_pairs,
                                           .n_valid_tokens = valid->side[0].n_tokens +
                                                             valid->side[1].n_tokens,
                                           .n_pieces = s->n_pieces,
                                           .source_lang = s->language[PAIRS_SOURCE].name,
                                           .target_lang = s->language[PAIRS_TARGET].name};
    char path[FILE_PATH_MAX];
    struct err failure = {0};
    struct proposal p;
    double rate;

    TRY(file_join(path, sizeof path, config->out, DATASET_PROPOSAL, err));
    TRY(proposal_make(&p, corpus, err));
    TRY(proposal_write(&p, path, err));
    if (config->measure) {
        snprintf(p.config.data, sizeof p.config.data, "%s", config->out);
        p.config.threads = config->threads;
        if (bench_rate(&p.config, seconds_of(&p), progress, &rate, &failure) == OK) {
            proposal_time(&p, rate);
            TRY(proposal_write(&p, path, err));
        } else {
            progress_note(progress, failure.msg); /* the data directory is whole */
        }
    }
    say_proposal(&p, config->out);
    return OK;
}

/* The error gets a line of its own. */
static status failed(const struct progress *progress, struct err *err)
{
    if (progress->is_open)
        fputc('\n', stderr);
    return err->code;
}

status cmd_prepare(int argc, char **argv, struct err *err)
{
    struct progress progress = progress_to(stderr);
    struct opt_words words = {.max = 1};
    struct prepare_config config;
    struct prepare_stats stats;

    TRY(opt_read(prepare_config_table, &config, &words, argc, argv, err));
    if (words.n)
        return err_set(err, ERR_USAGE,
                       "what is '%.200s'? a file with both sides: pairs=%.200s; else "
                       "source=FILE target=FILE",
                       words.word[0], words.word[0]);
    if (prepare_run(&config, &progress, &stats, err) != OK)
        return failed(&progress, err);
    print_summary(&stats, config.out);
    if (propose(&config, &stats, &progress, err) != OK)
        return failed(&progress, err);
    return OK;
}
