#include "score/metric.h"

#include <string.h>

static const struct {
    const char *name;
    bool more_is_better;
} metrics[N_METRIC] = {
#define M(code, name, is_up) {name, is_up},
    METRIC_LIST(M)
#undef M
};

enum metric metric_find(const char *name)
{
    unsigned m = 0;

    while (m < N_METRIC && strcmp(metrics[m].name, name) != 0)
        m++;
    return (enum metric)m;
}

const char *metric_name(enum metric m)
{
    return metrics[m].name;
}

bool metric_is_better(enum metric m, double a, double b)
{
    return metrics[m].more_is_better ? a > b : a < b;
}

struct metric_options metric_options(enum metric m)
{
    struct metric_options o = {.metric = m, .chrf = CHRF_OPTIONS};

    if (m == METRIC_CHRF_WORDS)
        o.chrf.word_order = 2;
    return o;
}

/* ---- counts in sums: hyp_len, ref_len, matches, totals of BLEU; hyp, ref, match of the
 * ---- orders of chrF; edits, words of TER ---- */

static void add_counts(double **x, const uint64_t *count, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *(*x)++ += (double)count[i];
}

static void take_counts(uint64_t *count, const double **x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        count[i] = (uint64_t) * (*x)++;
}

static size_t bleu_orders(const struct metric_options *o)
{
    return o->bleu.order ? o->bleu.order : BLEU_ORDER;
}

static size_t chrf_orders(const struct metric_options *o)
{
    return o->chrf.char_order + o->chrf.word_order;
}

static status add_bleu(double *x, const struct metric_options *o, struct line hyp,
                       const struct line *ref, size_t n_refs, struct err *err)
{
    struct bleu_stats one = {0};

    TRY(bleu_add(&one, &o->bleu, hyp, ref, n_refs, err));
    add_counts(&x, &one.hyp_len, 1);
    add_counts(&x, &one.ref_len, 1);
    add_counts(&x, one.match, bleu_orders(o));
    add_counts(&x, one.total, bleu_orders(o));
    return OK;
}

static struct bleu_stats bleu_of(const double *x, const struct metric_options *o)
{
    struct bleu_stats s = {0};

    take_counts(&s.hyp_len, &x, 1);
    take_counts(&s.ref_len, &x, 1);
    take_counts(s.match, &x, bleu_orders(o));
    take_counts(s.total, &x, bleu_orders(o));
    return s;
}

static status add_chrf(double *x, const struct metric_options *o, struct line hyp,
                       const struct line *ref, size_t n_refs, struct err *err)
{
    struct chrf_stats one = {0};

    TRY(chrf_add(&one, &o->chrf, hyp, ref, n_refs, err));
    add_counts(&x, one.hyp, chrf_orders(o));
    add_counts(&x, one.ref, chrf_orders(o));
    add_counts(&x, one.match, chrf_orders(o));
    return OK;
}

static struct chrf_stats chrf_of(const double *x, const struct metric_options *o)
{
    struct chrf_stats s = {0};

    take_counts(s.hyp, &x, chrf_orders(o));
    take_counts(s.ref, &x, chrf_orders(o));
    take_counts(s.match, &x, chrf_orders(o));
    return s;
}

static status add_ter(double *x, const struct metric_options *o, struct line hyp,
                      const struct line *ref, size_t n_refs, struct err *err)
{
    struct ter_stats s = {x[0], x[1]};

    TRY(ter_add(&s, &o->ter, hyp, ref, n_refs, err));
    x[0] = s.n_edits;
    x[1] = s.ref_len;
    return OK;
}

/* ---- one metric of several ---- */

status metric_add(struct metric_sums *s, const struct metric_options *o, struct line hyp,
                  const struct line *ref, size_t n_refs, struct err *err)
{
    if (o->metric == METRIC_BLEU)
        return add_bleu(s->x, o, hyp, ref, n_refs, err);
    if (o->metric == METRIC_TER)
        return add_ter(s->x, o, hyp, ref, n_refs, err);
    return add_chrf(s->x, o, hyp, ref, n_refs, err);
}

size_t metric_n_sums(const struct metric_options *o)
{
    if (o->metric == METRIC_BLEU)
        return 2 + 2 * bleu_orders(o);
    return o->metric == METRIC_TER ? 2 : 3 * chrf_orders(o);
}

static double score_chrf(const struct metric_sums *s, struct metric_options o,
                         enum numbers *kind)
{
    const struct chrf_stats stats = chrf_of(s->x, &o);
    uint64_t n = 0;

    o.chrf.numbers = *kind;
    const double score = chrf_score(&stats, &o.chrf);
    for (size_t i = 0; i < chrf_orders(&o); i++)
        n += stats.hyp[i] + stats.ref[i];
    if (o.chrf.is_smoothed ? n == 0 : score == 0)
        *kind = NUMBERS_PYTHON; /* no count has had a part in it */
    return score;
}

double metric_score(const struct metric_sums *s, const struct metric_options *o,
                    enum numbers *kind)
{
    struct metric_options with = *o;

    if (o->metric == METRIC_BLEU) {
        const struct bleu_stats stats = bleu_of(s->x, o);
        with.bleu.numbers = *kind;
        *kind = NUMBERS_PYTHON; /* that of exp() */
        return bleu_score(&stats, &with.bleu).score;
    }
    if (o->metric == METRIC_TER) {
        const struct ter_stats stats = {s->x[0], s->x[1]};
        with.ter.numbers = *kind;
        if (!(stats.ref_len > 0))
            *kind = NUMBERS_PYTHON;
        return ter_score(&stats, &with.ter);
    }
    return score_chrf(s, with, kind);
}

struct result metric_result(const struct metric_sums *s, const struct metric_options *o,
                            size_t n_refs)
{
    if (o->metric == METRIC_BLEU) {
        const struct bleu_stats stats = bleu_of(s->x, o);
        const struct bleu b = bleu_score(&stats, &o->bleu);
        return bleu_result(&b, &o->bleu, n_refs);
    }
    if (o->metric == METRIC_TER) {
        const struct ter_stats stats = {s->x[0], s->x[1]};
        return ter_result(&stats, &o->ter, n_refs);
    }
    const struct chrf_stats stats = chrf_of(s->x, o);
    return chrf_result(&stats, &o->chrf, n_refs);
}
