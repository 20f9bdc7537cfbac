#include <stdlib.h>

#include "align/ttable.h"
#include "base/progress.h"
#include "brute_em.h"
#include "toy_bitext.h"
#include "toy_ttable.h"

static void check_dictionary(const struct ttable *t)
{
    for (int32_t e = TOY_FIRST; e < TOY_FIRST + TOY_WORDS; e++) {
        uint16_t id[3];
        float prob[3];
        CHECK(ttable_best(t, (uint32_t)e, 3, id, prob) >= 1);
        CHECK(id[0] == toy_word(e) && prob[0] > 0.5f);
    }
}

TEST(every_word_of_a_known_dictionary_is_found)
{
    struct ttable_options o = ttable_defaults();
    struct corpus c;
    struct ttable t;

    toy_bitext(&c, 600, 9, false);
    for (int pass = 0; pass < 2; pass++) {
        o.alpha = pass ? 0.01 : 0;
        toy_learn(&t, &c, &o);
        check_dictionary(&t);
        CHECK_STR(t.note, "");
        ttable_release(&t);
    }
    corpus_close(&c);
}

/* Lengths 0 to 6, ids of one side with more than one meaning, ids 0 and the last. */
static void draw_tiny(struct corpus *c)
{
    struct rng rng = rng_open(rng_key(test_seed(), "tiny bitext"));
    struct toy_bitext t;

    toy_bitext_begin(&t, "tiny.bin", BRUTE_VOCAB);
    for (int k = 0; k < BRUTE_PAIRS; k++) {
        const size_t S = (size_t)rng_below(&rng, 7), T = (size_t)rng_below(&rng, 7);
        int32_t source[6], target[6];
        for (size_t i = 0; i < S; i++)
            source[i] = (int32_t)rng_below(&rng, BRUTE_VOCAB);
        for (size_t j = 0; j < T; j++)
            target[j] = S && j < S && rng_below(&rng, 3)
                            ? (BRUTE_VOCAB - 1) - source[j]
                            : (int32_t)rng_below(&rng, BRUTE_VOCAB);
        toy_bitext_add(&t, source, S, target, T);
    }
    toy_bitext_open(&t, c);
}

static void check_with_brute_force(double alpha)
{
    static double posterior[BRUTE_PAIRS * 36];
    static struct brute brute;
    struct ttable_options o = ttable_defaults();
    struct corpus c;
    struct ttable t;

    draw_tiny(&c);
    brute_open(&brute, &c);
    o.iterations = 12;
    o.alpha = brute.alpha = alpha;
    toy_learn(&t, &c, &o);
    for (int k = 0; k < o.iterations; k++)
        CHECK_NEAR(t.log_prob[k], brute_iterate(&brute, posterior), 1e-6);
    CHECK_NEAR(t.lambda, brute.lambda, 1e-5);
    for (uint32_t e = 0; e <= BRUTE_VOCAB; e++)
        for (uint32_t f = 0; f < BRUTE_VOCAB; f++)
            if (brute.t[e][f] > 2 * (double)TTABLE_FLOOR)
                CHECK_NEAR((double)ttable_prob(&t, e, f), brute.t[e][f], 1e-6);
            else
                CHECK(ttable_prob(&t, e, f) <= 4 * TTABLE_FLOOR);
    ttable_release(&t);
    corpus_close(&c);
}

TEST(learning_is_what_the_definition_says)
{
    check_with_brute_force(0);
}

TEST(so_is_learning_with_a_prior)
{
    check_with_brute_force(0.01);
    check_with_brute_force(0.5);
}

static void check_likelihood_rises(const struct corpus *c)
{
    struct ttable_options o = ttable_defaults();
    struct ttable t;

    o.iterations = 20;
    toy_learn(&t, c, &o);
    for (int k = 1; k < o.iterations; k++)
        CHECK(t.log_prob[k] >= t.log_prob[k - 1] * (1 - 1e-9));
    CHECK(t.log_prob[4] > t.log_prob[0] && t.lambda != o.lambda);
    ttable_release(&t);
}

TEST(every_iteration_raises_the_likelihood)
{
    struct corpus c;

    draw_tiny(&c);
    check_likelihood_rises(&c);
    corpus_close(&c);
    toy_bitext(&c, 300, 20, false);
    check_likelihood_rises(&c);
    corpus_close(&c);
}

/* All t are equal at first, so that a word is as likely as any other. */
TEST(the_first_likelihood_counts_every_token_of_every_block)
{
    const struct ttable_options o = ttable_defaults();
    struct corpus c;
    struct ttable t;

    toy_bitext(&c, 1000, 9, false);
    toy_learn(&t, &c, &o);
    CHECK(t.n_tokens == c.n_tokens / 2);
    CHECK_NEAR(t.log_prob[0], -(double)t.n_tokens * log(TOY_WORDS), 1e-6);
    ttable_release(&t);
    corpus_close(&c);
}

TEST(any_number_of_threads_gives_the_same_bytes)
{
    struct ttable_options o = ttable_defaults();
    struct corpus c;
    struct ttable one, more;

    toy_bitext(&c, 8000, 12, false);
    for (int pass = 0; pass < 2; pass++) {
        o.alpha = pass ? 0.01 : 0;
        toy_learn(&one, &c, &o);
        for (size_t n_threads = 1; n_threads <= 7; n_threads += 2) {
            toy_learn_threads(&more, &c, o, n_threads);
            toy_check_same(&one, &more);
            ttable_release(&more);
        }
        ttable_release(&one);
    }
    corpus_close(&c);
}

TEST(the_reverse_is_what_the_swapped_corpus_gives)
{
    struct ttable_options o = ttable_defaults();
    struct corpus c, swapped;
    struct ttable a, b;

    toy_bitext(&c, 200, 9, false);
    toy_bitext(&swapped, 200, 9, true);
    toy_learn(&b, &swapped, &o);
    o.is_reverse = true;
    toy_learn(&a, &c, &o);
    toy_check_same(&a, &b);
    ttable_release(&a);
    ttable_release(&b);
    corpus_close(&c);
    corpus_close(&swapped);
}

TEST(pairs_that_cannot_be_learnt_from_are_left_out)
{
    static const int32_t id[300] = {[0] = 5, [1] = 6};
    struct ttable_options o = ttable_defaults();
    struct toy_bitext b;
    struct corpus c;
    struct ttable t;

    for (int n_good = 0; n_good < 2; n_good++) {
        toy_bitext_begin(&b, "odd.bin", 10);
        toy_bitext_add(&b, id, 0, id, 2);
        toy_bitext_add(&b, id, 2, id, 0);
        toy_bitext_add(&b, id, 0, id, 0);
        toy_bitext_add(&b, id, 257, id, 1);
        if (n_good)
            toy_bitext_add(&b, id, 2, id + 1, 256);
        toy_bitext_open(&b, &c);
        toy_learn(&t, &c, &o);
        CHECK_STR(t.note, "3 pairs with an empty side and 1 with more than 256 tokens on "
                          "one were left out.");
        CHECK(t.n_tokens == (n_good ? 256 : 0) && t.n_cells == (n_good ? 4 : 0));
        CHECK(isfinite(t.lambda) && isfinite(t.log_prob[0]));
        CHECK((ttable_prob(&t, 5, 6) > 0) == (n_good > 0) && ttable_prob(&t, 7, 5) == 0);
        CHECK(t.frequency[5] == 2 && t.frequency[6] == (n_good ? 2 : 1));
        ttable_release(&t);
        corpus_close(&c);
    }
}

TEST(an_empty_corpus_gives_an_empty_table)
{
    const struct ttable_options o = ttable_defaults();
    struct toy_bitext b;
    struct corpus c;
    struct ttable t;
    uint16_t id[4];
    float prob[4];

    toy_bitext_begin(&b, "none.bin", 4);
    toy_bitext_open(&b, &c);
    toy_learn(&t, &c, &o);
    CHECK(t.row_at[5] == 0 && t.lambda == o.lambda && t.log_prob[4] == 0);
    for (uint32_t e = 0; e < 6; e++)
        CHECK(ttable_best(&t, e, 4, id, prob) == 0);
    CHECK(ttable_frequent(&t, 4, id) == 0);
    ttable_release(&t);
    ttable_release(&t);
    corpus_close(&c);
}

TEST(the_largest_vocabulary_has_no_special_case)
{
    static const int32_t source[2][2] = {{0, 65535}, {65535, 65535}};
    static const int32_t target[2][2] = {{65535, 0}, {0, 0}};
    const struct ttable_options o = ttable_defaults();
    struct toy_bitext b;
    struct corpus c;
    struct ttable t;
    uint16_t id[2];
    float prob[2];

    toy_bitext_begin(&b, "wide.bin", 65536);
    toy_bitext_add(&b, source[0], 2, target[0], 2);
    toy_bitext_add(&b, source[1], 2, target[1], 2);
    toy_bitext_open(&b, &c);
    toy_learn_threads(&t, &c, o, 2);
    CHECK(ttable_best(&t, 0, 1, id, prob) == 1 && id[0] == 65535);
    CHECK(ttable_best(&t, 65535, 2, id, prob) >= 1 && id[0] == 0);
    CHECK(ttable_prob(&t, 65536, 0) > 0 && ttable_prob(&t, 65537, 0) == 0);
    CHECK(ttable_prob(&t, 0, 65536) == 0 && ttable_best(&t, 65537, 2, id, prob) == 0);
    CHECK(ttable_frequent(&t, 2, id) == 2 && id[0] == 0 && id[1] == 65535);
    ttable_release(&t);
    corpus_close(&c);
}

TEST(a_damaged_corpus_is_refused_by_the_pair)
{
    static const int32_t id[] = {5, 6, 7};
    const struct ttable_options o = ttable_defaults();
    struct toy_bitext b;
    struct corpus c;
    struct ttable t;
    struct err err = {0};

    toy_bitext_begin(&b, "bad.bin", 10);
    toy_bitext_add(&b, id, 3, id, 3);
    toy_bitext_add(&b, id, 1, id, 2);
    toy_bitext_open(&b, &c);
    corpus_close(&c);
    FILE *file = fopen(b.path, "r+b");
    CHECK(file && fseek(file, CORPUS_FILE_HEAD + 7 * 2, SEEK_SET) == 0);
    CHECK(fputc(10, file) == 10 && fclose(file) == 0);
    CHECK_OK(corpus_open(&c, b.path, &err), &err);
    CHECK_FAILS(ttable_learn(&t, &c, &o, &err), &err, ERR_FORMAT, "damaged at pair 1");
    corpus_close(&c);
}

static void check_refused(const struct corpus *c, struct ttable_options o,
                          const char *text)
{
    struct ttable t;
    struct err err = {0};

    CHECK_FAILS(ttable_learn(&t, c, &o, &err), &err, ERR_USAGE, text);
}

TEST(options_that_cannot_be_are_refused)
{
    struct ttable_options o = ttable_defaults();
    struct corpus c;

    toy_bitext(&c, 2, 3, false);
    o.iterations = 51;
    check_refused(&c, o, "iterations = 51: want 1 to 50");
    o = ttable_defaults();
    o.p_null = 1;
    check_refused(&c, o, "p_null = 1");
    o = ttable_defaults();
    o.lambda = NAN;
    check_refused(&c, o, "lambda = nan");
    o = ttable_defaults();
    o.alpha = -1;
    check_refused(&c, o, "alpha = -1");
    corpus_close(&c);
}

TEST(the_best_come_first_and_equals_by_lower_id)
{
    size_t row_at[] = {0, 5, 5, 5, 5, 5, 5, 5};
    uint16_t target[] = {0, 1, 2, 4, 5}, id[6];
    float prob[] = {0.125f, 0.25f, 0.125f, 0.375f, 0.125f}, best[6];
    uint64_t frequency[] = {3, 9, 3, 0, 9, 1};
    const struct ttable t = {.vocab = 6,
                             .row_at = row_at,
                             .target = target,
                             .prob = prob,
                             .frequency = frequency};

    CHECK(ttable_best(&t, 0, 0, id, best) == 0);
    CHECK(ttable_best(&t, 0, 3, id, best) == 3);
    CHECK(id[0] == 4 && id[1] == 1 && id[2] == 0 && best[2] == 0.125f);
    CHECK(ttable_best(&t, 0, 6, id, best) == 5 && id[3] == 2 && id[4] == 5);
    CHECK(ttable_frequent(&t, 3, id) == 3 && id[0] == 1 && id[1] == 4 && id[2] == 0);
    CHECK(ttable_frequent(&t, 6, id) == 5 && id[3] == 2 && id[4] == 5);
}

TEST(progress_ends_with_every_pair_of_every_iteration)
{
    struct ttable_options o = ttable_defaults();
    struct corpus c;
    struct ttable t;
    char line[200] = "";
    FILE *out = tmpfile();
    struct progress progress = progress_to(out);

    toy_bitext(&c, 30, 3, false);
    o.progress = &progress;
    toy_learn(&t, &c, &o);
    rewind(out);
    CHECK(fgets(line, sizeof line, out) && strstr(line, "150 pairs"));
    fclose(out);
    ttable_release(&t);
    corpus_close(&c);
}
