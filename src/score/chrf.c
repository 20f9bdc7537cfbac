#include "score/chrf.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "score/letters.h"
#include "score/ngram.h"
#include "score/rewrite.h"

/* ---- a text as numbers ---- */

/* One side of a segment: its characters, and its words separated by single blanks. */
struct text {
    uint32_t *code;
    size_t n_codes;
    struct str words;
    struct str small; /* the line, where small letters were asked for */
};

static void text_release(struct text *t)
{
    free(t->code);
    str_release(&t->words);
    str_release(&t->small);
    *t = (struct text){0};
}

static bool is_punctuation(char c)
{
    return c && strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", c);
}

static void put_word(struct str *out, const char *word, size_t n)
{
    if (out->len)
        str_putc(out, ' ');
    str_add(out, word, n);
}

/* A word with its last character, or else its first, cut off if that is punctuation. */
static void cut_word(struct str *out, const char *word, size_t n)
{
    size_t first;

    utf8_decode(word, n, &first);
    const bool is_single = first == n; /* one character stays whole */
    if (!is_single && is_punctuation(word[n - 1])) {
        put_word(out, word, n - 1);
        put_word(out, word + n - 1, 1);
    } else if (!is_single && is_punctuation(word[0])) {
        put_word(out, word, 1);
        put_word(out, word + 1, n - 1);
    } else {
        put_word(out, word, n);
    }
}

static status text_cut(struct text *t, const struct chrf_options *o, struct line line,
                       struct err *err)
{
    size_t begin = 0, len;

    *t = (struct text){.words = str_new(SIZE_MAX / 2), .small = str_new(SIZE_MAX / 2)};
    if (o->is_lowercase) {
        letters_lower(&t->small, line.text, line.n_bytes);
        TRY(str_check(&t->small, "a line in small letters", err));
        line = (struct line){str_text(&t->small), t->small.len};
    }
    TRY(mem_alloc(&t->code, line.n_bytes, sizeof *t->code, err));
    for (size_t i = 0; i < line.n_bytes; i += len) {
        const uint32_t code = utf8_decode(line.text + i, line.n_bytes - i, &len);
        const bool is_space = rewrite_is_space(code);
        if (!is_space || o->keeps_space)
            t->code[t->n_codes++] = code;
        if (!is_space)
            continue;
        if (i > begin)
            cut_word(&t->words, line.text + begin, i - begin);
        begin = i + len;
    }
    if (line.n_bytes > begin)
        cut_word(&t->words, line.text + begin, line.n_bytes - begin);
    return str_check(&t->words, "the words of a line", err);
}

/* ---- a segment ---- */

static uint64_t n_grams(size_t n, size_t order)
{
    return n < order ? 0 : n - order + 1;
}

/* Both sides' n-grams of one kind. An order that the reference is too short for counts
 * for neither side. */
static status compare(struct chrf_stats *s, size_t first, size_t n_orders,
                      struct ngram_words hyp, struct ngram_words ref, struct err *err)
{
    TRY(ngram_match(s->match + first, s->hyp + first, n_orders, hyp, &ref, 1, err));
    for (size_t i = 0; i < n_orders; i++) {
        s->ref[first + i] = n_grams(ref.n, i + 1);
        if (!s->ref[first + i])
            s->hyp[first + i] = 0;
    }
    return OK;
}

static status compare_words(struct chrf_stats *s, const struct chrf_options *o,
                            const struct text *hyp, const struct text *ref,
                            struct err *err)
{
    RELEASED_BY(ngram_numbers_release) struct ngram_numbers k = {0};

    TRY(ngram_number(&k, (struct line){str_text(&hyp->words), hyp->words.len}, err));
    const size_t n_hyp = k.n_words;
    TRY(ngram_number(&k, (struct line){str_text(&ref->words), ref->words.len}, err));
    if (!k.word)
        return OK; /* neither has a word */
    return compare(s, o->char_order, o->word_order, (struct ngram_words){k.word, n_hyp},
                   (struct ngram_words){k.word + n_hyp, k.n_words - n_hyp}, err);
}

static status compare_texts(struct chrf_stats *s, const struct chrf_options *o,
                            const struct text *hyp, const struct text *ref,
                            struct err *err)
{
    const struct ngram_words h = {hyp->code, hyp->n_codes}, r = {ref->code, ref->n_codes};

    *s = (struct chrf_stats){0};
    TRY(compare(s, 0, o->char_order, h, r, err));
    return o->word_order ? compare_words(s, o, hyp, ref, err) : OK;
}

status chrf_add(struct chrf_stats *s, const struct chrf_options *o, struct line hyp,
                const struct line *ref, size_t n_refs, struct err *err)
{
    RELEASED_BY(text_release) struct text h = {0};
    struct chrf_stats best = {0};
    double highest = -1;

    TRY(text_cut(&h, o, hyp, err));
    for (size_t i = 0; i < n_refs; i++) {
        RELEASED_BY(text_release) struct text r = {0};
        struct chrf_stats one;
        TRY(text_cut(&r, o, ref[i], err));
        TRY(compare_texts(&one, o, &h, &r, err));
        const double score = chrf_score(&one, o);
        if (score > highest) {
            highest = score;
            best = one;
        }
    }
    chrf_merge(s, &best);
    return OK;
}

void chrf_merge(struct chrf_stats *into, const struct chrf_stats *from)
{
    for (size_t i = 0; i < CHRF_ORDERS_MAX; i++) {
        into->hyp[i] += from->hyp[i];
        into->ref[i] += from->ref[i];
        into->match[i] += from->match[i];
    }
}

/* ---- the score ---- */

static double f_of(double precision, double recall, double factor, enum numbers kind)
{
    const double weighed = numbers_kept(kind, factor * precision);
    const double product =
        numbers_kept(kind, numbers_kept(kind, (1 + factor) * precision) * recall);

    return numbers_kept(kind, product / numbers_kept(kind, weighed + recall));
}

/* match / n, or the least there is */
static double share(uint64_t match, uint64_t n, enum numbers kind)
{
    return n ? numbers_kept(kind, (double)match / (double)n) : 1e-16;
}

/* Over all orders, the sum of F; over those that both sides have, the sums of precision
 * and recall. */
struct sums {
    double f, precision, recall;
    size_t n_both;
    enum numbers kind; /* of f */
};

/* A term is a single only if a count is part of it, and so is the sum from then on. */
static struct sums sums_of(const struct chrf_stats *s, const struct chrf_options *o)
{
    const double factor = (double)(o->beta * o->beta);
    struct sums x = {0};

    for (size_t i = 0; i < o->char_order + o->word_order; i++) {
        const enum numbers kind = s->hyp[i] || s->ref[i] ? o->numbers : NUMBERS_PYTHON;
        const double p = share(s->match[i], s->hyp[i], kind);
        const double r = share(s->match[i], s->ref[i], kind);
        const double f = factor * p + r > 0 ? f_of(p, r, factor, kind) : 1e-16;
        if (kind != NUMBERS_PYTHON)
            x.kind = kind;
        x.f = numbers_kept(x.kind, numbers_kept(x.kind, x.f) + numbers_kept(x.kind, f));
        if (!s->hyp[i] || !s->ref[i])
            continue;
        x.precision = numbers_kept(kind, x.precision + p);
        x.recall = numbers_kept(kind, x.recall + r);
        x.n_both++;
    }
    return x;
}

double chrf_score(const struct chrf_stats *s, const struct chrf_options *o)
{
    const enum numbers kind = o->numbers;
    const struct sums x = sums_of(s, o);

    if (o->is_smoothed)
        return numbers_kept(x.kind, numbers_kept(x.kind, 100 * x.f) /
                                        (double)(o->char_order + o->word_order));
    if (!x.n_both || x.precision + x.recall == 0)
        return 0;
    const double n = (double)x.n_both, factor = (double)(o->beta * o->beta);
    const double f = f_of(numbers_kept(kind, x.precision / n),
                          numbers_kept(kind, x.recall / n), factor, kind);
    return numbers_kept(kind, 100 * f);
}

struct result chrf_result(const struct chrf_stats *s, const struct chrf_options *o,
                          size_t n_refs)
{
    struct result r = result_new(chrf_score(s, o));

    str_printf(&r.name, "chrF%u", o->beta);
    for (size_t i = 0; i < o->word_order; i++)
        str_putc(&r.name, '+');
    str_printf(&r.signature,
               "nrefs:%zu|case:%s|eff:%s|nc:%zu|nw:%zu|space:%s|version:" SCORE_VERSION,
               n_refs, o->is_lowercase ? "lc" : "mixed", o->is_smoothed ? "no" : "yes",
               o->char_order, o->word_order, o->keeps_space ? "yes" : "no");
    return r;
}
