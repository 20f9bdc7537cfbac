/* Tokens and sentences drawn at random, with fixed seeds: frequencies against exact
 * probabilities by chi-square, and sets of what may be drawn against sorted lists. */
#include "decode/beam/sampler.h"

#include <stdlib.h>

#include "decode/steer/guide.h"
#include "toy_search.h"

enum { MANY = 1000, DRAWS = 20000 };

static struct err err;

static void open_sampler(struct sampler *s, struct sampler_options o, size_t n)
{
    CHECK_OK(sampler_open(s, o, kernels_choose("cpu"), n, &err), &err);
}

static int32_t draw(struct sampler *s, uint64_t key, uint64_t i)
{
    bool is_number;
    const int32_t id = sampler_draw(s, unit(rng_hash(key, i)), &is_number);

    CHECK(is_number);
    return id;
}

/* Counts of n outcomes against their probabilities, which sum to 1. The bound is that of
 * one in ten thousand cases: mean n - 1, deviation sqrt(2 (n - 1)). */
static void check_frequencies(const size_t *count, const double *p, size_t n)
{
    double chi = 0, total = 0;
    size_t df = 0;

    for (size_t i = 0; i < n; i++)
        total += (double)count[i];
    for (size_t i = 0; i < n; i++) {
        const double want = total * p[i];
        CHECK(p[i] > 0 || !count[i]);
        if (p[i] > 0) {
            chi += ((double)count[i] - want) * ((double)count[i] - want) / want;
            df++;
        }
    }
    if (chi > (double)(df - 1) + 4.5 * sqrt(2 * (double)(df - 1)) + 4)
        test_fail(__FILE__, __LINE__, "chi-square %.1f with %zu degrees of freedom", chi,
                  df - 1);
}

static void softmax(double *p, const float *z, size_t n, double temperature)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += p[i] = exp((double)z[i] / temperature);
    for (size_t i = 0; i < n; i++)
        p[i] /= sum;
}

TEST(tokens_are_drawn_as_often_as_they_are_likely)
{
    const float z[] = {0.5f, -1, 2, 0, 1.5f, -2.5f, 0.7f, 1};
    const double temperatures[] = {1, 0.5, 2};

    for (size_t k = 0; k < 3; k++) {
        struct sampler s;
        size_t count[8] = {0};
        double p[8];
        open_sampler(&s, (struct sampler_options){temperatures[k], 0, 1}, 8);
        sampler_begin(&s, z, 8);
        for (size_t i = 0; i < DRAWS; i++)
            count[draw(&s, k + 1, i)]++;
        softmax(p, z, 8, temperatures[k]);
        check_frequencies(count, p, 8);
        sampler_close(&s);
    }
}

static void fill(float *z, size_t n, uint64_t key)
{
    for (size_t i = 0; i < n; i++) /* few values: many are equal */
        z[i] = (float)(rng_hash(key, i) % 60) / 8;
}

/* Is i before k, when the likeliest and of those the lower ids come first? */
static bool is_before(const float *z, size_t i, size_t k)
{
    return z[i] > z[k] || (z[i] == z[k] && i < k);
}

/* The rank of each id, and the sum of exponentials of those before it. */
static void rank_all(const float *z, size_t n, size_t *rank, double *before)
{
    for (size_t i = 0; i < n; i++) {
        rank[i] = 0;
        before[i] = 0;
        for (size_t k = 0; k < n; k++)
            if (is_before(z, k, i)) {
                rank[i]++;
                before[i] += exp((double)z[k]);
            }
    }
}

static void check_kept(const struct sampler *s, const bool *is_wanted, size_t n)
{
    size_t n_wanted = 0;

    for (size_t i = 0; i < n; i++)
        n_wanted += is_wanted[i];
    CHECK(s->n_kept == n_wanted);
    for (size_t i = 0; i < s->n_kept; i++)
        CHECK(is_wanted[s->kept[i].id]);
}

TEST(the_k_likeliest_may_be_drawn_and_no_others)
{
    static const size_t sizes[] = {1, 2, 3, 10, 500, 999, 1000, 5000};
    static float z[MANY];
    static size_t rank[MANY];
    static double before[MANY];
    static bool is_wanted[MANY];

    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        struct sampler s;
        fill(z, MANY, k);
        rank_all(z, MANY, rank, before);
        open_sampler(&s, (struct sampler_options){1, sizes[k], 1}, MANY);
        sampler_begin(&s, z, MANY);
        draw(&s, 1, k);
        for (size_t i = 0; i < MANY; i++)
            is_wanted[i] = rank[i] < sizes[k];
        check_kept(&s, is_wanted, MANY);
        sampler_close(&s);
    }
}

TEST(the_fewest_that_have_the_probability_may_be_drawn)
{
    static const double shares[] = {1e-6, 0.1, 0.5, 0.77, 0.9, 0.99, 0.9999};
    static float z[MANY];
    static size_t rank[MANY];
    static double before[MANY];
    static bool is_wanted[MANY];

    for (size_t k = 0; k < 14; k++) {
        const size_t top_k = k % 2 ? 200 : MANY;
        struct sampler s;
        double total = 0;
        fill(z, MANY, 100 + k);
        rank_all(z, MANY, rank, before);
        for (size_t i = 0; i < MANY; i++)
            total += rank[i] < top_k ? exp((double)z[i]) : 0;
        open_sampler(&s, (struct sampler_options){1, top_k, shares[k / 2]}, MANY);
        sampler_begin(&s, z, MANY);
        draw(&s, 1, k);
        for (size_t i = 0; i < MANY; i++)
            is_wanted[i] = rank[i] < top_k && before[i] < shares[k / 2] * total;
        check_kept(&s, is_wanted, MANY);
        sampler_close(&s);
    }
}

TEST(what_is_left_keeps_its_proportions)
{
    const float z[] = {0.5f, -1, 2, 0, 1.5f, -2.5f, 0.7f, 1};
    struct sampler s;
    size_t count[8] = {0};
    double p[8], sum;

    softmax(p, z, 8, 1);
    for (size_t i = 0; i < 8; i++) /* 2 is refused; of the others the three likeliest */
        p[i] = i == 4 || i == 7 || i == 6 ? p[i] : 0;
    sum = p[4] + p[7] + p[6];
    for (size_t i = 0; i < 8; i++)
        p[i] /= sum;
    open_sampler(&s, (struct sampler_options){1, 3, 1}, 8);
    sampler_begin(&s, z, 8);
    sampler_refuse(&s, 2);
    for (size_t i = 0; i < DRAWS; i++)
        count[draw(&s, 5, i)]++;
    check_frequencies(count, p, 8);
    sampler_close(&s);
}

TEST(the_colder_the_likelier_down_to_the_likeliest)
{
    static const double cold[] = {1e-3, 1e-20, 1e-37, 1e-40, 1e-300, 0};
    const float z[] = {-3, 20, 21, 4};

    for (size_t i = 0; i < sizeof cold / sizeof *cold; i++) {
        struct sampler s;
        open_sampler(&s, (struct sampler_options){cold[i], 0, 1}, 4);
        sampler_begin(&s, z, 4);
        for (uint64_t k = 0; k < 100; k++)
            CHECK(draw(&s, 5, k) == 2);
        sampler_close(&s);
    }
}

TEST(a_sampler_that_may_draw_nothing_says_so)
{
    const float z[] = {1, NAN, 2}, fine[] = {1, 2, -INFINITY};
    struct sampler s;
    bool is_number;

    open_sampler(&s, (struct sampler_options){1, 0, 1}, 3);
    sampler_begin(&s, fine, 3);
    for (int32_t i = 0; i < 2; i++) {
        CHECK(sampler_draw(&s, 0.999, &is_number) == 1 - i && is_number);
        sampler_refuse(&s, 1 - i);
    }
    CHECK(sampler_draw(&s, 0.5, &is_number) == -1 && is_number);
    sampler_begin(&s, z, 3);
    sampler_draw(&s, 0.5, &is_number);
    CHECK(!is_number);
    sampler_close(&s);
}

TEST(all_kernels_draw_the_same)
{
    const struct infer_kernels *variant[8];
    const size_t n_variants = kernels_variants(variant, 8);
    static float z[MANY];

    for (size_t i = 0; i < MANY; i++)
        z[i] = (float)(8 * unit(rng_hash(3, i)));
    for (size_t round = 0; round < 200; round++) {
        int32_t first = 0;
        for (size_t v = 0; v < n_variants; v++) {
            const struct sampler_options o = {0.8, round % 2 ? 50 : 0,
                                              round % 3 ? 0.9 : 1};
            struct sampler s;
            CHECK_OK(sampler_open(&s, o, variant[v], MANY, &err), &err);
            sampler_begin(&s, z, MANY);
            const int32_t id = draw(&s, 9, round);
            CHECK(v == 0 || id == first);
            first = id;
            sampler_close(&s);
        }
    }
}

/* ---- sentences ---- */

/* Every sentence of up to three tokens of {0, EOS, 2}: probability, and its number. */
struct outcomes {
    double p[64];
    size_t n;
    int32_t token[64][3];
    size_t length[64];
};

static void list_outcomes(const struct toy *toy, const struct plain *h,
                          struct outcomes *o)
{
    double p[V_MAX] = {0};

    toy_row(toy, h->key, p);
    for (size_t v = 0; v < toy->V; v++) {
        const struct plain next = extended(h, (int32_t)v, p[v], 0);
        if (!next.is_finished && next.n < 3) {
            list_outcomes(toy, &next, o);
            continue;
        }
        memcpy(o->token[o->n], next.token, sizeof o->token[0]);
        o->length[o->n] = next.n;
        o->p[o->n++] = exp(next.log_prob);
    }
}

static size_t number_of(const struct outcomes *o, struct beam_hypothesis h)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->length[i] == h.n &&
            memcmp(o->token[i], h.token, h.n * sizeof *h.token) == 0)
            return i;
    test_fail(__FILE__, __LINE__, "a sentence that cannot be");
}

static status sample(struct beam *b, struct toy *toy, struct sampler *s, uint64_t key,
                     size_t max_len, struct beam_options o)
{
    toy->width = o.width;
    o.sampler = s;
    return run(b, toy_next, toy, (struct beam_limit){.max_len = max_len, .key = key}, o,
               &err);
}

TEST(sentences_are_drawn_as_often_as_they_are_likely)
{
    enum { SAMPLES = 16, KEYS = 1500 };
    const struct beam_options o = {.width = SAMPLES, .n_best = SAMPLES};
    struct toy toy = {.V = 3, .seed = 11};
    const struct plain start = {.key = toy.seed};
    struct outcomes all = {0};
    size_t count[64] = {0};
    struct sampler s;
    struct beam *b;

    list_outcomes(&toy, &start, &all);
    open_sampler(&s, (struct sampler_options){1, 0, 1}, V_MAX);
    CHECK_OK(beam_open(&b, 3, SAMPLES, &err), &err);
    for (uint64_t key = 0; key < KEYS; key++) {
        CHECK_OK(sample(b, &toy, &s, rng_hash(1, key), 3, o), &err);
        CHECK(beam_found(b) == SAMPLES);
        for (size_t i = 0; i < SAMPLES; i++) {
            const struct beam_hypothesis h = beam_get(b, i);
            const size_t k = number_of(&all, h);
            CHECK_NEAR(h.log_prob, log(all.p[k]), 1e-5);
            count[k]++;
        }
    }
    check_frequencies(count, all.p, all.n);
    beam_close(b);
    sampler_close(&s);
}

/* Sample k is the same whatever else is drawn. */
TEST(samples_do_not_depend_on_how_many_there_are)
{
    struct toy toy = {.V = V_MAX, .seed = 5};
    struct sampler s;
    struct beam *few, *many;
    size_t n_different = 0;

    open_sampler(&s, (struct sampler_options){1, 0, 1}, V_MAX);
    CHECK_OK(beam_open(&few, LEN_MAX, 3, &err), &err);
    CHECK_OK(beam_open(&many, LEN_MAX, 9, &err), &err);
    for (uint64_t key = 0; key < 50; key++) {
        CHECK_OK(sample(few, &toy, &s, key, LEN_MAX, (struct beam_options){3, 3, 0}),
                 &err);
        CHECK_OK(sample(many, &toy, &s, key, LEN_MAX, (struct beam_options){9, 9, 0}),
                 &err);
        for (size_t k = 0; k < 3; k++) {
            const struct beam_hypothesis x = beam_get(few, k), y = beam_get(many, k);
            CHECK(x.n == y.n && memcmp(x.token, y.token, x.n * sizeof *x.token) == 0);
            n_different += x.n != beam_get(many, k + 1).n;
        }
    }
    CHECK(n_different > 20);
    beam_close(few);
    beam_close(many);
    sampler_close(&s);
}

TEST(cold_samples_are_the_greedy_translation)
{
    static const double temperatures[] = {0, 1e-3};

    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct toy toy = {.V = V_MAX, .seed = seed};
        struct beam *greedy =
            searched(&toy, LEN_MAX,
                     (struct beam_options){.width = 1, .n_best = 1, .is_greedy = true});
        const struct beam_hypothesis want = beam_get(greedy, 0);
        struct sampler s;
        struct beam *b;
        open_sampler(&s, (struct sampler_options){temperatures[seed % 2], 0, 1}, V_MAX);
        CHECK_OK(beam_open(&b, LEN_MAX, 2, &err), &err);
        CHECK_OK(sample(b, &toy, &s, seed, LEN_MAX, (struct beam_options){2, 2, 0}),
                 &err);
        for (size_t k = 0; k < 2; k++) {
            const struct beam_hypothesis h = beam_get(b, k);
            CHECK(h.n == want.n &&
                  memcmp(h.token, want.token, h.n * sizeof *h.token) == 0);
            CHECK_NEAR(h.log_prob, want.log_prob, 1e-5);
        }
        beam_close(b);
        beam_close(greedy);
        sampler_close(&s);
    }
}

/* Rules and guides hold for samples. */
TEST(samples_obey_rules_and_guides)
{
    static const char *const texts[V_MAX] = {"", "", "", " a", " ab", "b", "c", "bc"};
    const bool is_text[V_MAX] = {false, false, false, true, true, true, true, true};
    const uint32_t rest[] = {' ', 'a', 'b'};
    const int32_t given[] = {2};
    const struct beam_options o = {
        .width = 4, .n_best = 4, .min_length = 3, .is_text = is_text, .n_ids = V_MAX};
    struct letters letters;
    struct sampler s;
    struct beam *b;

    CHECK_OK(letters_open_texts(&letters, texts, V_MAX, &err), &err);
    const struct guide g = {
        .letters = &letters, .prefix = given, .n_prefix = 1, .rest = {rest, 3}};
    open_sampler(&s, (struct sampler_options){1, 2, 1}, V_MAX);
    CHECK_OK(beam_open(&b, LEN_MAX, 4, &err), &err);
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct toy toy = {.V = V_MAX, .seed = seed, .width = 4, .eos_bias = 2};
        struct beam_options with = o;
        with.sampler = &s;
        CHECK_OK(run(b, toy_next, &toy,
                     (struct beam_limit){
                         .max_len = LEN_MAX, .max_repeats = 1, .guide = &g, .key = seed},
                     with, &err),
                 &err);
        for (size_t k = 0; k < 4; k++) {
            const struct beam_hypothesis h = beam_get(b, k);
            size_t n_text = 0;
            for (size_t i = 0; i < h.n; i++)
                n_text += is_text[h.token[i]];
            CHECK(n_text >= 3 || !h.is_finished);
            CHECK(h.token[0] == 2 && h.n_given == 1);
            CHECK(h.token[1] == 4 ||
                  (h.token[1] == 3 && (h.token[2] == 5 || h.token[2] == 7)));
        }
    }
    beam_close(b);
    sampler_close(&s);
    letters_close(&letters);
}

TEST(a_model_that_is_no_number_is_an_error_for_samples_too)
{
    const float nan[2] = {NAN, NAN}, none[2] = {-INFINITY, -INFINITY};
    struct sampler s;
    struct beam *b;

    open_sampler(&s, (struct sampler_options){1, 0, 1}, 2);
    CHECK_OK(beam_open(&b, 4, 1, &err), &err);
    for (int i = 0; i < 2; i++) {
        const struct beam_more more = {.logit = i ? none : nan, .n_logits = 2};
        beam_begin(b, (struct beam_limit){.max_len = 4},
                   (struct beam_options){.width = 1, .n_best = 1, .sampler = &s});
        CHECK_FAILS(beam_advance(b, &(struct beam_next){.more = &more}, &err), &err,
                    ERR_NUMERIC, i ? "any probability" : "not a number");
    }
    beam_close(b);
    sampler_close(&s);
}
