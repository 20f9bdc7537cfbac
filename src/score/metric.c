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

/* ---- counts in sums: hyp_len, ref_len, matches, totals; hyp, ref, match of an order
 * ---- */

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

static status add_bleu(double *x, const struct metric_options *o, struct line hyp,
                       const struct line *ref, size_t n_refs, struct err *err)
{
    struct bleu_stats one = {0};

    TRY(bleu_add(&one, &o->bleu, hyp, ref, n_refs, err));
    add_counts(&x, &one.hyp_len, 1);
    add_counts(&x, &one.ref_len, 1);
    add_counts(&x, one.match, BLEU_ORDER_MAX);
    add_counts(&x, one.total, BLEU_ORDER_MAX);
    return OK;
}

static struct bleu_stats bleu_of(const double *x)
{
    struct bleu_stats s = {0};

    take_counts(&s.hyp_len, &x, 1);
    take_counts(&s.ref_len, &x, 1);
    take_counts(s.match, &x, BLEU_ORDER_MAX);
    take_counts(s.total, &x, BLEU_ORDER_MAX);
    return s;
}

static status add_chrf(double *x, const struct metric_options *o, struct line hyp,
                       const struct line *ref, size_t n_refs, struct err *err)
{
    struct chrf_stats one = {0};

    TRY(chrf_add(&one, &o->chrf, hyp, ref, n_refs, err));
    add_counts(&x, one.hyp, CHRF_ORDERS_MAX);
    add_counts(&x, one.ref, CHRF_ORDERS_MAX);
    add_counts(&x, one.match, CHRF_ORDERS_MAX);
    return OK;
}

static struct chrf_stats chrf_of(const double *x)
{
    struct chrf_stats s = {0};

    take_counts(s.hyp, &x, CHRF_ORDERS_MAX);
    take_counts(s.ref, &x, CHRF_ORDERS_MAX);
    take_counts(s.match, &x, CHRF_ORDERS_MAX);
    return s;
}

/* ---- one metric of several ---- */

status metric_add(struct metric_sums *s, const struct metric_options *o, struct line hyp,
                  const struct line *ref, size_t n_refs, struct err *err)
{
    return o->metric == METRIC_BLEU ? add_bleu(s->x, o, hyp, ref, n_refs, err)
                                    : add_chrf(s->x, o, hyp, ref, n_refs, err);
}

struct result metric_result(const struct metric_sums *s, const struct metric_options *o,
                            size_t n_refs)
{
    if (o->metric == METRIC_BLEU) {
        const struct bleu_stats stats = bleu_of(s->x);
        const struct bleu b = bleu_score(&stats, &o->bleu);
        return bleu_result(&b, &o->bleu, n_refs);
    }
    const struct chrf_stats stats = chrf_of(s->x);
    return chrf_result(&stats, &o->chrf, n_refs);
}
