/*
 * toy_search - a model without a model for tests of beams, and sentences as they are
 * compared.
 */
#pragma once

#include "base/rng.h"
#include "decode/beam/beam.h"
#include "test.h"

enum { V_MAX = 8, LEN_MAX = 12, ROWS_MAX = 1024, TOP_MAX = 256 };

/*
 * A model without a model: the logits of the next token are random numbers keyed by the
 * whole prefix, so that a history mixed up anywhere changes everything after it.
 */
struct toy {
    size_t V, width;
    double eos_bias;
    uint64_t seed;
    uint64_t key[LEN_MAX][ROWS_MAX];
    size_t n_rows[LEN_MAX], n_steps; /* what the search asked for */
    size_t n_top;                    /* tokens of a row; 0: 2 * width */
};

static inline uint64_t key_after(uint64_t key, int32_t token)
{
    return rng_hash(key, (uint64_t)token + 2);
}

static inline double unit(uint64_t bits)
{
    return (double)(bits >> 11) / (double)(1ull << 53);
}

/* Log-probabilities after the prefix `key`. */
static inline void toy_row(const struct toy *toy, uint64_t key, double *p)
{
    double sum = 0;

    for (size_t v = 0; v < toy->V; v++) {
        p[v] = 4 * unit(rng_hash(key, 1000 + v)) + (v == BEAM_EOS ? toy->eos_bias : 0);
        sum += exp(p[v]);
    }
    for (size_t v = 0; v < toy->V; v++)
        p[v] -= log(sum);
}

/* The K largest of p, best first, lower ids before higher. */
static inline void top_of(const double *p, size_t V, size_t K, double *top, int32_t *id)
{
    bool taken[V_MAX] = {false};

    for (size_t k = 0; k < K; k++) {
        id[k] = -1;
        top[k] = -INFINITY;
        for (size_t v = 0; v < V; v++)
            if (!taken[v] && (id[k] < 0 || p[v] > top[k])) {
                top[k] = p[v];
                id[k] = (int32_t)v;
            }
        if (id[k] >= 0)
            taken[id[k]] = true;
    }
}

/* What may follow each row of a step. */
typedef void next_fn(void *ctx, const struct beam_rows *rows, double *top, int32_t *id);

/* Log-probabilities of the whole vocabulary behind each row, for those that wish some. */
static float toy_logits[ROWS_MAX][V_MAX];

static inline void toy_next(void *ctx, const struct beam_rows *rows, double *top,
                            int32_t *id)
{
    struct toy *toy = ctx;
    const size_t K = toy->n_top ? toy->n_top : 2 * toy->width, t = rows->t;

    CHECK(t < LEN_MAX && rows->n > 0 && rows->n <= ROWS_MAX);
    toy->n_rows[t] = rows->n;
    toy->n_steps = t + 1;
    for (size_t r = 0; r < rows->n; r++) {
        const int32_t *physical = rows->physical + r * (t + 1);
        double p[V_MAX] = {0};
        CHECK(physical[t] == (int32_t)r);
        CHECK((rows->token[r] == BEAM_START) == (t == 0));
        toy->key[t][r] =
            t ? key_after(toy->key[t - 1][physical[t - 1]], rows->token[r]) : toy->seed;
        toy_row(toy, toy->key[t][r], p);
        for (size_t v = 0; v < V_MAX; v++)
            toy_logits[r][v] = v < toy->V ? (float)p[v] : -INFINITY;
        top_of(p, toy->V, K, top + r * K, id + r * K);
    }
}

/* A whole search. */
static inline status run(struct beam *b, next_fn *next, void *ctx,
                         struct beam_limit limit, struct beam_options options,
                         struct err *err)
{
    static double top[ROWS_MAX * TOP_MAX];
    static int32_t id[ROWS_MAX * TOP_MAX];

    static struct beam_more more[ROWS_MAX];
    static double wanted[ROWS_MAX][64];

    beam_begin(b, limit, options);
    for (struct beam_rows rows; (rows = beam_rows(b)).n > 0;) {
        next(ctx, &rows, top, id);
        for (size_t r = 0; r < rows.n; r++) {
            const struct beam_wish wish = beam_wish(b, r);
            for (size_t i = 0; i < wish.n; i++)
                wanted[r][i] = (double)toy_logits[r][wish.id[i]];
            more[r] = (struct beam_more){
                .log_prob = wanted[r], .logit = toy_logits[r], .n_logits = V_MAX};
        }
        const size_t n_top = next == toy_next && ((struct toy *)ctx)->n_top
                                 ? ((struct toy *)ctx)->n_top
                                 : 2 * options.width;
        TRY(beam_advance(b, &(struct beam_next){top, id, n_top, more}, err));
    }
    return OK;
}

static inline struct beam *searched(struct toy *toy, size_t max_len,
                                    struct beam_options options)
{
    struct err err = {0};
    struct beam *b;

    toy->width = options.width;
    CHECK_OK(beam_open(&b, max_len, options.width, &err), &err);
    CHECK_OK(
        run(b, toy_next, toy, (struct beam_limit){.max_len = max_len}, options, &err),
        &err);
    return b;
}

/* A hypothesis of the searches that are written out below. */
struct plain {
    int32_t token[LEN_MAX];
    size_t n;
    double log_prob, score;
    uint64_t key;
    bool is_finished;
};

static inline void check_same(struct beam_hypothesis got, const struct plain *want)
{
    CHECK(got.n == want->n);
    CHECK(memcmp(got.token, want->token, got.n * sizeof *got.token) == 0);
    CHECK(got.is_finished == want->is_finished);
    CHECK_NEAR(got.log_prob, want->log_prob, 1e-12);
    CHECK_NEAR(got.score, want->score, 1e-12);
}

static inline struct plain extended(const struct plain *h, int32_t id, double p,
                                    double alpha)
{
    struct plain next = *h;

    next.token[next.n++] = id;
    next.log_prob += p;
    next.score = next.log_prob / pow((5 + (double)next.n) / 6, alpha);
    next.key = key_after(h->key, id);
    next.is_finished = id == BEAM_EOS;
    return next;
}

/* Does a sentence hold? */
typedef bool holds_fn(const void *ctx, const struct plain *h);

/* The best of all that begin with h, end within max_len and hold. */
static inline void best_holding(const struct toy *toy, const struct plain *h,
                                size_t n_given, size_t max_len, double alpha,
                                holds_fn *holds, const void *ctx, struct plain *best)
{
    double p[V_MAX] = {0};

    if (h->n == max_len)
        return;
    toy_row(toy, h->key, p);
    for (size_t v = 0; v < toy->V; v++) {
        struct plain next = extended(h, (int32_t)v, p[v], alpha);
        next.score = next.log_prob / beam_penalty(next.n - n_given, alpha);
        if (!next.is_finished)
            best_holding(toy, &next, n_given, max_len, alpha, holds, ctx, best);
        else if (holds(ctx, &next) && (!best->n || next.score > best->score))
            *best = next;
    }
}

/* A hypothesis that begins with given tokens, which cost nothing. */
static inline struct plain begun(uint64_t seed, const int32_t *token, size_t n)
{
    struct plain h = {.key = seed};

    for (size_t i = 0; i < n; i++)
        h = extended(&h, token[i], 0, 0);
    h.is_finished = false;
    return h;
}
