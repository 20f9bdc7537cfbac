#include "decode/lines/target_limit.h"

#include "base/rng.h"
#include "test.h"

TEST(a_segment_alone_may_have_the_extra_length)
{
    for (size_t pieces = 1; pieces < 300; pieces++)
        for (size_t extra = 0; extra < 100; extra += 25) {
            size_t n = pieces;
            target_limit_share(&n, 1, extra);
            CHECK(n == pieces + 2 + extra);
        }
}

TEST(a_short_sentence_in_a_long_line_has_as_much_room_as_alone)
{
    size_t n[] = {2, 99, 99};

    target_limit_share(n, 3, 50);
    CHECK(n[0] == 54 && n[1] == 151 && n[2] == 151);
}

/* Ten sentences of 15 pieces use up what the line may have. */
TEST(short_sentences_take_from_long_ones_what_they_need)
{
    size_t n[15] = {2, 2, 2, 2, 2, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15};

    target_limit_share(n, 15, 50);
    for (size_t i = 0; i < 5; i++)
        CHECK(n[i] == TARGET_LIMIT_FLOOR);
    for (size_t i = 5; i < 15; i++)
        CHECK(n[i] >= 2 * 15);
}

TEST(the_sentences_of_a_line_of_short_ones_have_equal_shares)
{
    size_t n[100];

    for (size_t i = 0; i < 100; i++)
        n[i] = 2;
    target_limit_share(n, 100, 50);
    for (size_t i = 0; i < 100; i++)
        CHECK(n[i] == 6);
}

TEST(segments_that_are_not_searched_take_nothing)
{
    size_t n[] = {0, 5, 0}, none[] = {0, 0};

    target_limit_share(n, 3, 50);
    CHECK(n[0] == 0 && n[1] == 57 && n[2] == 0);
    target_limit_share(none, 2, 50);
    CHECK(none[0] == 0 && none[1] == 0);
    target_limit_share(NULL, 0, 50);
}

TEST(no_line_has_more_than_three_times_its_pieces_and_the_extra_length)
{
    struct rng rng = rng_open(test_seed());
    size_t pieces[40], n[40];

    for (int round = 0; round < 3000; round++) {
        const size_t n_segments = 1 + rng_below(&rng, 40);
        const size_t extra = round % 5 ? rng_below(&rng, 120) : 0;
        const size_t longest = round % 3 ? 6 : 60;
        size_t n_pieces = 0, sum = 0;
        for (size_t i = 0; i < n_segments; i++)
            n_pieces += pieces[i] = n[i] = rng_below(&rng, longest);
        target_limit_share(n, n_segments, extra);
        for (size_t i = 0; i < n_segments; i++) {
            sum += n[i];
            CHECK(n[i] <= (pieces[i] ? pieces[i] + 2 + extra : 0));
            CHECK(n[i] >= (pieces[i] ? pieces[i] + 2 : 0));
        }
        CHECK(sum <= 3 * n_pieces + extra);
    }
}
