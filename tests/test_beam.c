#include "decode/beam.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "test.h"

enum { V_MAX = 8, LEN_MAX = 12, ROWS_MAX = 1024, TOP_MAX = 256 };

/*
 * A model without a model: the logits of the next token are random numbers keyed by the
 * whole prefix, so that a history mixed up anywhere changes everything after it.
 */
struct toy {
    size_t V, width;
    double eos_bias;
    const uint64_t *seed; /* of each sentence */
    uint64_t key[LEN_MAX][ROWS_MAX];
    size_t n_rows[LEN_MAX], n_steps; /* what the search asked for */
};

static uint64_t key_after(uint64_t key, int32_t token)
{
    return rng_hash(key, (uint64_t)token + 2);
}

static double unit(uint64_t bits)
{
    return (double)(bits >> 11) / (double)(1ull << 53);
}

/* Log-probabilities after the prefix `key`. */
static void toy_row(const struct toy *toy, uint64_t key, double *p)
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
static void top_of(const double *p, size_t V, size_t K, double *top, int32_t *id)
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

static status toy_step(void *ctx, size_t t, const struct beam_rows *rows, double *top,
                       int32_t *id, struct err *err)
{
    struct toy *toy = ctx;
    const size_t K = 2 * toy->width;

    (void)err;
    CHECK(t < LEN_MAX && rows->n > 0 && rows->n <= ROWS_MAX);
    toy->n_rows[t] = rows->n;
    toy->n_steps = t + 1;
    for (size_t r = 0; r < rows->n; r++) {
        const int32_t *physical = rows->physical + r * (t + 1);
        double p[V_MAX] = {0};
        CHECK(physical[t] == (int32_t)r);
        CHECK((rows->token[r] == BEAM_START) == (t == 0));
        toy->key[t][r] = t ? key_after(toy->key[t - 1][physical[t - 1]], rows->token[r])
                           : toy->seed[rows->sentence[r]];
        toy_row(toy, toy->key[t][r], p);
        top_of(p, toy->V, K, top + r * K, id + r * K);
    }
    return OK;
}

static struct beam *searched(struct toy *toy, const size_t *max_len, size_t n,
                             struct beam_options options)
{
    const struct beam_source source = {toy_step, toy};
    struct beam_limit limit[32];
    size_t longest = 0;
    struct err err = {0};
    struct beam *b;

    CHECK(n <= 32);
    for (size_t s = 0; s < n; s++) {
        longest = max_len[s] > longest ? max_len[s] : longest;
        limit[s] = (struct beam_limit){.max_len = max_len[s]};
    }
    toy->width = options.width;
    CHECK_OK(beam_open(&b, n, longest, options.width, &err), &err);
    CHECK_OK(beam_search(b, &source, limit, n, options, &err), &err);
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

static void check_same(struct beam_hypothesis got, const struct plain *want)
{
    CHECK(got.n == want->n);
    CHECK(memcmp(got.token, want->token, got.n * sizeof *got.token) == 0);
    CHECK(got.is_finished == want->is_finished);
    CHECK_NEAR(got.log_prob, want->log_prob, 1e-12);
    CHECK_NEAR(got.score, want->score, 1e-12);
}

static struct plain extended(const struct plain *h, int32_t id, double p, double alpha)
{
    struct plain next = *h;

    next.token[next.n++] = id;
    next.log_prob += p;
    next.score = next.log_prob / pow((5 + (double)next.n) / 6, alpha);
    next.key = key_after(h->key, id);
    next.is_finished = id == BEAM_EOS;
    return next;
}

/* The best of all sentences that end within max_len, by looking at every one. */
static void exhaust(const struct toy *toy, const struct plain *h, size_t max_len,
                    double alpha, struct plain *best)
{
    double p[V_MAX] = {0};

    if (h->n == max_len)
        return;
    toy_row(toy, h->key, p);
    for (size_t v = 0; v < toy->V; v++) {
        const struct plain next = extended(h, (int32_t)v, p[v], alpha);
        if (!next.is_finished)
            exhaust(toy, &next, max_len, alpha, best);
        else if (!best->n || next.score > best->score)
            *best = next;
    }
}

TEST(with_room_for_every_prefix_the_search_is_exhaustive)
{
    const size_t max_len = 4;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        const double alpha = 0.3 * (double)(seed % 5);
        struct toy toy = {.V = 4, .eos_bias = (double)(seed % 3) - 1, .seed = &seed};
        const struct plain start = {.key = seed};
        struct plain best = {0};
        /* 3^3 unfinished prefixes at most */
        struct beam *b = searched(&toy, &max_len, 1, (struct beam_options){27, 1, alpha});

        exhaust(&toy, &start, max_len, alpha, &best);
        check_same(beam_get(b, 0, 0), &best);
        beam_close(b);
    }
}

/*
 * The reference's search as its text says it: fixed arrays with fillers of -INF, all
 * width * V continuations at every step.
 */
struct naive {
    struct plain alive[8], finished[8];
    struct plain cand[16 + 8];
};

static const double far_below = -1e7;

static void take_best(struct plain *to, size_t n_to, const struct plain *from, size_t n)
{
    bool taken[8 * V_MAX] = {false};

    for (size_t k = 0; k < n_to; k++) {
        size_t best = n;
        for (size_t i = 0; i < n; i++)
            if (!taken[i] && (best == n || from[i].score > from[best].score))
                best = i;
        taken[best] = true;
        to[k] = from[best];
    }
}

static void naive_step(struct naive *s, const struct toy *toy, size_t W, double alpha)
{
    struct plain all[8 * V_MAX], some[16 + 8];

    for (size_t b = 0; b < W; b++) {
        double p[V_MAX] = {0};
        toy_row(toy, s->alive[b].key, p);
        for (size_t v = 0; v < toy->V; v++) {
            all[b * toy->V + v] = extended(&s->alive[b], (int32_t)v, p[v], alpha);
            all[b * toy->V + v].score = all[b * toy->V + v].log_prob;
        }
    }
    take_best(s->cand, 2 * W, all, W * toy->V);
    for (size_t i = 0; i < 2 * W; i++) {
        some[i] = s->cand[i];
        some[i].score = some[i].log_prob + (some[i].is_finished ? far_below : 0);
    }
    take_best(s->alive, W, some, 2 * W);
    for (size_t i = 0; i < W; i++)
        some[i] = s->finished[i];
    for (size_t i = 0; i < 2 * W; i++) {
        const struct plain *c = &s->cand[i];
        some[W + i] = *c;
        some[W + i].score = c->log_prob / pow((5 + (double)c->n) / 6, alpha) +
                            (c->is_finished ? 0 : far_below);
    }
    take_best(s->finished, W, some, 3 * W);
}

static bool naive_goes_on(const struct naive *s, size_t W, size_t max_len, double alpha)
{
    const double bound = s->alive[0].log_prob / pow((5 + (double)max_len) / 6, alpha);
    double worst = 0;
    bool any = false;

    for (size_t i = 0; i < W; i++)
        if (s->finished[i].is_finished) {
            any = true;
            worst = s->finished[i].score < worst ? s->finished[i].score : worst;
        }
    return !any || !(worst > bound);
}

static struct naive naive_search(const struct toy *toy, uint64_t seed, size_t W,
                                 size_t max_len, double alpha, bool stops_early)
{
    struct naive s = {0};

    for (size_t b = 0; b < W; b++) {
        s.alive[b] = (struct plain){.log_prob = b ? far_below : 0, .key = seed};
        s.finished[b].score = far_below;
    }
    for (size_t i = 0; i < max_len; i++) {
        if (stops_early && !naive_goes_on(&s, W, max_len, alpha))
            break;
        naive_step(&s, toy, W, alpha);
    }
    return s;
}

TEST(the_best_translation_is_the_one_of_the_reference)
{
    size_t n_unfinished = 0, n_early = 0;

    for (uint64_t seed = 1; seed <= 400; seed++) {
        const size_t W = 1 + seed % 4, max_len = 2 + seed % 9;
        const double alpha = 0.6 * (double)(seed % 4);
        struct toy toy = {.V = V_MAX, .eos_bias = (double)(seed % 7) - 4, .seed = &seed};
        struct beam *b = searched(&toy, &max_len, 1, (struct beam_options){W, 1, alpha});
        const struct naive s = naive_search(&toy, seed, W, max_len, alpha, true);
        const bool found = s.finished[0].is_finished;
        struct plain want = found ? s.finished[0] : s.alive[0];

        if (!found)
            want.score = want.log_prob / pow((5 + (double)max_len) / 6, alpha);
        check_same(beam_get(b, 0, 0), &want);
        n_unfinished += !found;
        n_early += toy.n_steps < max_len;
        beam_close(b);
    }
    CHECK(n_unfinished > 10 && n_early > 100); /* the cases are varied */
}

TEST(the_list_of_the_best_is_that_of_a_search_that_never_stops_early)
{
    size_t n_early = 0;

    for (uint64_t seed = 1; seed <= 400; seed++) {
        const size_t W = 2 + seed % 3, max_len = 3 + seed % 8;
        struct toy toy = {.V = V_MAX, .eos_bias = (double)(seed % 5) - 2, .seed = &seed};
        struct beam *b = searched(&toy, &max_len, 1, (struct beam_options){W, W, 0.6});
        const struct naive s = naive_search(&toy, seed, W, max_len, 0.6, false);
        size_t n = 0;

        while (n < W && s.finished[n].is_finished)
            n++;
        if (n > 0) {
            CHECK(beam_found(b, 0) == n);
            for (size_t i = 0; i < n; i++)
                check_same(beam_get(b, 0, i), &s.finished[i]);
        }
        n_early += toy.n_steps < max_len;
        beam_close(b);
    }
    CHECK(n_early > 50);
}

TEST(fewer_wanted_results_are_the_head_of_the_longer_list)
{
    const size_t max_len = 9;

    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct toy toy = {.V = V_MAX, .seed = &seed};
        struct beam *all = searched(&toy, &max_len, 1, (struct beam_options){4, 4, 0.6});
        struct beam *two = searched(&toy, &max_len, 1, (struct beam_options){4, 2, 0.6});

        CHECK(beam_found(two, 0) == (beam_found(all, 0) < 2 ? 1 : 2));
        for (size_t i = 0; i < beam_found(two, 0); i++) {
            const struct beam_hypothesis x = beam_get(all, 0, i), y = beam_get(two, 0, i);
            CHECK(x.n == y.n && x.score == y.score);
            CHECK(memcmp(x.token, y.token, x.n * sizeof *x.token) == 0);
        }
        beam_close(all);
        beam_close(two);
    }
}

TEST(a_sentence_alone_and_in_a_batch_gives_the_same)
{
    enum { N = 23 };
    size_t max_len[N];
    uint64_t seed[N];
    struct toy toy = {.V = V_MAX, .eos_bias = -1, .seed = seed};
    const struct beam_options options = {3, 3, 0.6};
    struct beam *batch;

    for (size_t s = 0; s < N; s++) {
        max_len[s] = 1 + s * 7 % LEN_MAX;
        seed[s] = 100 + s;
    }
    batch = searched(&toy, max_len, N, options);
    CHECK(toy.n_rows[0] == N);
    CHECK(toy.n_rows[toy.n_steps - 1] < N); /* those that are over have left */
    for (size_t s = 0; s < N; s++) {
        struct toy one = {.V = V_MAX, .eos_bias = -1, .seed = &seed[s]};
        struct beam *alone = searched(&one, &max_len[s], 1, options);
        CHECK(beam_found(alone, 0) == beam_found(batch, s));
        for (size_t i = 0; i < beam_found(alone, 0); i++) {
            const struct beam_hypothesis x = beam_get(alone, 0, i),
                                         y = beam_get(batch, s, i);
            CHECK(x.n == y.n && x.score == y.score);
            CHECK(memcmp(x.token, y.token, x.n * sizeof *x.token) == 0);
        }
        beam_close(alone);
    }
    beam_close(batch);
}

TEST(one_search_can_serve_many_batches_and_narrower_beams)
{
    const size_t max_len[2] = {8, 5};
    const struct beam_limit limit[2] = {{8, 0}, {5, 0}};
    const uint64_t seed[2] = {7, 8};
    struct toy toy = {.V = V_MAX, .seed = seed, .width = 2};
    const struct beam_source source = {toy_step, &toy};
    struct beam *fresh = searched(&toy, max_len, 2, (struct beam_options){2, 2, 0.6});
    struct err err = {0};
    struct beam *b;

    CHECK_OK(beam_open(&b, 5, LEN_MAX, 4, &err), &err);
    for (int again = 0; again < 3; again++) {
        CHECK_OK(
            beam_search(b, &source, limit, 2, (struct beam_options){2, 2, 0.6}, &err),
            &err);
        for (size_t s = 0; s < 2; s++)
            CHECK(beam_get(b, s, 1).score == beam_get(fresh, s, 1).score);
    }
    beam_close(b);
    beam_close(fresh);
}

/* A source that says the same at every step: a row of log-probabilities by id. */
struct fixed {
    const double *p;
    size_t V, width;
};

static status fixed_step(void *ctx, size_t t, const struct beam_rows *rows, double *top,
                         int32_t *id, struct err *err)
{
    const struct fixed *f = ctx;
    const size_t K = 2 * f->width;

    (void)t;
    (void)err;
    for (size_t r = 0; r < rows->n; r++)
        top_of(f->p, f->V, K, top + r * K, id + r * K);
    return OK;
}

static status search_within(struct beam **b, const double *p, size_t V,
                            struct beam_limit limit, struct beam_options options,
                            struct err *err)
{
    struct fixed f = {p, V, options.width};
    const struct beam_source source = {fixed_step, &f};

    CHECK_OK(beam_open(b, 1, limit.max_len, options.width, err), err);
    return beam_search(*b, &source, &limit, 1, options, err);
}

static status search_fixed(struct beam **b, const double *p, size_t V, size_t max_len,
                           struct beam_options options, struct err *err)
{
    return search_within(b, p, V, (struct beam_limit){max_len, 0}, options, err);
}

/* p(EOS) = .4, p(2) = .6: 2 2 EOS has log P -1.938, EOS alone -0.916. */
TEST(a_large_alpha_prefers_the_longer_translation)
{
    const double p[] = {-INFINITY, log(0.4), log(0.6)};
    struct err err = {0};
    struct beam *b;

    CHECK_OK(search_fixed(&b, p, 3, 3, (struct beam_options){2, 2, 0}, &err), &err);
    CHECK(beam_get(b, 0, 0).n == 1);
    CHECK_NEAR(beam_get(b, 0, 0).score, log(0.4), 1e-12);
    beam_close(b);

    CHECK_OK(search_fixed(&b, p, 3, 3, (struct beam_options){2, 2, 4}, &err), &err);
    CHECK(beam_get(b, 0, 0).n == 3);
    CHECK_NEAR(beam_get(b, 0, 0).log_prob, log(0.6 * 0.6 * 0.4), 1e-12);
    CHECK_NEAR(beam_get(b, 0, 0).score, log(0.6 * 0.6 * 0.4) / pow(8.0 / 6, 4), 1e-12);
    beam_close(b);
}

TEST(the_penalty_is_that_of_the_reference)
{
    CHECK_NEAR(beam_penalty(1, 0.6), 1, 1e-15);
    CHECK_NEAR(beam_penalty(7, 0.6), 1.515716566510398, 1e-12);
    CHECK_NEAR(beam_penalty(30, 0), 1, 1e-15);
}

/* It ends where EOS, being among the two likeliest, gave the best score. */
TEST(a_beam_of_one_follows_the_likeliest_tokens)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        const size_t max_len = 10;
        struct toy toy = {.V = V_MAX, .seed = &seed};
        struct beam *b = searched(&toy, &max_len, 1, (struct beam_options){1, 1, 0});
        struct plain chain = {.key = seed}, want = {0};

        while (chain.n < max_len) {
            double p[V_MAX] = {0}, top[2];
            int32_t id[2];
            toy_row(&toy, chain.key, p);
            top_of(p, V_MAX, 2, top, id);
            const struct plain ended = extended(&chain, BEAM_EOS, p[BEAM_EOS], 0);
            if ((id[0] == BEAM_EOS || id[1] == BEAM_EOS) &&
                (!want.n || ended.score > want.score))
                want = ended;
            const int first = id[0] == BEAM_EOS;
            chain = extended(&chain, id[first], top[first], 0);
        }
        check_same(beam_get(b, 0, 0), want.n ? &want : &chain);
        beam_close(b);
    }
}

TEST(the_living_are_the_result_when_nothing_finished)
{
    const double p[] = {log(0.1), -INFINITY, log(0.7), log(0.2)};
    const int32_t want[] = {2, 2, 2, 2, 2};
    struct err err = {0};
    struct beam *b;

    CHECK_OK(search_fixed(&b, p, 4, 5, (struct beam_options){3, 3, 0.6}, &err), &err);
    CHECK(beam_found(b, 0) == 3);
    CHECK(beam_get(b, 0, 0).n == 5 && !beam_get(b, 0, 0).is_finished);
    CHECK(memcmp(beam_get(b, 0, 0).token, want, sizeof want) == 0);
    CHECK_NEAR(beam_get(b, 0, 0).score, 5 * log(0.7) / pow(10.0 / 6, 0.6), 1e-12);
    CHECK(beam_get(b, 0, 1).score > beam_get(b, 0, 2).score - 1e-12);
    beam_close(b);
}

/* All tokens alike: the better hypothesis first, then the lower id; the older wins. */
TEST(ties_go_to_the_better_hypothesis_and_the_lower_id)
{
    const double p[] = {log(0.25), log(0.25), log(0.25), log(0.25)};
    const int32_t living[2][2] = {{0, 0}, {0, 2}};
    struct err err = {0};
    struct beam *b;

    CHECK_OK(search_fixed(&b, p, 4, 2, (struct beam_options){2, 2, 0}, &err), &err);
    CHECK(beam_found(b, 0) == 2);
    CHECK(beam_get(b, 0, 0).n == 1);
    CHECK(beam_get(b, 0, 1).n == 2 && beam_get(b, 0, 1).token[0] == 0);
    beam_close(b);

    const double no_end[] = {log(0.25), -INFINITY, log(0.25), log(0.25)};
    CHECK_OK(search_fixed(&b, no_end, 4, 2, (struct beam_options){2, 2, 0}, &err), &err);
    for (size_t i = 0; i < 2; i++)
        CHECK(memcmp(beam_get(b, 0, i).token, living[i], sizeof living[i]) == 0);
    beam_close(b);
}

TEST(a_model_of_nan_is_an_error_and_not_a_hang)
{
    const double p[] = {NAN, NAN, NAN, NAN};
    struct err err = {0};
    struct beam *b;

    CHECK_FAILS(search_fixed(&b, p, 4, 50, (struct beam_options){2, 1, 0.6}, &err), &err,
                ERR_NUMERIC, "not a number");
    beam_close(b);
}

TEST(a_model_that_allows_no_token_is_an_error)
{
    const double p[] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    struct err err = {0};
    struct beam *b;

    CHECK_FAILS(search_fixed(&b, p, 4, 50, (struct beam_options){2, 1, 0.6}, &err), &err,
                ERR_NUMERIC, "any probability");
    beam_close(b);
}

TEST(a_certain_token_that_rounds_above_one_gains_nothing)
{
    const double p[] = {-INFINITY, log(1e-3), 1e-6};
    struct err err = {0};
    struct beam *b;

    CHECK_OK(search_fixed(&b, p, 3, 40, (struct beam_options){1, 1, 0}, &err), &err);
    CHECK(beam_get(b, 0, 0).n == 1); /* later ones are no better, and the older wins */
    CHECK_NEAR(beam_get(b, 0, 0).log_prob, log(1e-3), 1e-12);
    beam_close(b);
}

TEST(a_sentence_that_can_only_end_ends_at_once)
{
    const double p[] = {-INFINITY, 0};
    struct err err = {0};
    struct beam *b;

    CHECK_OK(search_fixed(&b, p, 2, 40, (struct beam_options){4, 4, 0.6}, &err), &err);
    CHECK(beam_found(b, 0) == 1 && beam_get(b, 0, 0).n == 1);
    CHECK(beam_get(b, 0, 0).is_finished);
    beam_close(b);
}

static status failing_step(void *ctx, size_t t, const struct beam_rows *rows, double *top,
                           int32_t *id, struct err *err)
{
    (void)ctx, (void)t, (void)rows, (void)top, (void)id;
    return err_set(err, ERR_DEVICE, "the device fell off");
}

TEST(a_failure_of_the_source_is_passed_on)
{
    const struct beam_source source = {failing_step, NULL};
    const struct beam_limit limit = {.max_len = 3};
    struct err err = {0};
    struct beam *b;

    CHECK_OK(beam_open(&b, 1, limit.max_len, 2, &err), &err);
    CHECK_FAILS(
        beam_search(b, &source, &limit, 1, (struct beam_options){2, 1, 0.6}, &err), &err,
        ERR_DEVICE, "fell off");
    beam_close(b);
    beam_close(NULL);
}

/* EOS is by far the likeliest; 2 has text, 3 has none. */
TEST(a_translation_does_not_end_before_it_has_text)
{
    const double p[] = {-INFINITY, log(0.9), log(0.04), log(0.06)};
    const bool is_text[] = {false, false, true, false};
    struct beam_options o = {.width = 4, .n_best = 1, .is_text = is_text, .n_ids = 4};
    struct err err = {0};
    struct beam *b;

    CHECK_OK(search_fixed(&b, p, 4, 8, o, &err), &err);
    CHECK(beam_get(b, 0, 0).n == 1 && !beam_acts(b, 0).min_length);
    beam_close(b);
    for (o.min_length = 1; o.min_length <= 2; o.min_length++) {
        CHECK_OK(search_fixed(&b, p, 4, 8, o, &err), &err);
        const struct beam_hypothesis h = beam_get(b, 0, 0);
        size_t n_text = 0;
        for (size_t i = 0; i < h.n; i++)
            n_text += is_text[h.token[i]];
        CHECK(h.is_finished && n_text == o.min_length);
        CHECK(beam_acts(b, 0).min_length && !beam_acts(b, 0).repeats);
        beam_close(b);
    }
    /* a rule that took away nothing that would have won did not act */
    const double talks[] = {-INFINITY, log(0.1), log(0.9), -INFINITY};
    o.min_length = 1;
    o.alpha = 4;
    CHECK_OK(search_fixed(&b, talks, 4, 3, o, &err), &err);
    CHECK(beam_get(b, 0, 0).n > 1 && !beam_acts(b, 0).min_length);
    beam_close(b);
}

TEST(a_sentence_that_may_only_end_is_the_result_without_a_token)
{
    const double p[] = {-INFINITY, 0};
    const bool is_text[] = {false, false};
    const struct beam_options o = {
        .width = 1, .n_best = 1, .min_length = 1, .is_text = is_text, .n_ids = 2};
    struct err err = {0};
    struct beam *b;

    CHECK_OK(search_fixed(&b, p, 2, 5, o, &err), &err);
    CHECK(beam_found(b, 0) == 1 && beam_get(b, 0, 0).n == 0);
    CHECK(!beam_get(b, 0, 0).is_finished);
    beam_close(b);
}

static size_t most_repeats(struct beam_hypothesis h)
{
    size_t most = 0;

    for (size_t i = BEAM_GRAM; i <= h.n; i++) {
        size_t n = 0;
        for (size_t k = BEAM_GRAM; k <= h.n; k++)
            n += memcmp(h.token + i - BEAM_GRAM, h.token + k - BEAM_GRAM,
                        BEAM_GRAM * sizeof *h.token) == 0;
        most = n > most ? n : most;
    }
    return most;
}

TEST(a_run_occurs_as_often_as_the_limit_says_and_no_more)
{
    const double p[] = {log(0.01), -INFINITY, log(0.8), log(0.19)};
    struct err err = {0};
    struct beam *b;

    for (size_t width = 1; width <= 3; width++)
        for (size_t max = 1; max <= 4; max++) {
            const struct beam_options o = {.width = width, .n_best = 1};
            const struct beam_limit limit = {.max_len = 40, .max_repeats = max};
            CHECK_OK(search_within(&b, p, 4, limit, o, &err), &err);
            CHECK(most_repeats(beam_get(b, 0, 0)) == max);
            CHECK(beam_get(b, 0, 0).n > BEAM_GRAM + max); /* it went on otherwise */
            CHECK(beam_acts(b, 0).repeats);
            beam_close(b);
        }
    CHECK_OK(search_fixed(&b, p, 4, 40, (struct beam_options){2, 1, 0}, &err), &err);
    CHECK(!beam_acts(b, 0).repeats);
    beam_close(b);
}

/* Only the second best repeats itself at the step in question, but it could have won. */
TEST(a_result_that_the_limit_of_repeats_changed_is_marked)
{
    const struct beam_options o = {.width = 4, .n_best = 1, .alpha = 0.6};
    size_t n_changed = 0;

    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct toy toy = {.V = 3, .seed = &seed, .width = 4, .eos_bias = -6};
        const struct beam_source source = {toy_step, &toy};
        const struct beam_limit limit = {.max_len = LEN_MAX, .max_repeats = 1};
        struct beam *plain = searched(&toy, &limit.max_len, 1, o);
        struct err err = {0};
        struct beam *b;
        CHECK_OK(beam_open(&b, 1, LEN_MAX, 4, &err), &err);
        CHECK_OK(beam_search(b, &source, &limit, 1, o, &err), &err);
        const struct beam_hypothesis x = beam_get(plain, 0, 0), y = beam_get(b, 0, 0);
        const bool is_same =
            x.n == y.n && memcmp(x.token, y.token, x.n * sizeof *x.token) == 0;
        n_changed += !is_same;
        CHECK(is_same || beam_acts(b, 0).repeats);
        beam_close(plain);
        beam_close(b);
    }
    CHECK(n_changed > 0);
}

/* One token alone, which may stand BEAM_GRAM + 1 times: then there is no way on. */
TEST(a_hypothesis_without_a_way_on_is_the_result_as_it_is)
{
    const double p[] = {-INFINITY, -INFINITY, 0};
    const struct beam_limit limit = {.max_len = 40, .max_repeats = 2};
    struct err err = {0};
    struct beam *b;

    CHECK_OK(search_within(&b, p, 3, limit, (struct beam_options){2, 1, 0.6}, &err),
             &err);
    CHECK(beam_get(b, 0, 0).n == BEAM_GRAM + 1 && !beam_get(b, 0, 0).is_finished);
    CHECK(beam_acts(b, 0).repeats);
    beam_close(b);
}

TEST(rules_that_do_not_act_change_nothing)
{
    const bool is_text[V_MAX] = {true, true, true, true, true, true, true, true};
    const struct beam_limit limit = {.max_len = LEN_MAX, .max_repeats = 9};

    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct toy toy = {.V = V_MAX, .seed = &seed, .width = 4};
        const struct beam_source source = {toy_step, &toy};
        const struct beam_options o = {
            .width = 4, .n_best = 1, .alpha = 0.6, .is_text = is_text, .n_ids = V_MAX};
        struct beam *plain = searched(&toy, &limit.max_len, 1, o);
        struct err err = {0};
        struct beam *b;
        CHECK_OK(beam_open(&b, 1, LEN_MAX, 4, &err), &err);
        CHECK_OK(beam_search(b, &source, &limit, 1, o, &err), &err);
        const struct beam_hypothesis x = beam_get(plain, 0, 0), y = beam_get(b, 0, 0);
        CHECK(x.n == y.n && x.score == y.score);
        CHECK(memcmp(x.token, y.token, x.n * sizeof *x.token) == 0);
        CHECK(!beam_acts(b, 0).min_length && !beam_acts(b, 0).repeats);
        beam_close(plain);
        beam_close(b);
    }
}
