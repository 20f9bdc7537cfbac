#include "decode/beam/beam.h"

#include <stdlib.h>

#include "toy_search.h"

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
        struct toy toy = {.V = 4, .eos_bias = (double)(seed % 3) - 1, .seed = seed};
        const struct plain start = {.key = seed};
        struct plain best = {0};
        /* 3^3 unfinished prefixes at most */
        struct beam *b = searched(&toy, max_len, (struct beam_options){27, 1, alpha});

        exhaust(&toy, &start, max_len, alpha, &best);
        check_same(beam_get(b, 0), &best);
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
        struct toy toy = {.V = V_MAX, .eos_bias = (double)(seed % 7) - 4, .seed = seed};
        struct beam *b = searched(&toy, max_len, (struct beam_options){W, 1, alpha});
        const struct naive s = naive_search(&toy, seed, W, max_len, alpha, true);
        const bool found = s.finished[0].is_finished;
        struct plain want = found ? s.finished[0] : s.alive[0];

        if (!found)
            want.score = want.log_prob / pow((5 + (double)max_len) / 6, alpha);
        check_same(beam_get(b, 0), &want);
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
        struct toy toy = {.V = V_MAX, .eos_bias = (double)(seed % 5) - 2, .seed = seed};
        struct beam *b = searched(&toy, max_len, (struct beam_options){W, W, 0.6});
        const struct naive s = naive_search(&toy, seed, W, max_len, 0.6, false);
        size_t n = 0;

        while (n < W && s.finished[n].is_finished)
            n++;
        if (n > 0) {
            CHECK(beam_found(b) == n);
            for (size_t i = 0; i < n; i++)
                check_same(beam_get(b, i), &s.finished[i]);
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
        struct toy toy = {.V = V_MAX, .seed = seed};
        struct beam *all = searched(&toy, max_len, (struct beam_options){4, 4, 0.6});
        struct beam *two = searched(&toy, max_len, (struct beam_options){4, 2, 0.6});

        CHECK(beam_found(two) == (beam_found(all) < 2 ? 1 : 2));
        for (size_t i = 0; i < beam_found(two); i++) {
            const struct beam_hypothesis x = beam_get(all, i), y = beam_get(two, i);
            CHECK(x.n == y.n && x.score == y.score);
            CHECK(memcmp(x.token, y.token, x.n * sizeof *x.token) == 0);
        }
        beam_close(all);
        beam_close(two);
    }
}

TEST(one_beam_can_serve_many_searches_and_narrower_ones)
{
    const struct beam_options options = {2, 2, 0.6};
    struct toy toy = {.V = V_MAX, .seed = 7};
    struct beam *fresh = searched(&toy, 8, options);
    struct err err = {0};
    struct beam *b;

    CHECK_OK(beam_open(&b, LEN_MAX, 4, &err), &err);
    for (int again = 0; again < 3; again++) {
        CHECK_OK(run(b, toy_next, &toy, (struct beam_limit){8, 0}, options, &err), &err);
        CHECK(beam_get(b, 1).score == beam_get(fresh, 1).score);
    }
    beam_close(b);
    beam_close(fresh);
}

/* A source that says the same at every step: a row of log-probabilities by id. */
struct fixed {
    const double *p;
    size_t V, width;
};

static void fixed_next(void *ctx, const struct beam_rows *rows, double *top, int32_t *id)
{
    const struct fixed *f = ctx;
    const size_t K = 2 * f->width;

    for (size_t r = 0; r < rows->n; r++)
        top_of(f->p, f->V, K, top + r * K, id + r * K);
}

static status search_within(struct beam **b, const double *p, size_t V,
                            struct beam_limit limit, struct beam_options options,
                            struct err *err)
{
    struct fixed f = {p, V, options.width};

    CHECK_OK(beam_open(b, limit.max_len, options.width, err), err);
    return run(*b, fixed_next, &f, limit, options, err);
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
    CHECK(beam_get(b, 0).n == 1);
    CHECK_NEAR(beam_get(b, 0).score, log(0.4), 1e-12);
    beam_close(b);

    CHECK_OK(search_fixed(&b, p, 3, 3, (struct beam_options){2, 2, 4}, &err), &err);
    CHECK(beam_get(b, 0).n == 3);
    CHECK_NEAR(beam_get(b, 0).log_prob, log(0.6 * 0.6 * 0.4), 1e-12);
    CHECK_NEAR(beam_get(b, 0).score, log(0.6 * 0.6 * 0.4) / pow(8.0 / 6, 4), 1e-12);
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
        struct toy toy = {.V = V_MAX, .seed = seed};
        struct beam *b = searched(&toy, max_len, (struct beam_options){1, 1, 0});
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
        check_same(beam_get(b, 0), want.n ? &want : &chain);
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
    CHECK(beam_found(b) == 3);
    CHECK(beam_get(b, 0).n == 5 && !beam_get(b, 0).is_finished);
    CHECK(memcmp(beam_get(b, 0).token, want, sizeof want) == 0);
    CHECK_NEAR(beam_get(b, 0).score, 5 * log(0.7) / pow(10.0 / 6, 0.6), 1e-12);
    CHECK(beam_get(b, 1).score > beam_get(b, 2).score - 1e-12);
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
    CHECK(beam_found(b) == 2);
    CHECK(beam_get(b, 0).n == 1);
    CHECK(beam_get(b, 1).n == 2 && beam_get(b, 1).token[0] == 0);
    beam_close(b);

    const double no_end[] = {log(0.25), -INFINITY, log(0.25), log(0.25)};
    CHECK_OK(search_fixed(&b, no_end, 4, 2, (struct beam_options){2, 2, 0}, &err), &err);
    for (size_t i = 0; i < 2; i++)
        CHECK(memcmp(beam_get(b, i).token, living[i], sizeof living[i]) == 0);
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
    CHECK(beam_get(b, 0).n == 1); /* later ones are no better, and the older wins */
    CHECK_NEAR(beam_get(b, 0).log_prob, log(1e-3), 1e-12);
    beam_close(b);
}

TEST(a_sentence_that_can_only_end_ends_at_once)
{
    const double p[] = {-INFINITY, 0};
    struct err err = {0};
    struct beam *b;

    CHECK_OK(search_fixed(&b, p, 2, 40, (struct beam_options){4, 4, 0.6}, &err), &err);
    CHECK(beam_found(b) == 1 && beam_get(b, 0).n == 1);
    CHECK(beam_get(b, 0).is_finished);
    beam_close(b);
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
    CHECK(beam_get(b, 0).n == 1 && !beam_acts(b).min_length);
    beam_close(b);
    for (o.min_length = 1; o.min_length <= 2; o.min_length++) {
        CHECK_OK(search_fixed(&b, p, 4, 8, o, &err), &err);
        const struct beam_hypothesis h = beam_get(b, 0);
        size_t n_text = 0;
        for (size_t i = 0; i < h.n; i++)
            n_text += is_text[h.token[i]];
        CHECK(h.is_finished && n_text == o.min_length);
        CHECK(beam_acts(b).min_length && !beam_acts(b).repeats);
        beam_close(b);
    }
    /* a rule that took away nothing that would have won did not act */
    const double talks[] = {-INFINITY, log(0.1), log(0.9), -INFINITY};
    o.min_length = 1;
    o.alpha = 4;
    CHECK_OK(search_fixed(&b, talks, 4, 3, o, &err), &err);
    CHECK(beam_get(b, 0).n > 1 && !beam_acts(b).min_length);
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
    CHECK(beam_found(b) == 1 && beam_get(b, 0).n == 0);
    CHECK(!beam_get(b, 0).is_finished);
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
            CHECK(most_repeats(beam_get(b, 0)) == max);
            CHECK(beam_get(b, 0).n > BEAM_GRAM + max); /* it went on otherwise */
            CHECK(beam_acts(b).repeats);
            beam_close(b);
        }
    CHECK_OK(search_fixed(&b, p, 4, 40, (struct beam_options){2, 1, 0}, &err), &err);
    CHECK(!beam_acts(b).repeats);
    beam_close(b);
}

/* Only the second best repeats itself at the step in question, but it could have won. */
TEST(a_result_that_the_limit_of_repeats_changed_is_marked)
{
    const struct beam_options o = {.width = 4, .n_best = 1, .alpha = 0.6};
    size_t n_changed = 0;

    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct toy toy = {.V = 3, .seed = seed, .width = 4, .eos_bias = -6};
        const struct beam_limit limit = {.max_len = LEN_MAX, .max_repeats = 1};
        struct beam *plain = searched(&toy, limit.max_len, o);
        struct err err = {0};
        struct beam *b;
        CHECK_OK(beam_open(&b, LEN_MAX, 4, &err), &err);
        CHECK_OK(run(b, toy_next, &toy, limit, o, &err), &err);
        const struct beam_hypothesis x = beam_get(plain, 0), y = beam_get(b, 0);
        const bool is_same =
            x.n == y.n && memcmp(x.token, y.token, x.n * sizeof *x.token) == 0;
        n_changed += !is_same;
        CHECK(is_same || beam_acts(b).repeats);
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
    CHECK(beam_get(b, 0).n == BEAM_GRAM + 1 && !beam_get(b, 0).is_finished);
    CHECK(beam_acts(b).repeats);
    beam_close(b);
}

TEST(rules_that_do_not_act_change_nothing)
{
    const bool is_text[V_MAX] = {true, true, true, true, true, true, true, true};
    const struct beam_limit limit = {.max_len = LEN_MAX, .max_repeats = 9};

    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct toy toy = {.V = V_MAX, .seed = seed, .width = 4};
        const struct beam_options o = {
            .width = 4, .n_best = 1, .alpha = 0.6, .is_text = is_text, .n_ids = V_MAX};
        struct beam *plain = searched(&toy, limit.max_len, o);
        struct err err = {0};
        struct beam *b;
        CHECK_OK(beam_open(&b, LEN_MAX, 4, &err), &err);
        CHECK_OK(run(b, toy_next, &toy, limit, o, &err), &err);
        const struct beam_hypothesis x = beam_get(plain, 0), y = beam_get(b, 0);
        CHECK(x.n == y.n && x.score == y.score);
        CHECK(memcmp(x.token, y.token, x.n * sizeof *x.token) == 0);
        CHECK(!beam_acts(b).min_length && !beam_acts(b).repeats);
        beam_close(plain);
        beam_close(b);
    }
}
