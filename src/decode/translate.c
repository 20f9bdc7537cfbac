#include "decode/translate.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/subword/encoder.h"

OPT_TABLE(translate_config_table, struct translate_config, TRANSLATE_OPTIONS);

status translate_config_check(const struct translate_config *c, struct err *err)
{
    if (c->nbest > c->beam)
        return err_set(err, ERR_USAGE,
                       "nbest = %lld: a beam of %lld finds at most as many; raise beam",
                       (long long)c->nbest, (long long)c->beam);
    return OK;
}

status translate_open(struct translator *t, struct model *m, const struct spm *spm,
                      const struct translate_config *c, struct err *err)
{
    const struct beam_options options = {(size_t)c->beam, (size_t)c->nbest, c->alpha};

    *t = (struct translator){.config = *c, .spm = spm};
    TRY(translate_config_check(c, err));
    TRY(spm_check_special(spm, err));
    if (spm_size(spm) > (size_t)m->config.vocab_size)
        return err_set(err, ERR_USAGE,
                       "the tokenizer has %zu pieces, the model a vocabulary of %lld; "
                       "they do not belong together",
                       spm_size(spm), (long long)m->config.vocab_size);
    TRY(encoder_new(&t->encoder, spm, 0, err));
    search_init(&t->search, m, options, (size_t)c->extra_decode_length);
    return OK;
}

void translate_close(struct translator *t)
{
    if (t->encoder)
        search_close(&t->search);
    encoder_free(t->encoder);
    *t = (struct translator){0};
}

/* ---- results ---- */

status translate_reserve(struct translations *t, size_t n_lines, size_t n_best,
                         struct err *err)
{
    size_t n_items;

    translate_release(t);
    t->text = str_new(SIZE_MAX / 2);
    TRY(mem_mul(&n_items, n_lines, n_best, err));
    TRY(mem_alloc(&t->item, n_items, sizeof *t->item, err));
    TRY(mem_alloc(&t->n_found, n_lines, sizeof *t->n_found, err));
    t->n_lines = n_lines;
    t->n_best = n_best;
    return OK;
}

void translate_release(struct translations *t)
{
    str_release(&t->text);
    free(t->item);
    free(t->n_found);
    *t = (struct translations){0};
}

status translate_add(struct translations *t, size_t line, size_t at, double score,
                     struct err *err)
{
    struct str *text = &t->text;

    BUG_ON(line >= t->n_lines || t->n_found[line] >= t->n_best);
    for (size_t i = at; i < text->len; i++)
        if (text->data[i] == '\n' || text->data[i] == '\r')
            text->data[i] = ' ';
    t->item[line * t->n_best + t->n_found[line]++] =
        (struct translation){at, text->len - at, score};
    str_putc(text, '\0');
    return str_check(text, "the translations", err);
}

const char *translate_get(const struct translations *t, size_t line, size_t rank)
{
    BUG_ON(line >= t->n_lines || rank >= t->n_found[line]);
    return t->text.data + t->item[line * t->n_best + rank].at;
}

/* ---- a call ---- */

/* A line in tokens: [at, at + n) of all ids, specials included. */
struct source {
    size_t line, at, n;
};

/* One call's work: every line's ids, and the lines in the order of translation. */
struct job {
    struct translator *t;
    struct translations *out;
    struct spm_ids ids;
    struct source *sources; /* the n lines that have tokens */
    size_t n;
    struct spm_ids batch; /* ids of a batch, packed */
    int32_t *batch_at;    /* [n + 1] */
    struct spm_ids words; /* a hypothesis without specials */
};

static status push(struct spm_ids *ids, int32_t id, struct err *err)
{
    TRY(mem_grow(&ids->id, &ids->cap, ids->n + 1, sizeof *ids->id, err));
    ids->id[ids->n++] = id;
    return OK;
}

static status put_text(struct job *j, size_t line, const int32_t *id, size_t n,
                       double score, struct err *err)
{
    struct translations *out = j->out;
    const size_t at = out->text.len;

    if (n)
        TRY(spm_decode(j->t->spm, id, n, &out->text, err));
    return translate_add(out, line, at, score, err);
}

/* S, the first max_length - 2 pieces, EOS; a line without pieces is done at once. */
static status encode_line(struct job *j, size_t i, struct line line, struct err *err)
{
    struct spm_ids *ids = &j->ids;
    const size_t at = ids->n, max = (size_t)j->t->config.max_length;

    TRY(push(ids, ID_BOS, err));
    TRY(encoder_encode(j->t->encoder, line, ids, err));
    if (ids->n == at + 1) {
        ids->n = at;
        j->t->n_done++;
        return put_text(j, i, NULL, 0, 0, err);
    }
    if (ids->n - at > max - 1) {
        ids->n = at + max - 1;
        j->t->n_cut++;
    }
    TRY(push(ids, ID_EOS, err));
    j->sources[j->n++] = (struct source){i, at, ids->n - at};
    return OK;
}

static status encode(struct job *j, const struct line *lines, size_t n, struct err *err)
{
    const uint64_t first = j->t->n_done + 1;

    TRY(mem_alloc(&j->sources, n, sizeof *j->sources, err));
    TRY(mem_alloc(&j->batch_at, n + 1, sizeof *j->batch_at, err));
    for (size_t i = 0; i < n; i++) {
        const unsigned long long number = first + i;
        if (!utf8_valid(lines[i].text, lines[i].n_bytes))
            return err_set(err, ERR_FORMAT, "line %llu is not valid UTF-8", number);
        if (encode_line(j, i, lines[i], err) != OK)
            return err_wrap(err, "line %llu", number);
    }
    return OK;
}

/* Longest first, so that too little memory shows at once; then by line. */
static int by_length(const void *a, const void *b)
{
    const struct source *x = a, *y = b;

    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return (x->line > y->line) - (x->line < y->line);
}

/* How many sources from `first` on make a batch: sentences times the longest target. */
static size_t batch_size(const struct job *j, size_t first)
{
    const struct translate_config *c = &j->t->config;
    const size_t len = j->sources[first].n + (size_t)c->extra_decode_length;
    const size_t fit = (size_t)c->batch_tokens / len, left = j->n - first;

    if (fit == 0)
        return 1;
    return fit < left ? fit : left;
}

static status pack(struct job *j, size_t first, size_t n, struct err *err)
{
    struct spm_ids *to = &j->batch;

    to->n = 0;
    for (size_t i = 0; i < n; i++) {
        const struct source *s = &j->sources[first + i];
        TRY(mem_grow(&to->id, &to->cap, to->n + s->n, sizeof *to->id, err));
        memcpy(to->id + to->n, j->ids.id + s->at, s->n * sizeof *to->id);
        to->n += s->n;
        j->batch_at[i + 1] = (int32_t)to->n;
    }
    return OK;
}

/* Tokens with a text: no pad, S or EOS, and no row of the model beyond the tokenizer. */
static status put_hypothesis(struct job *j, size_t line, struct beam_hypothesis h,
                             struct err *err)
{
    const size_t n_pieces = spm_size(j->t->spm);

    j->words.n = 0;
    for (size_t i = 0; i < h.n; i++)
        if (h.token[i] >= ID_UNK && (size_t)h.token[i] < n_pieces)
            TRY(push(&j->words, h.token[i], err));
    return put_text(j, line, j->words.id, j->words.n, h.score, err);
}

static status run_batch(struct job *j, size_t first, size_t n, struct err *err)
{
    struct search *search = &j->t->search;

    TRY(pack(j, first, n, err));
    TRY(search_run(search,
                   &(struct search_batch){n, j->batch.n, j->batch_at, j->batch.id}, err));
    for (size_t i = 0; i < n; i++)
        for (size_t rank = 0; rank < beam_found(search->beam, i); rank++)
            TRY(put_hypothesis(j, j->sources[first + i].line,
                               beam_get(search->beam, i, rank), err));
    j->t->n_done += n;
    if (j->t->progress)
        progress_update(j->t->progress, j->t->n_done);
    return OK;
}

static status run(struct job *j, const struct line *lines, size_t n, struct err *err)
{
    TRY(translate_reserve(j->out, n, (size_t)j->t->config.nbest, err));
    TRY(encode(j, lines, n, err));
    if (j->n)
        qsort(j->sources, j->n, sizeof *j->sources, by_length);
    for (size_t first = 0, size; first < j->n; first += size) {
        size = batch_size(j, first);
        TRY(run_batch(j, first, size, err));
    }
    return OK;
}

status translate_lines(struct translator *t, const struct line *lines, size_t n,
                       struct translations *out, struct err *err)
{
    struct job j = {.t = t, .out = out};
    const status result = run(&j, lines, n, err);

    spm_ids_release(&j.ids);
    spm_ids_release(&j.batch);
    spm_ids_release(&j.words);
    free(j.sources);
    free(j.batch_at);
    return result;
}
