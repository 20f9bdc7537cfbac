#include <stdlib.h>

#include "align/diagonal.h"
#include "align/ttable.h"
#include "align/viterbi.h"
#include "toy_bitext.h"

enum { LONGEST = 12 };

static void learn_toy(struct ttable *t, bool is_reverse)
{
    struct ttable_options o = ttable_defaults();
    struct corpus c;
    struct err err = {0};

    toy_bitext(&c, 400, 9, false);
    o.is_reverse = is_reverse;
    CHECK_OK(ttable_learn(t, &c, &o, &err), &err);
    corpus_close(&c);
}

/* p(i, f_j) with i = S the null word. */
static double joint(const struct ttable *t, const uint16_t *e, size_t S,
                    const uint16_t *f, size_t T, size_t i, size_t j)
{
    double Z = 0;

    if (i == S)
        return t->p_null * (double)ttable_prob(t, t->vocab, f[j]);
    for (size_t k = 0; k < S; k++)
        Z += exp(-t->lambda * diagonal_distance(k, S, j, T));
    return (1 - t->p_null) * exp(-t->lambda * diagonal_distance(i, S, j, T)) / Z *
           (double)ttable_prob(t, e[i], f[j]);
}

/* Every word by trying every position. */
TEST(the_alignment_is_the_likeliest_of_all)
{
    struct rng rng = rng_open(rng_key(test_seed(), "viterbi"));
    struct ttable t;
    size_t n_null = 0, n_linked = 0;

    learn_toy(&t, false);
    for (int round = 0; round < 300; round++) {
        const size_t S = (size_t)rng_below(&rng, LONGEST + 1),
                     T = (size_t)rng_below(&rng, LONGEST + 1);
        uint16_t e[LONGEST], f[LONGEST];
        int32_t a[LONGEST];
        for (size_t i = 0; i < S; i++)
            e[i] = (uint16_t)(TOY_FIRST + rng_below(&rng, TOY_WORDS));
        for (size_t j = 0; j < T; j++)
            f[j] = j < S && rng_below(&rng, 2)
                       ? (uint16_t)toy_word(e[j])
                       : (uint16_t)rng_below(&rng, TOY_BITEXT_VOCAB);
        viterbi_align(a, &t, e, S, f, T);
        for (size_t j = 0; j < T; j++) {
            CHECK(a[j] >= VITERBI_NULL && a[j] < (int32_t)S);
            const size_t chosen = a[j] == VITERBI_NULL ? S : (size_t)a[j];
            const double p = joint(&t, e, S, f, T, chosen, j);
            for (size_t i = 0; i <= S; i++)
                CHECK(joint(&t, e, S, f, T, i, j) <= p * (1 + 1e-12));
            n_null += chosen == S;
            n_linked += chosen < S;
        }
    }
    CHECK(n_null > 100 && n_linked > 100);
    ttable_release(&t);
}

TEST(words_that_moved_are_found_where_they_went)
{
    static const uint16_t e[] = {10, 20, 30, 40, 15};
    static const size_t from[] = {1, 0, 2, 4, 3};
    uint16_t f[5];
    int32_t a[5];
    struct ttable t;

    learn_toy(&t, false);
    for (size_t j = 0; j < 5; j++)
        f[j] = (uint16_t)toy_word(e[from[j]]);
    viterbi_align(a, &t, e, 5, f, 5);
    for (size_t j = 0; j < 5; j++)
        CHECK(a[j] == (int32_t)from[j]);
    ttable_release(&t);
}

TEST(both_directions_of_a_known_dictionary_agree)
{
    static const uint16_t e[] = {10, 20, 30, 40};
    uint16_t f[4];
    int32_t forward[4], backward[4];
    unsigned char both[16], grown[16];
    struct ttable there, back;

    learn_toy(&there, false);
    learn_toy(&back, true);
    for (size_t j = 0; j < 4; j++)
        f[j] = (uint16_t)toy_word(e[j]);
    viterbi_align(forward, &there, e, 4, f, 4);
    viterbi_align(backward, &back, f, 4, e, 4);
    viterbi_intersect(both, forward, backward, 4, 4);
    viterbi_grow(grown, forward, backward, 4, 4);
    for (size_t k = 0; k < 16; k++)
        CHECK(both[k] == (k % 5 == 0) && grown[k] == both[k]);
    ttable_release(&there);
    ttable_release(&back);
}

static void check_links(const unsigned char *link, const char *rows, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (link[k] != (rows[k] == 'x'))
            test_fail(__FILE__, __LINE__, "link %zu of %s", k, rows);
}

/* Rows are target words, columns source words. */
TEST(growing_takes_neighbours_then_words_without_any_link)
{
    /* 3 and 4 are far from every link; 3 is proposed by one side, 4 has nothing */
    static const int32_t forward[] = {0, 1, 1, 4}, backward[] = {0, 1, 1, -1, -1};
    unsigned char link[20];

    viterbi_intersect(link, forward, backward, 5, 4);
    check_links(link,
                "x...."
                ".x..."
                "....."
                ".....",
                20);
    viterbi_grow(link, forward, backward, 5, 4);
    check_links(link,
                "x...."
                ".xx.."
                ".x..."
                "....x",
                20);
}

/* Upwards, against the order in which links are looked at. */
TEST(growing_goes_on_from_what_has_grown)
{
    static const int32_t forward[] = {0, 0, 0}, backward[] = {2, -1, -1};
    unsigned char link[9];

    viterbi_grow(link, forward, backward, 3, 3);
    check_links(link,
                "x.."
                "x.."
                "x..",
                9);
}

TEST(the_last_step_links_only_words_that_have_none)
{
    /* target 2 wants source 0, which is taken and no neighbour; source 2 has nobody */
    static const int32_t forward[] = {0, -1, 0}, backward[] = {0, -1, -1, 1};
    unsigned char link[12];

    viterbi_grow(link, forward, backward, 4, 3);
    check_links(link,
                "x..."
                "...x"
                "....",
                12);
}

TEST(the_same_holds_for_sources_without_a_link)
{
    /* source 3 wants target 0, which is taken and no neighbour */
    static const int32_t forward[] = {0, -1}, backward[] = {0, -1, -1, 0};
    unsigned char link[8];

    viterbi_grow(link, forward, backward, 4, 2);
    check_links(link,
                "x..."
                "....",
                8);
}

TEST(words_that_both_have_links_get_no_other)
{
    /* (1,2) is proposed and beside (2,2), but by then (1,1) has grown */
    static const int32_t forward[] = {0, 2, 2}, backward[] = {0, 1, 2};
    unsigned char link[9];

    viterbi_grow(link, forward, backward, 3, 3);
    check_links(link,
                "x.."
                ".x."
                "..x",
                9);
}

/* Target 3 of 4 is as far from source 1 of 2 as from source 2. */
TEST(of_equal_positions_the_first_is_taken)
{
    static const uint16_t e[] = {4, 4}, f[] = {5, 5, 5, 5};
    size_t row_at[] = {0, 0, 0, 0, 0, 1, 1, 1};
    uint16_t target[] = {5};
    float prob[] = {1};
    const struct ttable t = {.vocab = 6,
                             .row_at = row_at,
                             .target = target,
                             .prob = prob,
                             .p_null = 0.08,
                             .lambda = 4};
    int32_t a[4];

    viterbi_align(a, &t, e, 2, f, 4);
    CHECK(a[0] == 0 && a[1] == 0 && a[2] == 0 && a[3] == 1);
}

TEST(empty_sides_have_no_links)
{
    static const int32_t none[] = {-1, -1};
    unsigned char link[1] = {7};

    viterbi_grow(link, NULL, none, 2, 0);
    viterbi_grow(link, none, NULL, 0, 2);
    CHECK(link[0] == 7);
}
