#include "score/chrf.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "score/ngram.h"
#include "score/tokenize.h"

/* ---- a text as numbers ---- */

/* One side of a segment: its characters, and its words separated by single blanks. */
struct text {
    uint32_t *code;
    size_t n_codes;
    struct str words;
};

static void text_release(struct text *t)
{
    free(t->code);
    str_release(&t->words);
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

    *t = (struct text){.words = str_new(SIZE_MAX / 2)};
    TRY(mem_alloc(&t->code, line.n_bytes, sizeof *t->code, err));
    for (size_t i = 0; i < line.n_bytes; i += len) {
        const uint32_t code = utf8_decode(line.text + i, line.n_bytes - i, &len);
        const bool is_space = tokenize_is_space(code);
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

static double f_of(double precision, double recall, double factor)
{
    return (1 + factor) * precision * recall / (factor * precision + recall);
}

double chrf_score(const struct chrf_stats *s, const struct chrf_options *o)
{
    static const double least = 1e-16;
    const double factor = (double)(o->beta * o->beta);
    const size_t n_orders = o->char_order + o->word_order;
    double sum_f = 0, precision = 0, recall = 0;
    size_t n_both = 0;

    for (size_t i = 0; i < n_orders; i++) {
        const double match = (double)s->match[i];
        const double p = s->hyp[i] ? match / (double)s->hyp[i] : least;
        const double r = s->ref[i] ? match / (double)s->ref[i] : least;
        sum_f += factor * p + r > 0 ? f_of(p, r, factor) : least;
        if (!s->hyp[i] || !s->ref[i])
            continue;
        precision += p;
        recall += r;
        n_both++;
    }
    if (o->is_smoothed)
        return 100 * sum_f / (double)n_orders;
    if (!n_both || precision + recall == 0)
        return 0;
    return 100 * f_of(precision / (double)n_both, recall / (double)n_both, factor);
}

struct result chrf_result(const struct chrf_stats *s, const struct chrf_options *o,
                          size_t n_refs)
{
    struct result r = result_new(chrf_score(s, o));

    str_printf(&r.name, "chrF%u", o->beta);
    for (size_t i = 0; i < o->word_order; i++)
        str_putc(&r.name, '+');
    str_printf(
        &r.signature,
        "nrefs:%zu|case:mixed|eff:%s|nc:%zu|nw:%zu|space:%s|version:" SCORE_VERSION,
        n_refs, o->is_smoothed ? "no" : "yes", o->char_order, o->word_order,
        o->keeps_space ? "yes" : "no");
    return r;
}
