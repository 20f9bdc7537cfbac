#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "bench/bench.h"
#include "text/subword/encoder.h"
#include "text/subword/spm_train.h"

/* What one thread does with its share of the lines. */
struct share {
    struct lines lines;
    struct word_counts *words;
    struct spm_ids ids;
    uint64_t n_lines, n_ids, sum; /* a checksum of the ids */
    status s;
    struct err err;
};

struct job {
    const struct spm *spm;
    bool is_own; /* our encoder, not the library's */
    struct share *share;
    size_t n;
};

struct result {
    double t_count, t_learn, t_own_one, t_own, t_library_one, t_library;
    uint64_t n_lines, n_ids, n_words, n_pieces, sum;
    double peak_mib;
};

/* Parts of about equal size that end where a line ends. */
static void deal(struct job *j, const struct file_map *text)
{
    size_t start = 0;

    for (size_t i = 0; i < j->n; i++) {
        size_t end = i + 1 == j->n ? text->n_bytes : text->n_bytes / j->n * (i + 1);
        if (end < start)
            end = start;
        const void *stop = end < text->n_bytes
                               ? memchr(text->data + end, '\n', text->n_bytes - end)
                               : NULL;
        end =
            stop ? (size_t)((const unsigned char *)stop - text->data) + 1 : text->n_bytes;
        j->share[i].lines = lines_over(text->data + start, end - start);
        start = end;
    }
}

static void count_share(void *ctx, size_t part, size_t n_parts)
{
    struct share *s = &((struct job *)ctx)->share[part];
    struct line line;

    (void)n_parts;
    while (s->s == OK && lines_next(&s->lines, &line))
        s->s = word_counts_add(s->words, line, &s->err);
}

static status encode_line(const struct job *j, struct encoder *e, struct line line,
                          struct share *s)
{
    s->ids.n = 0;
    if (j->is_own)
        TRY(encoder_encode(e, line, &s->ids, &s->err));
    else
        TRY(spm_encode(j->spm, line, &s->ids, &s->err));
    for (size_t i = 0; i < s->ids.n; i++)
        s->sum = s->sum * 31 + (uint64_t)s->ids.id[i] + 1;
    s->sum = s->sum * 31;
    s->n_ids += s->ids.n;
    s->n_lines++;
    return OK;
}

static void encode_share(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    struct share *s = &j->share[part];
    struct encoder *e = NULL;
    struct line line;

    (void)n_parts;
    s->n_lines = s->n_ids = s->sum = 0;
    if (j->is_own)
        s->s = encoder_new(&e, j->spm, 0, &s->err);
    while (s->s == OK && lines_next(&s->lines, &line))
        s->s = encode_line(j, e, line, s);
    encoder_free(e);
}

/* Run fn on every share, one by this thread alone, and give its first failure. */
static status run(struct job *j, const struct file_map *text, struct pool *pool,
                  pool_fn *fn, double *t, struct err *err)
{
    const double start = clock_now();

    deal(j, text);
    if (j->n == 1)
        fn(j, 0, 1);
    else
        pool_run(pool, fn, j);
    *t = clock_now() - start;
    for (size_t i = 0; i < j->n; i++)
        if (j->share[i].s != OK) {
            *err = j->share[i].err;
            return j->share[i].s;
        }
    return OK;
}

static status learn(struct job *j, const struct bench *b, const struct file_map *text,
                    struct pool *pool, struct spm **spm, struct result *r,
                    struct err *err)
{
    const struct spm_train_options options = {.vocab_size = (size_t)b->config->vocab_size,
                                              .is_at_most = true};
    double start = clock_now(), ignored;

    for (size_t i = 0; i < j->n; i++)
        TRY(word_counts_new(&j->share[i].words, (struct word_counts_options){0}, err));
    TRY(run(j, text, pool, count_share, &ignored, err));
    for (size_t i = 1; i < j->n; i++)
        TRY(word_counts_merge(j->share[0].words, j->share[i].words, err));
    TRY(word_counts_finish(j->share[0].words, err));
    r->t_count = clock_now() - start;
    r->n_words = word_counts_size(j->share[0].words);
    start = clock_now();
    TRY(spm_train_words(spm, options, j->share[0].words, err));
    r->t_learn = clock_now() - start;
    return b->config->out[0] ? spm_save(*spm, b->config->out, err) : OK;
}

/* Encode with both encoders; their ids must be equal. */
static status encode(struct job *j, const struct file_map *text, struct pool *pool,
                     double *t_own, double *t_library, struct err *err)
{
    uint64_t sum = 0, other = 0;

    j->is_own = true;
    TRY(run(j, text, pool, encode_share, t_own, err));
    for (size_t i = 0; i < j->n; i++)
        sum = sum * 31 + j->share[i].sum;
    j->is_own = false;
    TRY(run(j, text, pool, encode_share, t_library, err));
    for (size_t i = 0; i < j->n; i++)
        other = other * 31 + j->share[i].sum;
    if (sum != other)
        return err_set(err, ERR_NUMERIC,
                       "our encoder and SentencePiece's give different ids");
    return OK;
}

static void report(const struct bench *b, const struct result *r)
{
    const double n = (double)r->n_lines;

    if (b->config->json) {
        char sum[17];
        snprintf(sum, sizeof sum, "%016llx", (unsigned long long)r->sum);
        bench_json(b,
                   json_pack("{ss, sI, sI, sI, sI, ss, sI, sf, sf, sf, sf, sf, sf, sf}",
                             "bench", "text", "lines", (json_int_t)r->n_lines, "ids",
                             (json_int_t)r->n_ids, "words", (json_int_t)r->n_words,
                             "pieces", (json_int_t)r->n_pieces, "sum", sum, "threads",
                             (json_int_t)b->threads, "count_s", r->t_count, "learn_s",
                             r->t_learn, "encode_one_s", r->t_own_one, "encode_s",
                             r->t_own, "library_one_s", r->t_library_one, "library_s",
                             r->t_library, "peak_mib", r->peak_mib));
        return;
    }
    if (!b->config->tokenizer[0])
        fprintf(b->out,
                "learn     %.0f lines, %llu different words: counted in %.2f s on %zu "
                "threads, %llu pieces learned in %.2f s, peak %.0f MiB\n",
                n, (unsigned long long)r->n_words, r->t_count, b->threads,
                (unsigned long long)r->n_pieces, r->t_learn, r->peak_mib);
    if (r->t_own_one > 0)
        fprintf(b->out,
                "encode    1 thread: %.0f lines/s, the library %.0f, %.1f times; %zu "
                "threads: %.0f, %.0f, %.1f times; the same ids\n",
                n / r->t_own_one, n / r->t_library_one, r->t_library_one / r->t_own_one,
                b->threads, n / r->t_own, n / r->t_library, r->t_library / r->t_own);
}

static status measure(const struct bench *b, struct job *j, const struct file_map *text,
                      struct pool *pool, struct result *r, struct err *err)
{
    struct spm *spm = NULL;
    struct job one = {.share = j->share, .n = 1};
    struct lines all = lines_over(text->data, text->n_bytes);
    status s = b->config->tokenizer[0] ? spm_load(&spm, b->config->tokenizer, err)
                                       : learn(j, b, text, pool, &spm, r, err);

    r->n_pieces = s == OK ? spm_size(spm) : 0;
    r->n_lines = lines_count(&all);
    r->peak_mib = bench_peak_mib();
    j->spm = one.spm = spm;
    if (s == OK && !b->config->learn_only) {
        s = encode(&one, text, NULL, &r->t_own_one, &r->t_library_one, err);
        r->n_ids = j->share[0].n_ids;
        r->sum = j->share[0].sum;
        THEN(s, encode(j, text, pool, &r->t_own, &r->t_library, err));
    }
    spm_free(spm);
    return s;
}

status bench_text(const struct bench *b, struct err *err)
{
    const struct bench_config *c = b->config;
    struct job j = {.n = b->threads};
    struct result r = {0};
    struct file_map text;
    struct pool *pool;
    status s;

    if (!c->text[0])
        return err_set(err, ERR_USAGE,
                       "text is missing; name a file with one sentence per line");
    if (c->tokenizer[0] && (c->out[0] || c->learn_only))
        return err_set(err, ERR_USAGE,
                       "tokenizer = %s leaves nothing to learn; leave out tokenizer, or "
                       "out and learn_only",
                       c->tokenizer);
    TRY(file_map_open(&text, c->text, err));
    s = pool_open(&pool, b->threads, false, err);
    THEN(s, mem_alloc(&j.share, j.n, sizeof *j.share, err));
    THEN(s, measure(b, &j, &text, pool, &r, err));
    for (size_t i = 0; j.share && i < j.n; i++) {
        word_counts_free(j.share[i].words);
        spm_ids_release(&j.share[i].ids);
    }
    free(j.share);
    pool_close(pool);
    file_map_close(&text);
    if (s == OK)
        report(b, &r);
    return s;
}
