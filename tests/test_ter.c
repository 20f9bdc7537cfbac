#include "score/ter.h"

#include <stdlib.h>

#include "base/rng.h"
#include "score/edits.h"

#include "score_cases.h"

TEST(words_are_those_of_tercom_with_every_option)
{
    json_t *cases = cases_open("tercom", 600), *c;
    size_t i;

    json_array_foreach(cases, i, c)
    {
        const json_int_t bits = json_integer_value(json_object_get(c, "bits"));
        const struct ter_options o = {.is_normalized = bits & 1,
                                      .without_punctuation = bits >> 1 & 1,
                                      .is_asian = bits >> 2 & 1,
                                      .is_case_sensitive = bits >> 3 & 1};
        struct str got = str_new(0);
        struct err err = {0};

        CHECK_OK(ter_cut(&got, &o, cases_line(json_object_get(c, "text")), &err), &err);
        CHECK_STR(str_text(&got), json_string_value(json_object_get(c, "want")));
        str_release(&got);
    }
    json_decref(cases);
}

static uint64_t edits(const uint32_t *hyp, size_t n_hyp, const uint32_t *ref,
                      size_t n_ref)
{
    struct err err = {0};
    uint64_t n;

    CHECK_OK(edits_count(&n, (struct ngram_words){hyp, n_hyp},
                         (struct ngram_words){ref, n_ref}, &err),
             &err);
    return n;
}

TEST(a_moved_block_is_one_edit)
{
    static const uint32_t hyp[] = {4, 5, 6, 0, 1, 2, 3}, ref[] = {0, 1, 2, 3, 4, 5, 6};

    CHECK(edits(hyp, 7, ref, 7) == 1);
    CHECK(edits(ref, 7, ref, 7) == 0);
    CHECK(edits(hyp, 0, ref, 7) == 7 && edits(hyp, 7, ref, 0) == 7);
    CHECK(edits(NULL, 0, NULL, 0) == 0);
}

/* Without a band and without shifts: never fewer edits than with shifts. */
static size_t plain_distance(const uint32_t *a, size_t n, const uint32_t *b, size_t m)
{
    size_t row[101];

    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            const size_t up = row[j], least = (up < row[j - 1] ? up : row[j - 1]) + 1;
            const size_t same = corner + (a[i - 1] != b[j - 1]);
            row[j] = same < least ? same : least;
            corner = up;
        }
    }
    return row[m];
}

TEST(shifts_never_cost_more_than_the_plain_distance)
{
    struct rng r = rng_open(rng_key(test_seed(), "ter"));
    uint32_t hyp[25], ref[25];
    size_t n_fewer = 0;

    for (int round = 0; round < 500; round++) {
        const size_t n = rng_below(&r, 26), m = rng_below(&r, 26);
        const uint64_t n_words = 1 + rng_below(&r, 12);
        for (size_t i = 0; i < 25; i++) {
            hyp[i] = (uint32_t)rng_below(&r, n_words);
            ref[i] = (uint32_t)rng_below(&r, n_words);
        }
        const size_t plain = plain_distance(hyp, n, ref, m);
        const uint64_t got = edits(hyp, n, ref, m);
        CHECK(got <= plain && got >= (n > m ? n - m : m - n));
        n_fewer += got < plain;
    }
    CHECK(n_fewer > 50);
}

/* A band that grew with the text, or attempts that did, would not end. */
TEST(long_lines_of_the_same_few_words_end)
{
    enum { N = 40000 };
    uint32_t *hyp = malloc(N * sizeof *hyp), *ref = malloc(N * sizeof *ref);

    CHECK(hyp && ref);
    for (size_t i = 0; i < N; i++) {
        hyp[i] = (uint32_t)(i % 3);
        ref[i] = (uint32_t)(i % 2 + i / 7 % 2);
    }
    CHECK(edits(hyp, N, ref, N) < N);
    CHECK(edits(hyp, 1, ref, N) == N - 1);
    CHECK(edits(hyp, N, ref, 1) == N - 1);
    free(hyp);
    free(ref);
}
