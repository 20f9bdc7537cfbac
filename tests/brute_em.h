/*
 * brute_em - the aligner's model by its definition, in double and without any economy:
 * dense tables, an exponential for each pair of positions, and lambda by trying.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "corpus/corpus.h"

enum { BRUTE_VOCAB = 12, BRUTE_PAIRS = 40 };

struct brute {
    const struct corpus *c;
    double t[BRUTE_VOCAB + 1][BRUTE_VOCAB];   /* the last row: the null word */
    bool meets[BRUTE_VOCAB + 1][BRUTE_VOCAB]; /* in some pair */
    double count[BRUTE_VOCAB + 1][BRUTE_VOCAB];
    double p_null, lambda, alpha;
};

static inline double brute_prior(const struct brute *b, double lambda, size_t i, size_t S,
                                 size_t j, size_t T)
{
    double Z = 0, w = 0;

    for (size_t k = 1; k <= S; k++) {
        const double x =
            exp(-lambda * fabs((double)k / (double)S - (double)(j + 1) / (double)T));
        Z += x;
        w = k == i + 1 ? x : w;
    }
    return (1 - b->p_null) * w / Z;
}

/* p(i, f_j) of a pair; i = S is the null word. */
static inline double brute_joint(const struct brute *b, struct sentence e,
                                 struct sentence f, size_t i, size_t j)
{
    if (i == e.len)
        return b->p_null * b->t[BRUTE_VOCAB][f.token[j]];
    return brute_prior(b, b->lambda, i, e.len, j, f.len) * b->t[e.token[i]][f.token[j]];
}

static inline double brute_total(const struct brute *b, struct sentence e,
                                 struct sentence f, size_t j)
{
    double sum = 0;

    for (size_t i = 0; i <= e.len; i++)
        sum += brute_joint(b, e, f, i, j);
    return sum;
}

static inline void brute_open(struct brute *b, const struct corpus *c)
{
    bool has[BRUTE_VOCAB] = {0};
    size_t n = 0;

    *b = (struct brute){.c = c, .p_null = 0.08, .lambda = 4};
    for (uint32_t k = 0; k < c->n_pairs; k++) {
        const struct sentence e = corpus_source(c, k), f = corpus_target(c, k);
        for (size_t j = 0; j < f.len; j++) {
            n += !has[f.token[j]];
            has[f.token[j]] = b->meets[BRUTE_VOCAB][f.token[j]] = true;
            for (size_t i = 0; i < e.len; i++)
                b->meets[e.token[i]][f.token[j]] = true;
        }
    }
    for (size_t e = 0; e <= BRUTE_VOCAB; e++)
        for (size_t f = 0; f < BRUTE_VOCAB; f++)
            b->t[e][f] = b->meets[e][f] ? 1 / (double)n : 0;
}

/* The posterior of every pair of positions, of all pairs in order: counts and, in
 * `posterior`, what the choice of lambda needs. Returns the log-likelihood. */
static inline double brute_expect(struct brute *b, double *posterior)
{
    double log_prob = 0;

    memset(b->count, 0, sizeof b->count);
    for (uint32_t k = 0; k < b->c->n_pairs; k++) {
        const struct sentence e = corpus_source(b->c, k), f = corpus_target(b->c, k);
        for (size_t j = 0; e.len && j < f.len; j++) {
            const double sum = brute_total(b, e, f, j);
            log_prob += log(sum);
            for (size_t i = 0; i <= e.len; i++) {
                const double q = brute_joint(b, e, f, i, j) / sum;
                b->count[i < e.len ? e.token[i] : BRUTE_VOCAB][f.token[j]] += q;
                if (i < e.len)
                    *posterior++ = q;
            }
        }
    }
    return log_prob;
}

/* The part of the expected log-likelihood that depends on lambda. */
static inline double brute_gain(const struct brute *b, const double *posterior,
                                double lambda)
{
    double sum = 0;

    for (uint32_t k = 0; k < b->c->n_pairs; k++) {
        const size_t S = corpus_source(b->c, k).len, T = corpus_target(b->c, k).len;
        for (size_t j = 0; j < T; j++)
            for (size_t i = 0; i < S; i++)
                sum += *posterior++ * log(brute_prior(b, lambda, i, S, j, T));
    }
    return sum;
}

/* Golden section: the gain is concave. */
static inline double brute_lambda(const struct brute *b, const double *posterior)
{
    const double cut = (sqrt(5) - 1) / 2;
    double low = 0.1, high = 20;

    while (high - low > 1e-7) {
        const double x = high - cut * (high - low), y = low + cut * (high - low);
        if (brute_gain(b, posterior, x) > brute_gain(b, posterior, y))
            high = y;
        else
            low = x;
    }
    return (low + high) / 2;
}

/* The logarithmic derivative of the gamma function, by its recurrence far out. */
static inline double brute_digamma(double x)
{
    double below = 0;

    for (; x < 1000; x++)
        below += 1 / x;
    return log(x) - 1 / (2 * x) - 1 / (12 * x * x) - below;
}

/* One iteration; returns the log-likelihood before it. */
static inline double brute_iterate(struct brute *b, double *posterior)
{
    const double log_prob = brute_expect(b, posterior);

    for (size_t e = 0; e <= BRUTE_VOCAB; e++) {
        double sum = 0, n = 0;
        for (size_t f = 0; f < BRUTE_VOCAB; f++) {
            sum += b->count[e][f];
            n += b->meets[e][f];
        }
        for (size_t f = 0; sum > 0 && f < BRUTE_VOCAB; f++)
            if (b->meets[e][f])
                b->t[e][f] = b->alpha > 0 ? exp(brute_digamma(b->count[e][f] + b->alpha) -
                                                brute_digamma(sum + n * b->alpha))
                                          : b->count[e][f] / sum;
    }
    b->lambda = brute_lambda(b, posterior);
    return log_prob;
}
