#include "decode/translate.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "decode/joint.h"
#include "decode/segments.h"
#include "decode/target_limit.h"
#include "text/subword/encoder.h"
#include "text/unicode.h"

OPT_TABLE(translate_config_table, struct translate_config, TRANSLATE_OPTIONS);

status translate_config_check(const struct translate_config *c, struct err *err)
{
    if (c->nbest > c->beam)
        return err_set(err, ERR_USAGE,
                       "nbest = %lld: a beam of %lld finds at most as many; raise beam",
                       (long long)c->nbest, (long long)c->beam);
    return OK;
}

static bool has_word(struct line text)
{
    for (size_t at = 0, len; at < text.n_bytes; at += len) {
        const uint32_t code = utf8_decode(text.text + at, text.n_bytes - at, &len);
        if (unicode_is_letter(code) || unicode_is_digit(code))
            return true;
    }
    return false;
}

/* Which pieces a reader sees when they stand alone, and which hold letters or digits. */
static status find_text(struct translator *t, struct err *err)
{
    const size_t n = spm_size(t->spm);
    RELEASED_BY(str_release) struct str text = str_new(0);

    TRY(mem_alloc(&t->is_text, n, sizeof *t->is_text, err));
    TRY(mem_alloc(&t->is_word, n, sizeof *t->is_word, err));
    for (size_t i = ID_UNK; i < n; i++) {
        const int32_t id = (int32_t)i;
        str_reset(&text);
        TRY(spm_decode(t->spm, &id, 1, &text, err));
        const struct line piece = {text.data, text.len};
        t->is_text[i] = segments_is_visible(piece);
        t->is_word[i] = id != ID_UNK && has_word(piece);
    }
    return OK;
}

status translate_open(struct translator *t, struct model *m, const struct spm *spm,
                      const struct translate_config *c, struct err *err)
{
    struct beam_options options = {.width = (size_t)c->beam,
                                   .n_best = (size_t)c->nbest,
                                   .alpha = c->alpha,
                                   .min_length = (size_t)c->min_length,
                                   .n_ids = spm_size(spm)};

    *t = (struct translator){.config = *c, .spm = spm, .lang = ""};
    TRY(translate_config_check(c, err));
    TRY(spm_check_special(spm, err));
    if (spm_size(spm) > (size_t)m->config.vocab_size)
        return err_set(err, ERR_USAGE,
                       "the tokenizer has %zu pieces, the model a vocabulary of %lld; "
                       "they do not belong together",
                       spm_size(spm), (long long)m->config.vocab_size);
    TRY(find_text(t, err));
    TRY(encoder_new(&t->encoder, spm, 0, err));
    options.is_text = t->is_text;
    search_init(&t->search, m, options, (size_t)c->max_repeats);
    return OK;
}

void translate_close(struct translator *t)
{
    if (t->encoder)
        search_close(&t->search);
    encoder_free(t->encoder);
    free(t->is_text);
    free(t->is_word);
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

/* A translation of a segment; its text is [at, at + n_bytes) of the job's. */
struct part {
    size_t at, n_bytes;
    double log_prob;
    size_t n_tokens; /* generated */
};

/* The translations of a segment, best first. */
struct found {
    size_t first, n; /* of all parts */
};

struct source {
    size_t segment, n; /* n: ids */
};

/* What happened to a line. */
struct marks {
    bool is_lengthened, is_unrepeated, is_copied, is_stopped;
};

/* One call's work: the segments of all lines, in the order of translation, and what
 * became of each. */
struct job {
    struct translator *t;
    struct segments in;
    struct source *sources; /* the n segments that have pieces */
    size_t n;
    struct spm_ids batch; /* ids of a batch, packed */
    int32_t *batch_at;    /* [n + 1] */
    size_t *batch_max;    /* [n] */
    struct spm_ids words; /* a hypothesis without specials */
    struct str text;
    size_t *max_len;     /* [segments] tokens at most, S and EOS counted */
    struct part *part;   /* those of a segment behind each other */
    size_t n_part, cap;  /* all parts */
    struct found *found; /* [segments] */
    size_t *n_left;      /* [lines] segments that are not translated yet */
    struct marks *mark;  /* [lines] */
};

/* What was appended to j->text from `at` on is the segment's next translation. */
static status add_part(struct job *j, size_t segment, size_t at, double log_prob,
                       size_t n_tokens, struct err *err)
{
    struct found *found = &j->found[segment];

    TRY(mem_grow(&j->part, &j->cap, j->n_part + 1, sizeof *j->part, err));
    if (!found->n++)
        found->first = j->n_part;
    j->part[j->n_part++] = (struct part){at, j->text.len - at, log_prob, n_tokens};
    return OK;
}

/* The segment itself in place of a translation, unless that may be empty. */
static status copy_source(struct job *j, size_t segment, double log_prob, size_t n_tokens,
                          struct err *err)
{
    const struct segment *s = &j->in.segment[segment];
    const size_t at = j->text.len;

    if (!j->t->config.min_length)
        return add_part(j, segment, at, log_prob, n_tokens, err);
    for (size_t i = 0; i < s->text.n_bytes; i++)
        if (s->text.text[i])
            str_putc(&j->text, s->text.text[i]);
        else
            str_puts(&j->text, "\xEF\xBF\xBD"); /* texts end at a NUL */
    j->mark[s->line].is_copied = true;
    return add_part(j, segment, at, log_prob, n_tokens, err);
}

static void finish(struct job *j, size_t segment)
{
    if (--j->n_left[j->in.segment[segment].line] == 0)
        j->t->n_done++;
}

/* Longest first, so that too little memory shows at once; then in order. */
static int by_length(const void *a, const void *b)
{
    const struct source *x = a, *y = b;

    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return (x->segment > y->segment) - (x->segment < y->segment);
}

static status take_room(struct job *j, struct err *err)
{
    const size_t n = j->in.n, n_lines = j->in.n_lines;

    j->text = str_new(SIZE_MAX / 2);
    TRY(mem_alloc(&j->sources, n, sizeof *j->sources, err));
    TRY(mem_alloc(&j->batch_at, n + 1, sizeof *j->batch_at, err));
    TRY(mem_alloc(&j->batch_max, n, sizeof *j->batch_max, err));
    TRY(mem_alloc(&j->max_len, n, sizeof *j->max_len, err));
    TRY(mem_alloc(&j->found, n, sizeof *j->found, err));
    TRY(mem_alloc(&j->n_left, n_lines, sizeof *j->n_left, err));
    return mem_alloc(&j->mark, n_lines, sizeof *j->mark, err);
}

/* Is there a piece with text in it that is not unknown? The model cannot translate what
 * it cannot see, and would make something up. */
static bool is_known(const struct job *j, const struct segment *s)
{
    const int32_t *id = j->in.ids.id + s->at;

    for (size_t i = 0; i < s->n; i++)
        if (j->t->is_word[id[i]])
            return true;
    return s->n && !j->t->config.min_length;
}

/* Lines without text are done at once, and so are segments without a known letter or
 * digit. */
static status begin(struct job *j, const struct line *lines, size_t n, struct err *err)
{
    struct translator *t = j->t;
    const struct segments_options o = {.max_length = (size_t)t->config.max_length,
                                       .splits = t->config.split,
                                       .lang = t->lang,
                                       .refuses_invalid =
                                           strcmp(t->config.invalid, "refuse") == 0,
                                       .n_lines_before = t->n_done - t->n_done_before};

    TRY(segments_make(&j->in, t->encoder, lines, n, &o, err));
    TRY(take_room(j, err));
    for (size_t i = 0; i < n; i++) {
        j->n_left[i] = j->in.line[i].n;
        t->n_done += j->n_left[i] == 0;
    }
    for (size_t i = 0; i < j->in.n; i++)
        if (is_known(j, &j->in.segment[i])) {
            j->sources[j->n++] = (struct source){i, j->in.segment[i].n};
            j->max_len[i] = j->in.segment[i].n - 2; /* pieces, so far */
        } else {
            TRY(copy_source(j, i, 0, 0, err));
            finish(j, i);
        }
    for (size_t i = 0; i < n; i++)
        target_limit_share(j->max_len + j->in.line[i].first, j->in.line[i].n,
                           (size_t)t->config.extra_decode_length);
    if (j->n)
        qsort(j->sources, j->n, sizeof *j->sources, by_length);
    return OK;
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
        const size_t segment = j->sources[first + i].segment;
        const struct segment *s = &j->in.segment[segment];
        TRY(mem_grow(&to->id, &to->cap, to->n + s->n, sizeof *to->id, err));
        memcpy(to->id + to->n, j->in.ids.id + s->at, s->n * sizeof *to->id);
        to->n += s->n;
        j->batch_at[i + 1] = (int32_t)to->n;
        j->batch_max[i] = j->max_len[segment];
    }
    return OK;
}

/* Tokens with a text: no pad, S or EOS, and no row of the model beyond the tokenizer. A
 * hypothesis that a reader would not see is left out. */
static status put_hypothesis(struct job *j, size_t segment, struct beam_hypothesis h,
                             struct err *err)
{
    const size_t n_pieces = spm_size(j->t->spm), at = j->text.len;

    j->words.n = 0;
    for (size_t i = 0; i < h.n; i++)
        if (h.token[i] >= ID_UNK && (size_t)h.token[i] < n_pieces)
            TRY(spm_ids_add(&j->words, h.token[i], err));
    if (j->words.n)
        TRY(spm_decode(j->t->spm, j->words.id, j->words.n, &j->text, err));
    TRY(str_check(&j->text, "the translations", err));
    if (!j->t->config.min_length ||
        segments_is_visible((struct line){j->text.data + at, j->text.len - at}))
        return add_part(j, segment, at, h.log_prob, h.n, err);
    j->text.len = at;
    return OK;
}

/* The results of sentence i of the batch, or its source when the model has none. */
static status put_results(struct job *j, size_t i, size_t segment, struct err *err)
{
    const struct beam *beam = j->t->search.beam;
    const struct beam_acts acts = beam_acts(beam, i);
    const struct beam_hypothesis best = beam_get(beam, i, 0);
    struct marks *mark = &j->mark[j->in.segment[segment].line];

    mark->is_lengthened |= acts.min_length;
    mark->is_unrepeated |= acts.repeats;
    mark->is_stopped |= !best.is_finished && best.n == j->max_len[segment];
    for (size_t rank = 0; rank < beam_found(beam, i); rank++)
        TRY(put_hypothesis(j, segment, beam_get(beam, i, rank), err));
    if (!j->found[segment].n)
        TRY(copy_source(j, segment, best.log_prob, best.n, err));
    finish(j, segment);
    return OK;
}

static status run_batch(struct job *j, size_t first, size_t n, struct err *err)
{
    TRY(pack(j, first, n, err));
    TRY(search_run(
        &j->t->search,
        &(struct search_batch){n, j->batch.n, j->batch_at, j->batch.id, j->batch_max},
        err));
    for (size_t i = 0; i < n; i++)
        TRY(put_results(j, i, j->sources[first + i].segment, err));
    if (j->t->progress)
        progress_update(j->t->progress, j->t->n_done);
    return OK;
}

/* Append a line's translation of this rank: the segments' translations of the same rank,
 * or their last, with what stands between the segments between them. Where nothing does,
 * as between sentences of Chinese, the translations may need a blank. */
static status join_rank(const struct job *j, struct translations *out, size_t i,
                        size_t rank, struct err *err)
{
    const struct segments_line *line = &j->in.line[i];
    const size_t at = out->text.len;
    const char *next = line->text.text; /* of the line's text */
    size_t n_tokens = 0;
    double log_prob = 0;

    for (size_t k = line->first; k < line->first + line->n; k++) {
        const struct segment *s = &j->in.segment[k];
        const struct found found = j->found[k];
        const struct part *p =
            &j->part[found.first + (rank < found.n ? rank : found.n - 1)];
        const struct line before = {str_text(&out->text) + at, out->text.len - at};
        const struct line after = {j->text.data + p->at, p->n_bytes};
        if (s->text.text == next && !s->is_torn && joint_needs_blank(before, after))
            str_putc(&out->text, ' ');
        str_add(&out->text, next, (size_t)(s->text.text - next));
        str_add(&out->text, after.text, after.n_bytes);
        next = s->text.text + s->text.n_bytes;
        log_prob += p->log_prob;
        n_tokens += p->n_tokens;
    }
    if (line->n)
        str_add(&out->text, next, (size_t)(line->text.text + line->text.n_bytes - next));
    const double penalty = beam_penalty(n_tokens, j->t->config.alpha);
    return translate_add(out, i, at, n_tokens ? log_prob / penalty : 0, err);
}

static status join(const struct job *j, struct translations *out, struct err *err)
{
    TRY(str_check(&j->text, "the translations", err));
    for (size_t i = 0; i < j->in.n_lines; i++) {
        const struct segments_line *line = &j->in.line[i];
        size_t n_found = 1;
        for (size_t k = line->first; k < line->first + line->n; k++)
            n_found = j->found[k].n > n_found ? j->found[k].n : n_found;
        for (size_t rank = 0; rank < n_found; rank++)
            TRY(join_rank(j, out, i, rank, err));
    }
    return OK;
}

static void count(const struct job *j)
{
    struct translator *t = j->t;

    for (size_t i = 0; i < j->in.n_lines; i++) {
        t->n_cut += j->in.line[i].is_cut;
        t->n_divided += j->in.line[i].is_divided;
        t->n_invalid += j->in.line[i].is_invalid;
        t->n_lengthened += j->mark[i].is_lengthened;
        t->n_unrepeated += j->mark[i].is_unrepeated;
        t->n_copied += j->mark[i].is_copied;
        t->n_stopped += j->mark[i].is_stopped;
    }
}

static status run(struct job *j, const struct line *lines, size_t n,
                  struct translations *out, struct err *err)
{
    TRY(translate_reserve(out, n, (size_t)j->t->config.nbest, err));
    TRY(begin(j, lines, n, err));
    for (size_t first = 0, size; first < j->n; first += size) {
        size = batch_size(j, first);
        TRY(run_batch(j, first, size, err));
    }
    TRY(join(j, out, err));
    count(j);
    return OK;
}

status translate_lines(struct translator *t, const struct line *lines, size_t n,
                       struct translations *out, struct err *err)
{
    struct job j = {.t = t};
    const status result = run(&j, lines, n, out, err);

    segments_release(&j.in);
    spm_ids_release(&j.batch);
    spm_ids_release(&j.words);
    str_release(&j.text);
    free(j.sources);
    free(j.batch_at);
    free(j.batch_max);
    free(j.max_len);
    free(j.part);
    free(j.found);
    free(j.n_left);
    free(j.mark);
    return result;
}
