#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "corpus/checksum.h"
#include "corpus/dataset.h"
#include "prepare/prepare_stages.h"
#include "text/subword/encoder.h"
#include "text/subword/spm_train.h"
#include "text/subword/word_counts.h"

/* A given model is tried on about this many pairs, evenly spread. */
enum { TRIAL_PAIRS = 20000 };

/* Each thread counts the words of its part of a batch in a table of its own. */
struct counting {
    struct prepare *p;
    struct word_counts **table; /* [n_tables], one per thread */
    size_t n_tables;
};

static status count_range(void *ctx, const struct prepare_batch *b, size_t part,
                          struct pool_range range, struct err *err)
{
    const struct counting *c = ctx;

    for (size_t i = range.begin; i < range.end; i++) {
        const struct pairs_row row = prepare_batch_row(b, i);
        TRY(word_counts_add(c->table[part],
                            marks_without(&c->p->marks, row.side[PAIRS_SOURCE]), err));
        TRY(word_counts_add(c->table[part], row.side[PAIRS_TARGET], err));
    }
    return OK;
}

static status open_counting(struct counting *c, struct err *err)
{
    const size_t n = pool_size(c->p->pool);
    const uint64_t budget = prepare_budget(c->p);
    /* The first table takes up all others at the end and drops the rarest words that it
     * cannot hold: its size must not depend on the number of threads. */
    struct word_counts_options options = {.max_bytes = (size_t)(budget / 3)};

    TRY(mem_alloc(&c->table, n, sizeof(struct word_counts *), err));
    for (; c->n_tables < n; c->n_tables++) {
        TRY(word_counts_new(&c->table[c->n_tables], options, err));
        options.max_bytes = (size_t)(budget / 8 / n);
    }
    return OK;
}

static void close_counting(struct counting *c)
{
    for (size_t i = 0; i < c->n_tables; i++)
        word_counts_free(c->table[i]);
    free(c->table);
}

static status count_words(struct counting *c, struct err *err)
{
    const struct prepare_job job = {
        .label = "counting words", .work = count_range, .ctx = c};

    TRY(prepare_batch_run(c->p, &job, err));
    for (size_t i = 1; i < c->n_tables; i++)
        TRY(word_counts_merge(c->table[0], c->table[i], err));
    return word_counts_finish(c->table[0], err);
}

size_t prepare_vocab_size(uint64_t n_pairs)
{
    static const struct {
        double pairs, pieces;
    } at[] = {{3e4, 1024}, {1e6, 8000}, {4e6, 32768}};
    const double n = fmin((double)n_pairs, at[2].pairs);
    const int i = n > at[1].pairs;
    const double slope =
        log(at[i + 1].pieces / at[i].pieces) / log(at[i + 1].pairs / at[i].pairs);
    const double size = at[i].pieces * pow(n / at[i].pairs, slope);

    return 64 * (size_t)fmax(4, round(size / 64));
}

static status learn(struct prepare *p, struct err *err)
{
    const bool is_auto = !p->config->vocab_size;
    const size_t size = is_auto ? prepare_vocab_size(p->stats->n_reason[CLEAN_KEEP])
                                : (size_t)p->config->vocab_size;
    const char *mark[MARKS_MAX];
    const struct spm_train_options options = {.vocab_size = size,
                                              .is_at_most = is_auto,
                                              .n_merges = is_auto ? size / 2 : 0,
                                              .mark = mark,
                                              .n_marks = p->marks.n};
    RELEASED_BY(close_counting) struct counting c = {.p = p};

    for (size_t i = 0; i < p->marks.n; i++)
        mark[i] = p->marks.text[i];
    TRY(open_counting(&c, err));
    TRY(count_words(&c, err));
    const struct word_counts_seen seen = word_counts_seen(c.table[0]);
    progress_begin(p->progress, "learning", "pieces", 0);
    TRY(spm_train_words(&p->spm, options, c.table[0], err));
    progress_end(p->progress, spm_size(p->spm));
    p->stats->is_learned = true;
    p->stats->n_learn_lines = seen.n_lines;
    p->stats->n_too_long = seen.n_too_long;
    p->stats->n_words_forgotten = seen.n_forgotten;
    return OK;
}

/* How well a given model knows the text of each side. */
struct trial {
    const struct spm *spm;
    uint64_t n, step;                     /* pairs seen; one in `step` of them is tried */
    struct encoder *encoder[PAIRS_SIDES]; /* one twice, unless targets have their own */
    struct spm_ids ids;
    struct {
        uint64_t n_tokens, n_unknown;
        char line[80]; /* the first with an unknown piece */
    } side[PAIRS_SIDES];
};

static status try_line(struct trial *t, int s, struct line line, struct err *err)
{
    t->ids.n = 0;
    TRY(encoder_encode(t->encoder[s], line, &t->ids, err));
    for (size_t i = 0; i < t->ids.n; i++) {
        if (t->ids.id[i] == ID_UNK && !t->side[s].n_unknown)
            snprintf(t->side[s].line, sizeof t->side[s].line, "%.*s",
                     (int)(line.n_bytes < 60 ? line.n_bytes : 60), line.text);
        t->side[s].n_unknown += t->ids.id[i] == ID_UNK;
    }
    t->side[s].n_tokens += t->ids.n;
    return OK;
}

static status try_pair(void *ctx, const struct prepare_batch *b, size_t part, size_t i,
                       struct err *err)
{
    struct trial *t = ctx;
    const struct pairs_row row = prepare_batch_row(b, i);
    const struct line source = row.side[PAIRS_SOURCE];
    size_t n_mark;

    (void)part;
    if (t->n++ % t->step)
        return OK;
    (void)spm_mark(t->spm, source, &n_mark);
    TRY(try_line(t, PAIRS_SOURCE,
                 (struct line){source.text + n_mark, source.n_bytes - n_mark}, err));
    return try_line(t, PAIRS_TARGET, row.side[PAIRS_TARGET], err);
}

static void close_trial(struct trial *t)
{
    if (t->encoder[PAIRS_TARGET] != t->encoder[PAIRS_SOURCE])
        encoder_free(t->encoder[PAIRS_TARGET]);
    encoder_free(t->encoder[PAIRS_SOURCE]);
    spm_ids_release(&t->ids);
}

/* A model that was learned from other text leaves much of this one unknown. */
static status check_given(struct prepare *p, struct err *err)
{
    static const char *const names[PAIRS_SIDES] = {"source", "target"};
    RELEASED_BY(close_trial)
    struct trial t = {.spm = p->spm,
                      .step = 1 + p->stats->n_reason[CLEAN_KEEP] / TRIAL_PAIRS};
    const struct prepare_job job = {.put = try_pair, .ctx = &t};

    TRY(encoder_new(&t.encoder[PAIRS_SOURCE], p->spm, 0, err));
    t.encoder[PAIRS_TARGET] = t.encoder[PAIRS_SOURCE];
    if (spm_target(p->spm) != p->spm)
        TRY(encoder_new(&t.encoder[PAIRS_TARGET], spm_target(p->spm), 0, err));
    TRY(prepare_batch_run(p, &job, err));
    for (int s = 0; s < PAIRS_SIDES; s++) {
        const uint64_t n = t.side[s].n_tokens ? t.side[s].n_tokens : 1;
        const double share = (double)t.side[s].n_unknown / (double)n;
        if (share > p->config->max_unknown)
            return err_set(err, ERR_FORMAT,
                           "%s does not match this corpus: %.1f %% of the %s pieces are "
                           "unknown to it, as in '%s'; leave tokenizer= out to learn "
                           "one, or raise max_unknown = %g",
                           p->config->tokenizer, 100 * share, names[s], t.side[s].line,
                           p->config->max_unknown);
    }
    return OK;
}

/* The tokenizer of targets, if they have their own. */
static status save_target(struct prepare *p, struct err *err)
{
    const struct spm *target = spm_target(p->spm);
    char prefix[FILE_PATH_MAX];

    if (target == p->spm)
        return OK;
    p->stats->n_target_pieces = spm_known(target);
    TRY(file_join(prefix, sizeof prefix, p->work.final, DATASET_TARGET, err));
    TRY(spm_save(target, prefix, err));
    TRY(workdir_add(&p->work, err, "final/" DATASET_TARGET ".model"));
    return workdir_add(&p->work, err, "final/" DATASET_TARGET ".vocab");
}

static status save_vocabulary(struct prepare *p, struct err *err)
{
    char prefix[FILE_PATH_MAX];

    p->stats->n_pieces = spm_known(p->spm);
    p->stats->tokenizer_hash =
        dataset_tokenizer_hash(spm_bytes(p->spm), spm_target_bytes(p->spm));
    TRY(save_target(p, err));
    TRY(file_join(prefix, sizeof prefix, p->work.final, DATASET_VOCAB, err));
    TRY(spm_save(p->spm, prefix, err));
    TRY(workdir_add(&p->work, err, "final/" DATASET_VOCAB ".model"));
    return workdir_add(&p->work, err, "final/" DATASET_VOCAB ".vocab");
}

status prepare_stage_learn(struct prepare *p, struct err *err)
{
    struct prepare_stage_stats *s = &p->stats->stage[PREPARE_LEARN];

    TRY(p->spm ? check_given(p, err) : learn(p, err));
    s->before = s->after = p->stats->stage[PREPARE_CLEAN].after;
    return save_vocabulary(p, err);
}
