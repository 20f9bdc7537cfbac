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

/* Counting by all threads: a batch of pairs, each thread its part, each its own table. */
struct counting {
    struct prepare *p;
    struct prepare_batch batch;
    struct word_counts **table; /* [n_tables], one a thread */
    struct err *err;            /* [n_tables] */
    size_t n_tables;
};

static void count_part(void *ctx, size_t part, size_t n_parts)
{
    struct counting *c = ctx;
    const struct pool_range r = pool_split(c->batch.n, part, n_parts);

    c->err[part].code = OK;
    for (size_t i = r.begin; i < r.end; i++) {
        const struct pairs_row row = prepare_batch_row(&c->batch, i);
        for (int s = 0; s < PAIRS_SIDES; s++)
            if (word_counts_add(c->table[part], row.side[s], &c->err[part]) != OK)
                return;
    }
}

static status count_batch(struct counting *c, struct err *err)
{
    pool_run(c->p->pool, count_part, c);
    for (size_t i = 0; i < c->n_tables; i++)
        if (c->err[i].code != OK) {
            *err = c->err[i];
            return err->code;
        }
    return OK;
}

static status count_text(struct counting *c, struct prepare_text *text, struct err *err)
{
    struct pairs_row row = {0};
    uint64_t n = 0;
    bool has = true;

    while (has) {
        prepare_batch_reset(&c->batch);
        while (has && !prepare_batch_is_full(&c->batch)) {
            TRY(prepare_text_next(text, row.side, &has, err));
            if (has)
                TRY(prepare_batch_add(&c->batch, &row, err));
        }
        TRY(count_batch(c, err));
        n += c->batch.n;
        progress_update(c->p->progress, n);
    }
    for (size_t i = 1; i < c->n_tables; i++)
        TRY(word_counts_merge(c->table[0], c->table[i], err));
    TRY(word_counts_finish(c->table[0], err));
    progress_end(c->p->progress, n);
    return OK;
}

static status open_counting(struct counting *c, struct prepare *p, struct err *err)
{
    const size_t n = pool_size(p->pool);
    /* The first table takes up all others at the end, and what it cannot hold is
     * forgotten: its size must not depend on the number of threads. */
    struct word_counts_options options = {.max_bytes = (size_t)(prepare_budget(p) / 3)};

    *c = (struct counting){.p = p};
    TRY(prepare_batch_open(&c->batch, err));
    TRY(mem_alloc(&c->err, n, sizeof *c->err, err));
    TRY(mem_alloc(&c->table, n, sizeof(struct word_counts *), err));
    for (; c->n_tables < n; c->n_tables++) {
        TRY(word_counts_new(&c->table[c->n_tables], options, err));
        options.max_bytes = (size_t)(prepare_budget(p) / 8 / n);
    }
    return OK;
}

static void close_counting(struct counting *c)
{
    for (size_t i = 0; i < c->n_tables; i++)
        word_counts_free(c->table[i]);
    free(c->table);
    free(c->err);
    prepare_batch_close(&c->batch);
}

static status count_words(struct counting *c, struct err *err)
{
    struct prepare_text text;

    progress_begin(c->p->progress, "counting words", "pairs",
                   c->p->stats->n_reason[CLEAN_KEEP]);
    TRY(prepare_text_open(&text, c->p, err));
    const status result = count_text(c, &text, err);
    prepare_text_close(&text);
    return result;
}

static status learn_from(struct prepare *p, const struct word_counts *words,
                         struct err *err)
{
    const struct spm_train_options options = {.vocab_size =
                                                  (size_t)p->config->vocab_size};
    const struct word_counts_seen seen = word_counts_seen(words);

    progress_begin(p->progress, "learning", "pieces", 0);
    TRY(spm_train_words(&p->spm, options, words, err));
    progress_end(p->progress, spm_size(p->spm));
    p->stats->is_learned = true;
    p->stats->n_learn_lines = seen.n_lines;
    p->stats->n_too_long = seen.n_too_long;
    p->stats->n_words_forgotten = seen.n_forgotten;
    return OK;
}

static status learn(struct prepare *p, struct err *err)
{
    struct counting c;

    status result = open_counting(&c, p, err);
    if (result == OK)
        result = count_words(&c, err);
    if (result == OK)
        result = learn_from(p, c.table[0], err);
    close_counting(&c);
    return result;
}

/* How well a given model knows the text of one side. */
struct trial {
    uint64_t n_tokens, n_unknown;
    char line[80]; /* the first with an unknown piece */
};

static status try_line(struct trial *t, struct encoder *encoder, struct line line,
                       struct spm_ids *ids, struct err *err)
{
    ids->n = 0;
    TRY(encoder_encode(encoder, line, ids, err));
    for (size_t i = 0; i < ids->n; i++) {
        if (ids->id[i] == ID_UNK && !t->n_unknown)
            snprintf(t->line, sizeof t->line, "%.*s",
                     (int)(line.n_bytes < 60 ? line.n_bytes : 60), line.text);
        t->n_unknown += ids->id[i] == ID_UNK;
    }
    t->n_tokens += ids->n;
    return OK;
}

static status try_text(struct trial trial[PAIRS_SIDES], struct prepare *p,
                       struct err *err)
{
    const uint64_t step = 1 + p->stats->n_reason[CLEAN_KEEP] / TRIAL_PAIRS;
    struct prepare_text text;
    struct spm_ids ids = {0};
    struct encoder *encoder = NULL;
    struct line side[PAIRS_SIDES];
    bool has = true;

    TRY(prepare_text_open(&text, p, err));
    status result = encoder_new(&encoder, p->spm, 0, err);
    for (uint64_t i = 0; has && result == OK; i++) {
        result = prepare_text_next(&text, side, &has, err);
        for (int s = 0; s < PAIRS_SIDES && has && result == OK && i % step == 0; s++)
            result = try_line(&trial[s], encoder, side[s], &ids, err);
    }
    prepare_text_close(&text);
    encoder_free(encoder);
    spm_ids_release(&ids);
    return result;
}

/* A model of other text than this leaves much of it unknown: better known now. */
static status check_given(struct prepare *p, struct err *err)
{
    static const char *const names[PAIRS_SIDES] = {"source", "target"};
    struct trial trial[PAIRS_SIDES] = {0};

    TRY(try_text(trial, p, err));
    for (int s = 0; s < PAIRS_SIDES; s++) {
        const double share =
            (double)trial[s].n_unknown / (double)(trial[s].n_tokens + !trial[s].n_tokens);
        if (share > p->config->max_unknown)
            return err_set(err, ERR_FORMAT,
                           "%s does not match this corpus: %.1f %% of the %s pieces are "
                           "unknown to it, as in '%s'; leave tokenizer= out to learn "
                           "one, or raise max_unknown = %g",
                           p->config->tokenizer, 100 * share, names[s], trial[s].line,
                           p->config->max_unknown);
    }
    return OK;
}

static status save_vocabulary(struct prepare *p, struct err *err)
{
    const struct line bytes = spm_bytes(p->spm);
    char prefix[FILE_PATH_MAX];

    p->stats->n_pieces = spm_size(p->spm);
    p->stats->tokenizer_hash = checksum_of(bytes.text, bytes.n_bytes);
    TRY(file_join(prefix, sizeof prefix, p->work.final, DATASET_VOCAB, err));
    TRY(spm_save(p->spm, prefix, err));
    TRY(work_add(&p->made, err, "final/" DATASET_VOCAB ".model"));
    return work_add(&p->made, err, "final/" DATASET_VOCAB ".vocab");
}

status prepare_stage_learn(struct prepare *p, struct err *err)
{
    struct prepare_stage_stats *s = &p->stats->stage[PREPARE_LEARN];

    TRY(p->spm ? check_given(p, err) : learn(p, err));
    s->before = s->after = p->stats->stage[PREPARE_CLEAN].after;
    return save_vocabulary(p, err);
}
