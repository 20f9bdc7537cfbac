#include "score/significance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "score/pcg.h"

/* ---- sums of segments ---- */

status significance_keep(struct significance_kept *k, const struct metric_options *o,
                         const struct metric_sums *one, struct err *err)
{
    const size_t n = metric_n_sums(o), n_kept = k->n_segments * n;

    if ((n_kept + n) * sizeof *k->x > SIGNIFICANCE_BYTES_MAX)
        return err_set(err, ERR_FORMAT,
                       "more than %zu lines are too many to draw samples of them",
                       k->n_segments);
    TRY(mem_grow(&k->x, &k->cap, n_kept + n, sizeof *k->x, err));
    memcpy(k->x + n_kept, one->x, n * sizeof *k->x);
    for (size_t i = 0; i < n; i++)
        k->whole.x[i] += one->x[i];
    k->n_segments++;
    return OK;
}

void significance_release(struct significance_kept *k)
{
    free(k->x);
    *k = (struct significance_kept){0};
}

static double score_of(const struct metric_sums *s, const struct metric_options *o)
{
    enum numbers kind = NUMBERS_PYTHON;

    return metric_score(s, o, &kind);
}

/* ---- samples ---- */

/* Scores of sampled corpora. */
struct samples {
    double *score;
    size_t n;
    enum numbers kind; /* single if all are */
};

static void samples_release(struct samples *s)
{
    free(s->score);
}

/* As a sum of rows of single numbers, one after the other. */
static struct metric_sums resample(struct pcg *g, const struct significance_kept *k,
                                   size_t n_sums)
{
    struct metric_sums sums = {0};
    float x[METRIC_SUMS_MAX] = {0};

    for (size_t i = 0; i < k->n_segments; i++) {
        const double *row = k->x + pcg_below(g, (uint32_t)k->n_segments) * n_sums;
        for (size_t j = 0; j < n_sums; j++)
            x[j] += (float)row[j];
    }
    for (size_t j = 0; j < n_sums; j++)
        sums.x[j] = (double)x[j];
    return sums;
}

static status draw(struct samples *s, struct pcg g, const struct significance_kept *k,
                   const struct metric_options *o, size_t n_trials, struct err *err)
{
    s->n = n_trials;
    s->kind = NUMBERS_SINGLE;
    TRY(mem_alloc(&s->score, n_trials, sizeof *s->score, err));
    for (size_t i = 0; i < n_trials; i++) {
        const struct metric_sums sums = resample(&g, k, metric_n_sums(o));
        enum numbers kind = NUMBERS_SINGLE;
        s->score[i] = metric_score(&sums, o, &kind);
        if (kind != NUMBERS_SINGLE)
            s->kind = NUMBERS_PYTHON; /* an array has one kind of numbers */
    }
    return OK;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* NumPy's sum: eight sums side by side of up to 128 numbers, halves of more. */
static double pairwise_sum(const double *x, size_t n, enum numbers kind)
{
    double part[8];

    if (n > 128) {
        const size_t half = n / 2 - n / 2 % 8;
        return numbers_kept(kind, pairwise_sum(x, half, kind) +
                                      pairwise_sum(x + half, n - half, kind));
    }
    const size_t n_whole = n - n % 8;
    double sum = 0;
    if (n_whole) {
        memcpy(part, x, sizeof part);
        for (size_t i = 8; i < n_whole; i++)
            part[i % 8] = numbers_kept(kind, part[i % 8] + x[i]);
        for (size_t width = 1; width < 8; width *= 2)
            for (size_t i = 0; i < 8; i += 2 * width)
                part[i] = numbers_kept(kind, part[i] + part[i + width]);
        sum = part[0];
    }
    for (size_t i = n_whole; i < n; i++)
        sum = numbers_kept(kind, sum + x[i]);
    return sum;
}

static double numpy_mean(const double *x, size_t n, enum numbers kind)
{
    return numbers_kept(kind, pairwise_sum(x, n, kind) / (double)n);
}

/* The mean without the errors of a sum, at least none that a double shows. */
static double exact_mean(const double *x, size_t n, enum numbers kind)
{
    long double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (long double)x[i];
    return numbers_kept(kind, (double)(sum / (long double)n));
}

/* Sorts the samples. */
static void put_interval(struct significance_result *r, struct samples *s, bool is_exact)
{
    const size_t low = s->n / 40, high = s->n - low - 1; /* 2.5 % on either side */

    qsort(s->score, s->n, sizeof *s->score, by_size);
    r->has_interval = true;
    r->half = 0.5 * numbers_kept(s->kind, s->score[high] - s->score[low]);
    r->mean = (is_exact ? exact_mean : numpy_mean)(s->score, s->n, s->kind);
}

/* The k-th of the trials that differ by more than the systems do, and one. */
static double p_value(const double *difference, size_t n, double limit)
{
    size_t n_more = 0;

    for (size_t i = 0; i < n; i++)
        n_more += difference[i] > limit;
    return (double)(n_more + 1) / (double)(n + 1);
}

/* ---- one system ---- */

static status interval(struct significance_result *r, const struct significance_kept *k,
                       const struct metric_options *o, size_t n_trials, struct pcg g,
                       bool is_exact, struct err *err)
{
    RELEASED_BY(samples_release) struct samples s = {0};

    TRY(draw(&s, g, k, o, n_trials, err));
    put_interval(r, &s, is_exact);
    return OK;
}

status significance_interval(struct significance_result *r,
                             const struct significance_kept *k,
                             const struct metric_options *o, size_t n_trials,
                             uint64_t seed, struct err *err)
{
    *r = (struct significance_result){.score = score_of(&k->whole, o), .p = 1};
    return interval(r, k, o, n_trials, pcg_open(seed), true, err);
}

status significance_baseline(struct significance_result *r,
                             const struct significance_kept *k,
                             const struct metric_options *o,
                             const struct significance_how *how, struct err *err)
{
    const size_t n = how->is_shuffled ? how->n_resamples : how->n_trials;

    *r = (struct significance_result){.score = score_of(&k->whole, o), .p = 1};
    return n ? interval(r, k, o, n, pcg_open(how->seed), false, err) : OK;
}

/* ---- two systems ---- */

static status bootstrap(struct significance_result *r,
                        const struct significance_kept *base,
                        const struct significance_kept *k, const struct metric_options *o,
                        const struct significance_how *how, double difference,
                        struct err *err)
{
    RELEASED_BY(samples_release) struct samples a = {0};
    RELEASED_BY(samples_release) struct samples b = {0};

    TRY(draw(&a, pcg_open(how->seed), base, o, how->n_trials, err));
    TRY(draw(&b, pcg_open(how->seed), k, o, how->n_trials, err));
    const enum numbers kind = a.kind == b.kind ? a.kind : NUMBERS_PYTHON;
    for (size_t i = 0; i < a.n; i++)
        a.score[i] = fabs(numbers_kept(kind, b.score[i] - a.score[i]));
    const double mean = numpy_mean(a.score, a.n, kind);
    for (size_t i = 0; i < a.n; i++)
        a.score[i] = numbers_kept(kind, a.score[i] - mean);
    r->p = p_value(a.score, a.n, numbers_kept(kind, difference));
    put_interval(r, &b, false);
    return OK;
}

/* A pair of corpora, segments on the side of their system or on the other one. */
static void shuffle(struct metric_sums pair[2], struct pcg *g, struct pcg_bits *bits,
                    const struct significance_kept *base,
                    const struct significance_kept *k, size_t n_sums)
{
    memset(pair, 0, 2 * sizeof *pair);
    for (size_t i = 0; i < k->n_segments; i++) {
        const bool stays = pcg_bit(g, bits);
        const double *row = base->x + i * n_sums, *other = k->x + i * n_sums;
        for (size_t j = 0; j < n_sums; j++) {
            pair[0].x[j] += stays ? row[j] : other[j];
            pair[1].x[j] += stays ? other[j] : row[j];
        }
    }
}

static status randomise(struct significance_result *r,
                        const struct significance_kept *base,
                        const struct significance_kept *k, const struct metric_options *o,
                        const struct significance_how *how, double difference,
                        struct err *err)
{
    RELEASED_BY(mem_release) double *apart = NULL;
    struct pcg g = pcg_open(how->seed);
    struct pcg_bits bits = {0};

    TRY(mem_alloc(&apart, how->n_trials, sizeof *apart, err));
    for (size_t i = 0; i < how->n_trials; i++) {
        struct metric_sums pair[2];
        enum numbers kind[2] = {NUMBERS_WHOLE, NUMBERS_WHOLE};
        shuffle(pair, &g, &bits, base, k, metric_n_sums(o));
        const double a = metric_score(&pair[0], o, &kind[0]);
        apart[i] = fabs(a - metric_score(&pair[1], o, &kind[1]));
    }
    r->p = p_value(apart, how->n_trials, difference);
    if (how->n_resamples == 0)
        return OK;
    return interval(r, k, o, how->n_resamples, g, false, err);
}

status significance_compare(struct significance_result *r,
                            const struct significance_kept *base,
                            const struct significance_kept *k,
                            const struct metric_options *o,
                            const struct significance_how *how, struct err *err)
{
    *r = (struct significance_result){.score = score_of(&k->whole, o)};
    const double difference = fabs(score_of(&base->whole, o) - r->score);
    return (how->is_shuffled ? randomise : bootstrap)(r, base, k, o, how, difference,
                                                      err);
}
