#include "score/bleu.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "score/letters.h"
#include "score/ngram.h"

static const struct {
    const char *name;
    double value;
} methods[N_BLEU_SMOOTH] = {
#define S(code, name, value) {name, value},
    BLEU_SMOOTH_LIST(S)
#undef S
};

enum bleu_smooth bleu_smooth_find(const char *name)
{
    unsigned method = 0;

    while (method < N_BLEU_SMOOTH && strcmp(methods[method].name, name) != 0)
        method++;
    return (enum bleu_smooth)method;
}

static size_t distance(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

static size_t closest_length(size_t n_hyp, const struct ngram_words *ref, size_t n_refs)
{
    size_t best = ref[0].n;

    for (size_t r = 1; r < n_refs; r++) {
        const size_t d = distance(ref[r].n, n_hyp), d_best = distance(best, n_hyp);
        if (d < d_best || (d == d_best && ref[r].n < best))
            best = ref[r].n;
    }
    return best;
}

static size_t order_of(const struct bleu_options *o)
{
    return o->order ? o->order : BLEU_ORDER;
}

static status add_words(struct bleu_stats *s, size_t order, struct ngram_words hyp,
                        const struct ngram_words *ref, size_t n_refs, struct err *err)
{
    TRY(ngram_match(s->match, s->total, order, hyp, ref, n_refs, err));
    for (size_t i = hyp.n; i < BLEU_ORDER; i++)
        s->n_without[i]++;
    s->hyp_len += hyp.n;
    s->ref_len += closest_length(hyp.n, ref, n_refs);
    return OK;
}

status bleu_add_ids(struct bleu_stats *s, const int32_t *hyp, size_t n_hyp,
                    const int32_t *ref, size_t n_ref, struct err *err)
{
    const struct ngram_words h = {(const uint32_t *)hyp, n_hyp};
    const struct ngram_words r = {(const uint32_t *)ref, n_ref};

    return add_words(s, BLEU_ORDER, h, &r, 1, err);
}

/* What one segment needs: [0] is the hypothesis, [1..n_refs] the references. */
struct segment {
    size_t n;
    struct str *line;          /* tokenised */
    struct ngram_words *words; /* pointing into numbers.word */
    struct ngram_numbers numbers;
};

static void segment_release(struct segment *g)
{
    for (size_t i = 0; g->line && i < g->n; i++)
        str_release(&g->line[i]);
    free(g->line);
    free(g->words);
    ngram_numbers_release(&g->numbers);
}

static status segment_cut(struct segment *g, size_t i, const struct bleu_options *o,
                          struct line t, struct err *err)
{
    RELEASED_BY(str_release) struct str small = str_new(SIZE_MAX / 2);
    struct str *line = &g->line[i];
    const size_t before = g->numbers.n_words;

    *line = str_new(SIZE_MAX / 2);
    if (o->is_lowercase) {
        letters_lower(&small, t.text, t.n_bytes);
        TRY(str_check(&small, "a line in small letters", err));
        t = (struct line){str_text(&small), small.len};
    }
    TRY(tokenize_line(line, o->tokenize, t.text, t.n_bytes, err));
    TRY(ngram_number(&g->numbers, (struct line){str_text(line), line->len}, err));
    g->words[i].n = g->numbers.n_words - before;
    return OK;
}

static status segment_init(struct segment *g, const struct bleu_options *o,
                           struct line hyp, const struct line *ref, size_t n_refs,
                           struct err *err)
{
    TRY(mem_alloc(&g->line, g->n, sizeof *g->line, err));
    TRY(mem_alloc(&g->words, g->n, sizeof *g->words, err));
    TRY(segment_cut(g, 0, o, hyp, err));
    for (size_t r = 0; r < n_refs; r++)
        TRY(segment_cut(g, r + 1, o, ref[r], err));
    const uint32_t *word = g->numbers.word; /* it has stopped moving */
    if (!word)
        return OK; /* no line has a word */
    for (size_t i = 0; i < g->n; word += g->words[i].n, i++)
        g->words[i].word = word;
    return OK;
}

status bleu_add(struct bleu_stats *s, const struct bleu_options *o, struct line hyp,
                const struct line *ref, size_t n_refs, struct err *err)
{
    RELEASED_BY(segment_release) struct segment g = {.n = n_refs + 1};

    TRY(segment_init(&g, o, hyp, ref, n_refs, err));
    return add_words(s, order_of(o), g.words[0], g.words + 1, n_refs, err);
}

void bleu_merge(struct bleu_stats *into, const struct bleu_stats *from)
{
    for (size_t i = 0; i < BLEU_ORDER_MAX; i++) {
        into->match[i] += from->match[i];
        into->total[i] += from->total[i];
    }
    for (size_t i = 0; i < BLEU_ORDER; i++)
        into->n_without[i] += from->n_without[i];
    into->hyp_len += from->hyp_len;
    into->ref_len += from->ref_len;
}

static double brevity_penalty(const struct bleu_stats *s)
{
    if (s->hyp_len >= s->ref_len)
        return 1;
    return s->hyp_len ? exp(1 - (double)s->ref_len / (double)s->hyp_len) : 0;
}

static double smooth_value(const struct bleu_options *o)
{
    return o->smooth_value > 0 ? o->smooth_value : methods[o->smooth].value;
}

/* What smoothing adds to the counts of orders above 1. */
static double added(const struct bleu_options *o)
{
    if (o->smooth != BLEU_SMOOTH_ADD_K)
        return 0;
    const double value = smooth_value(o);
    return o->numbers == NUMBERS_WHOLE ? trunc(value) : numbers_kept(o->numbers, value);
}

/* numerator / total, in percent where the numerator has the factor. */
static double share(double numerator, double total, enum numbers kind)
{
    return numbers_kept(kind, numbers_kept(kind, numerator) / total);
}

/* Fill the precisions; returns over how many orders the mean goes. */
static size_t precisions(double p[BLEU_ORDER_MAX], const struct bleu_stats *s,
                         const struct bleu_options *o)
{
    const enum numbers kind = o->numbers;
    double halved = 1; /* 2^k after k orders without a match */
    size_t n_orders = order_of(o);

    for (size_t i = 0; i < order_of(o); i++) {
        const double more = i > 0 ? added(o) : 0;
        const double match = numbers_kept(kind, (double)s->match[i] + more);
        const double total = numbers_kept(kind, (double)s->total[i] + more);
        if (total == 0)
            break;
        if (o->is_effective_order)
            n_orders = i + 1;
        if (match > 0)
            p[i] = share(100 * match, total, kind);
        else if (o->smooth == BLEU_SMOOTH_EXP)
            p[i] = share(100, numbers_kept(kind, (halved *= 2) * total), kind);
        else if (o->smooth == BLEU_SMOOTH_FLOOR)
            p[i] = share(100 * smooth_value(o), total, kind);
    }
    return n_orders;
}

struct bleu bleu_score(const struct bleu_stats *s, const struct bleu_options *o)
{
    struct bleu b = {
        .bp = brevity_penalty(s),
        .ratio = s->ref_len ? (double)s->hyp_len / (double)s->ref_len : 0,
        .hyp_len = s->hyp_len,
        .ref_len = s->ref_len,
    };
    double sum = 0;

    /* Without any match there is no score to smooth. An n-gram that matches brings
     * its words along, so order 1 tells. */
    if (s->match[0] == 0)
        return b;
    const size_t n_orders = precisions(b.precision, s, o);
    for (size_t i = 0; i < n_orders; i++)
        sum += log(b.precision[i]);
    b.score = b.bp * exp(sum / (double)n_orders);
    return b;
}

double bleu_nltk(const struct bleu_stats *s)
{
    double sum = 0;

    for (size_t i = 0; i < BLEU_ORDER; i++) {
        if (s->match[i] == 0)
            return 0;
        sum += log((double)s->match[i] / (double)(s->total[i] + s->n_without[i])) /
               BLEU_ORDER;
    }
    return result_rounded(brevity_penalty(s) * exp(sum), 4);
}

void bleu_signature(struct str *out, const struct bleu_options *o, size_t n_refs)
{
    str_printf(out, "nrefs:%zu|case:%s|eff:%s|tok:%s|smooth:%s", n_refs,
               o->is_lowercase ? "lc" : "mixed", o->is_effective_order ? "yes" : "no",
               tokenize_name(o->tokenize), methods[o->smooth].name);
    if (methods[o->smooth].value > 0)
        str_printf(out, "[%.2f]", smooth_value(o));
    str_puts(out, "|version:" SCORE_VERSION);
}

/* "66.7/40.0/25.0/0.0 (BP = 1.000 ratio = 1.000 hyp_len = 6 ref_len = 6)" */
static void details_of(struct str *out, const struct bleu *b, size_t order)
{
    for (size_t i = 0; i < order; i++)
        str_printf(out, "%s%.1f", i ? "/" : "", b->precision[i]);
    str_printf(out,
               " (BP = %.3f ratio = %.3f hyp_len = %" PRIu64 " ref_len = %" PRIu64 ")",
               b->bp, b->ratio, b->hyp_len, b->ref_len);
}

struct result bleu_result(const struct bleu *b, const struct bleu_options *o,
                          size_t n_refs)
{
    struct result r = result_new(b->score);

    str_puts(&r.name, "BLEU");
    bleu_signature(&r.signature, o, n_refs);
    details_of(&r.details, b, order_of(o));
    return r;
}
