/*
 * A call of translate_lines(): lines to segments, segments to searches, and what was
 * found back to lines.
 */
#include "decode/translate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "decode/lines/alternatives.h"
#include "decode/lines/beginnings.h"
#include "decode/lines/joint.h"
#include "decode/lines/segments.h"
#include "decode/lines/target_limit.h"

/* A translation of a segment; its text is [at, at + n_bytes) of the job's. */
struct part {
    size_t at, n_bytes;
    double log_prob;
    size_t n_tokens; /* generated */
    size_t aligned;  /* its number among the alignments */
    size_t next;     /* the next best of the segment, if there is one */
};

/* The translations of a segment, best first. */
struct found {
    size_t first, n; /* of all parts */
};

struct source {
    size_t segment, n; /* n: ids */
    bool is_over;      /* there is no other alternative */
};

/* Required phrases of a segment. */
struct needs {
    size_t first, n; /* of all */
    size_t n_tokens;
};

/* What happened to a line. */
struct marks {
    bool is_lengthened, is_unrepeated, is_copied, is_stopped, is_unmet;
};

/* One call's work: the segments of all lines, in the order of translation, and what
 * became of each. */
struct job {
    struct translator *t;
    const struct line *lines; /* as they came */
    struct segments in;
    struct source *sources; /* the n segments that have pieces */
    size_t n;
    struct search_job *job; /* [n] the same as the search sees them */
    struct guide *guide;    /* [n] what they must say, if anything */
    struct needs *needs;    /* [segments] phrases that they require */
    const struct required **required;
    size_t n_required, cap_required;
    struct beginnings given;  /* [lines] */
    struct alternatives said; /* [lines] behind these, if there shall be several */
    size_t n_rounds;          /* searches that are left, one an alternative */
    struct spm_ids words;     /* a hypothesis without specials */
    struct str text, whole;
    size_t *max_len;   /* [segments] tokens at most, S and EOS counted */
    struct part *part; /* of all segments */
    size_t n_parts, cap;
    struct found *found; /* [segments] */
    size_t n_best;
    size_t *n_left;               /* [lines] segments that are not translated yet */
    struct marks *mark;           /* [lines] */
    struct alignments alignments; /* of all parts, if they are asked for */
};

static double score_of(const struct job *j, const struct part *p)
{
    return p->log_prob / beam_penalty(p->n_tokens, j->t->config.alpha);
}

/* What was appended to j->text from `at` on is the segment's next translation. Searches
 * for alternatives may find a better one later. */
static status add_part(struct job *j, size_t segment, size_t at, double log_prob,
                       size_t n_tokens, struct err *err)
{
    struct found *found = &j->found[segment];
    struct part new = {.at = at,
                       .n_bytes = j->text.len - at,
                       .log_prob = log_prob,
                       .n_tokens = n_tokens,
                       .aligned = j->alignments.n - 1};
    size_t *link = &found->first;

    TRY(mem_grow(&j->part, &j->cap, j->n_parts + 1, sizeof *j->part, err));
    for (size_t i = 0; i < found->n; i++) {
        struct part *other = &j->part[*link];
        if (j->said.n_each && score_of(j, &new) > score_of(j, other))
            break;
        link = &other->next;
    }
    new.next = *link;
    *link = j->n_parts;
    j->part[j->n_parts++] = new;
    found->n++;
    return OK;
}

/* The segment's translation of this rank, or its last. */
static const struct part *part_of(const struct job *j, size_t segment, size_t rank)
{
    const struct found *found = &j->found[segment];
    const struct part *p = &j->part[found->first];

    for (size_t i = 1; i < found->n && i <= rank; i++)
        p = &j->part[p->next];
    return p;
}

/* The tokens of the part that was added last, for its alignment; those of a copy are
 * none. A translation that had no end is given one. */
static status keep_tokens(struct job *j, struct beam_hypothesis h, struct err *err)
{
    if (!j->t->passes)
        return OK;
    TRY(alignments_add(&j->alignments, h.token, h.n, err));
    if (h.n && !h.is_finished) {
        TRY(spm_ids_add(&j->alignments.ids, ID_EOS, err));
        j->alignments.item[j->alignments.n - 1].n++;
    }
    return OK;
}

/* The beginning that a line gives; NULL: none. */
static const struct beginning *given_to(const struct job *j, size_t line)
{
    const bool is_given = line < j->given.n && j->given.item[line].n_ids;

    return is_given ? &j->given.item[line] : NULL;
}

/* The segment itself in place of a translation, unless that may be empty; or what was
 * given. */
static status copy_source(struct job *j, size_t segment, double log_prob, size_t n_tokens,
                          struct err *err)
{
    const struct segment *s = &j->in.segment[segment];
    const size_t at = j->text.len;

    const struct beginning *given = given_to(j, s->line);
    j->mark[s->line].is_unmet |= j->needs[segment].n > 0;
    if (given)
        str_add(&j->text, given->given.text, given->given.n_bytes);
    TRY(keep_tokens(j, (struct beam_hypothesis){0}, err));
    const bool is_copied = !given && j->t->config.min_length;
    for (size_t i = 0; is_copied && i < s->text.n_bytes; i++)
        if (s->text.text[i])
            str_putc(&j->text, s->text.text[i]);
        else
            str_puts(&j->text, "\xEF\xBF\xBD"); /* texts end at a NUL */
    j->mark[s->line].is_copied |= is_copied;
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
    j->whole = str_new(0);
    TRY(mem_alloc(&j->sources, n, sizeof *j->sources, err));
    TRY(mem_alloc(&j->job, n, sizeof *j->job, err));
    TRY(mem_alloc(&j->guide, n, sizeof *j->guide, err));
    TRY(mem_alloc(&j->needs, n, sizeof *j->needs, err));
    TRY(mem_alloc(&j->max_len, n, sizeof *j->max_len, err));
    TRY(mem_alloc(&j->found, n, sizeof *j->found, err));
    if (j->n_rounds > 1)
        TRY(alternatives_open(&j->said, n_lines, j->n_best, err));
    TRY(mem_alloc(&j->n_left, n_lines, sizeof *j->n_left, err));
    return mem_alloc(&j->mark, n_lines, sizeof *j->mark, err);
}

/* Is there a piece with text in it that is not unknown? The model cannot translate what
 * it cannot see, and would make something up. */
static bool is_known(const struct job *j, const struct segment *s)
{
    const int32_t *id = j->in.ids.id + s->at;

    for (size_t i = 0; i < s->n; i++)
        if (j->t->pieces->is_word[id[i]])
            return true;
    return s->n && (!j->t->config.min_length || given_to(j, s->line));
}

/* How the translations of all lines begin, of which each must have a token more. */
static status take_given(struct job *j, uint64_t n_before, struct err *err)
{
    const struct translator *t = j->t;
    const size_t most = MIN((size_t)t->config.max_length, t->longest - 1);
    struct encoder *e;
    status result = OK;

    if (!t->config.prefix)
        return OK;
    TRY(pieces_take_encoder(t->pieces, PIECES_TARGET, &e, err));
    for (size_t i = 0; result == OK && i < j->in.n_lines; i++) {
        result = beginnings_add(&j->given, spm_target(t->spm), e, j->in.line[i].given,
                                most, err);
        if (result != OK)
            (void)err_wrap(err, "line %llu", (unsigned long long)(n_before + i + 1));
    }
    pieces_give_back(t->pieces, PIECES_TARGET, e);
    return result;
}

/* The phrases that segment i requires, of which there may be too many. */
static status take_needs(struct job *j, size_t i, struct glossary_hits *hits,
                         struct err *err)
{
    const struct glossary *g = j->t->terms;
    struct needs *needs = &j->needs[i];

    TRY(glossary_find(g, j->t->spm, j->in.segment[i].text, hits, err));
    if (hits->n > GUIDE_REQUIRED) {
        j->mark[j->in.segment[i].line].is_unmet = true;
        hits->n = GUIDE_REQUIRED;
    }
    *needs = (struct needs){.first = j->n_required, .n = hits->n};
    TRY(mem_grow(&j->required, &j->cap_required, j->n_required + hits->n,
                 sizeof(struct required *), err));
    for (size_t k = 0; k < hits->n; k++) {
        const struct required *r = &g->phrase[hits->hit[k].phrase];
        j->required[j->n_required++] = r;
        needs->n_tokens += r->n_tokens;
    }
    return OK;
}

static status take_all_needs(struct job *j, struct err *err)
{
    RELEASED_BY(glossary_release_hits) struct glossary_hits hits = {0};

    for (size_t i = 0; j->t->terms && j->t->terms->n && i < j->in.n; i++)
        TRY(take_needs(j, i, &hits, err));
    return OK;
}

/* Tokens that each segment may have: a line's share, beyond what is given and required.
 */
static void set_limits(struct job *j)
{
    for (size_t i = 0; i < j->in.n_lines; i++) {
        const struct segments_line *line = &j->in.line[i];
        target_limit_share(j->max_len + line->first, line->n,
                           (size_t)j->t->config.extra_decode_length);
        if (given_to(j, i) && line->n)
            j->max_len[line->first] += beginnings_length(&j->given, i);
    }
    for (size_t i = 0; i < j->in.n; i++)
        j->max_len[i] = MIN(j->max_len[i] + j->needs[i].n_tokens, j->t->longest);
}

/* An encoder is needed for a moment: of many callers most wait for their search. */
static status encode(struct job *j, const struct line *lines, size_t n,
                     const struct segments_options *o, struct err *err)
{
    struct encoder *e;

    TRY(pieces_take_encoder(j->t->pieces, PIECES_SOURCE, &e, err));
    const status result = segments_make(&j->in, e, lines, n, o, err);
    pieces_give_back(j->t->pieces, PIECES_SOURCE, e);
    TRY(result);
    TRY(take_room(j, err));
    return take_given(j, o->n_lines_before, err);
}

/* Lines without text are done at once, and so are segments without a known letter or
 * digit. */
static status begin(struct job *j, const struct line *lines, size_t n, struct err *err)
{
    struct translator *t = j->t;
    const struct segments_options o = {.max_length = (size_t)t->config.max_length,
                                       .splits = t->config.split,
                                       .has_given = t->config.prefix,
                                       .lang = t->lang,
                                       .spm = t->spm,
                                       .mark = t->mark,
                                       .refuses_invalid =
                                           strcmp(t->config.invalid, "refuse") == 0,
                                       .n_lines_before = t->n_done - t->n_done_before};

    TRY(encode(j, lines, n, &o, err));
    TRY(take_all_needs(j, err));
    for (size_t i = 0; i < n; i++) {
        j->n_left[i] = j->in.line[i].n;
        t->n_done += j->n_left[i] == 0;
    }
    for (size_t i = 0; i < j->in.n; i++)
        if (is_known(j, &j->in.segment[i])) {
            j->sources[j->n++] = (struct source){.segment = i, .n = j->in.segment[i].n};
            j->max_len[i] = j->in.segment[i].n - 2; /* pieces, so far */
        } else {
            TRY(copy_source(j, i, 0, 0, err));
            finish(j, i);
        }
    set_limits(j);
    if (j->n)
        qsort(j->sources, j->n, sizeof *j->sources, by_length);
    return OK;
}

/* Tokens with a text: no pad, S or EOS, and no row of the model beyond the tokenizer. */
static status put_text(struct job *j, struct beam_hypothesis h, struct str *text,
                       struct err *err)
{
    const struct spm *spm = spm_target(j->t->spm);
    const size_t n_pieces = spm_size(spm);

    j->words.n = 0;
    for (size_t i = 0; i < h.n; i++)
        if (h.token[i] >= ID_UNK && (size_t)h.token[i] < n_pieces)
            TRY(spm_ids_add(&j->words, h.token[i], err));
    if (j->words.n)
        TRY(spm_decode(spm, j->words.id, j->words.n, text, err));
    return str_check(text, "the translations", err);
}

/* A hypothesis that a reader would not see is left out. */
static status put_hypothesis(struct job *j, size_t segment, struct beam_hypothesis h,
                             struct err *err)
{
    const size_t line = j->in.segment[segment].line, at = j->text.len;

    if (given_to(j, line)) {
        str_reset(&j->whole);
        TRY(put_text(j, h, &j->whole, err));
        beginnings_join(&j->given, line, (struct line){j->whole.data, j->whole.len},
                        &j->text);
    } else {
        TRY(put_text(j, h, &j->text, err));
    }
    TRY(str_check(&j->text, "the translations", err));
    if (!j->t->config.min_length ||
        segments_is_visible((struct line){j->text.data + at, j->text.len - at})) {
        TRY(keep_tokens(j, h, err));
        TRY(add_part(j, segment, at, h.log_prob, h.n - h.n_given, err));
    } else {
        j->text.len = at;
    }
    return OK;
}

static status put_found(struct job *j, size_t segment, const struct beam *beam,
                        struct err *err)
{
    const struct beam_acts acts = beam_acts(beam);
    const struct beam_hypothesis best = beam_get(beam, 0);
    struct marks *mark = &j->mark[j->in.segment[segment].line];

    mark->is_lengthened |= acts.min_length;
    mark->is_unrepeated |= acts.repeats;
    mark->is_unmet |= acts.unmet;
    mark->is_stopped |= !best.is_finished && best.n == j->max_len[segment];
    for (size_t rank = 0; rank < beam_found(beam); rank++)
        TRY(put_hypothesis(j, segment, beam_get(beam, rank), err));
    return OK;
}

/* Is this another alternative? What was refused may have left nothing. */
static status check_alternative(struct job *j, size_t source, struct beam_hypothesis h,
                                struct err *err)
{
    const size_t line = j->in.segment[j->sources[source].segment].line;
    bool is_new = false;

    if (j->said.n_each && (h.is_finished || h.n > h.n_given))
        TRY(alternatives_add(&j->said, line, &j->guide[source], h.token, h.n, &is_new,
                             err));
    j->sources[source].is_over = !is_new;
    return OK;
}

/* The results of a source, or its text when the model has none. */
static status put_results(void *ctx, size_t source, const struct beam *beam,
                          struct err *err)
{
    struct job *j = ctx;
    const size_t segment = j->sources[source].segment;
    const struct beam_hypothesis best = beam_get(beam, 0);

    TRY(check_alternative(j, source, best, err));
    if (!j->sources[source].is_over || !j->found[segment].n)
        TRY(put_found(j, segment, beam, err));
    if (!j->found[segment].n)
        TRY(copy_source(j, segment, best.log_prob, best.n, err));
    if (j->sources[source].is_over || j->n_rounds == 1)
        finish(j, segment);
    if (j->t->progress)
        progress_update(j->t->progress, j->t->n_done);
    return OK;
}

/* What the translation of source i must say; NULL: anything. */
static const struct guide *guide_of(struct job *j, size_t i)
{
    const size_t line = j->in.segment[j->sources[i].segment].line;
    const struct needs *needs = &j->needs[j->sources[i].segment];
    struct guide *g = &j->guide[i];

    *g = (struct guide){.letters = j->t->letters};
    if (given_to(j, line))
        beginnings_guide(&j->given, line, g);
    if (j->t->forbidden.n)
        g->forbidden = &j->t->forbidden;
    g->required = j->required + needs->first;
    g->n_required = needs->n;
    if (j->said.n_each)
        alternatives_guide(&j->said, line, g);
    return g->n_prefix || g->forbidden || g->n_required || g->refused.n ? g : NULL;
}

static status search_sources(struct job *j, struct err *err)
{
    for (size_t i = 0; i < j->n; i++) {
        const size_t segment = j->sources[i].segment;
        j->job[i] = (struct search_job){.id = j->in.ids.id + j->in.segment[segment].at,
                                        .n = j->in.segment[segment].n,
                                        .max_len = j->max_len[segment],
                                        .guide = guide_of(j, i)};
    }
    return search_run(j->t->search, j->job, j->n, put_results, j, err);
}

/* Round by round one translation more of each line that has another. */
static status search_rounds(struct job *j, struct err *err)
{
    for (; j->n_rounds; j->n_rounds--) {
        const size_t n = j->n;
        TRY(search_sources(j, err));
        j->n = 0;
        for (size_t i = 0; i < n; i++)
            if (!j->sources[i].is_over)
                j->sources[j->n++] = j->sources[i];
    }
    return OK;
}

/* Which words of the segments became which of their parts. */
static status align(struct job *j, struct err *err)
{
    RELEASED_BY(mem_release) struct alignments_pair *pair = NULL;
    const struct translator *t = j->t;

    if (!t->passes)
        return OK;
    TRY(mem_alloc(&pair, j->alignments.n, sizeof *pair, err));
    for (size_t i = 0; i < j->in.n; i++) {
        const struct segment *s = &j->in.segment[i];
        for (size_t k = 0; k < j->found[i].n; k++) {
            const struct part *p = part_of(j, i, k);
            pair[p->aligned] = (struct alignments_pair){
                s->text, {j->text.data + p->at, p->n_bytes}, j->in.ids.id + s->at, s->n};
        }
    }
    return alignments_run(&j->alignments, t->passes, t->alignment_layer, t->spm, pair,
                          err);
}

/* The links of a part of line i, in bytes of the line and of its translation so far. */
static status put_links(const struct job *j, size_t i, size_t segment,
                        const struct part *part, struct translations *out,
                        size_t target_at, struct err *err)
{
    const struct segments_line *line = &j->in.line[i];
    const size_t source_at =
        (size_t)(j->in.segment[segment].text.text - line->text.text) + line->n_mark;

    if (!j->t->passes)
        return OK;
    const struct alignments_item *item = &j->alignments.item[part->aligned];
    for (size_t n = 0; n < item->n_links; n++) {
        struct alignments_link l = j->alignments.link[item->first + n];
        l.source =
            (struct words_range){source_at + l.source.begin, source_at + l.source.end};
        l.target =
            (struct words_range){target_at + l.target.begin, target_at + l.target.end};
        if (line->is_invalid) {
            const struct line came = j->lines[i];
            l.source.begin = utf8_unmended(came.text, came.n_bytes, l.source.begin);
            l.source.end = utf8_unmended(came.text, came.n_bytes, l.source.end);
        }
        TRY(translate_add_link(out, l, err));
    }
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
        const struct part *p = part_of(j, k, rank);
        const struct line before = {str_text(&out->text) + at, out->text.len - at};
        const struct line after = {j->text.data + p->at, p->n_bytes};
        if (s->text.text == next && !s->is_torn && joint_needs_blank(before, after))
            str_putc(&out->text, ' ');
        str_add(&out->text, next, (size_t)(s->text.text - next));
        TRY(put_links(j, i, k, p, out, out->text.len - at, err));
        str_add(&out->text, after.text, after.n_bytes);
        next = s->text.text + s->text.n_bytes;
        log_prob += p->log_prob;
        n_tokens += p->n_tokens;
    }
    if (!line->n && given_to(j, i))
        str_add(&out->text, line->given.text, line->given.n_bytes);
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
        t->n_unmet += j->mark[i].is_unmet;
    }
}

static status run(struct job *j, const struct line *lines, size_t n,
                  struct translations *out, struct err *err)
{
    TRY(translate_reserve(out, n, j->n_best, err));
    TRY(begin(j, lines, n, err));
    TRY(search_rounds(j, err));
    TRY(align(j, err));
    TRY(join(j, out, err));
    count(j);
    return OK;
}

status translate_lines(struct translator *t, const struct line *lines, size_t n,
                       struct translations *out, struct err *err)
{
    const size_t n_rounds = (size_t)t->config.alternatives;
    struct job j = {.t = t,
                    .lines = lines,
                    .n_rounds = n_rounds,
                    .n_best = n_rounds > 1 ? n_rounds : (size_t)t->config.nbest};
    const status result = run(&j, lines, n, out, err);

    segments_release(&j.in);
    alignments_release(&j.alignments);
    spm_ids_release(&j.words);
    str_release(&j.text);
    str_release(&j.whole);
    beginnings_release(&j.given);
    free(j.sources);
    free(j.job);
    free(j.guide);
    free(j.needs);
    free(j.required);
    free(j.max_len);
    alternatives_close(&j.said);
    free(j.part);
    free(j.found);
    free(j.n_left);
    free(j.mark);
    return result;
}
