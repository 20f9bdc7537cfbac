#include "train/update/loss_scale.h"

#include <math.h>

#include "test.h"

static struct loss_scale begun(const char *rule)
{
    struct loss_scale s;

    loss_scale_begin(&s, rule, 128);
    return s;
}

static void follow(struct loss_scale *s, double max_abs, int n)
{
    for (int i = 0; i < n; i++)
        loss_scale_follow(s, max_abs);
}

TEST(without_scaling_the_factor_is_one_and_a_fixed_one_stays)
{
    struct loss_scale none = begun("none"), fixed = begun("static");

    follow(&none, (double)INFINITY, 3);
    follow(&fixed, (double)INFINITY, 3);
    CHECK(none.scale == 1);
    CHECK(fixed.scale == 128);
}

TEST(backoff_begins_at_its_limit_and_halves_at_each_overflow)
{
    struct loss_scale s = begun("backoff");

    CHECK(s.scale == 16384);
    CHECK(s.last_overflow == -1);
    follow(&s, 0.5, 10);
    CHECK(s.scale == 16384);
    follow(&s, (double)NAN, 1);
    CHECK(s.scale == 8192);
    CHECK(s.last_overflow == 10);
    follow(&s, (double)INFINITY, 20);
    CHECK(s.scale == 1); /* and not below */
    CHECK(s.iteration == 31);
}

TEST(backoff_doubles_after_2000_updates_without_an_overflow)
{
    struct loss_scale s = begun("backoff");

    follow(&s, (double)INFINITY, 1);
    follow(&s, 1, 1999);
    CHECK(s.scale == 8192);
    follow(&s, 1, 1);
    CHECK(s.scale == 16384);
    follow(&s, 1, 4000);
    CHECK(s.scale == 16384); /* the limit */
}

TEST(logmax_leaves_the_largest_gradient_room_below_the_largest_half)
{
    struct loss_scale s = begun("logmax");

    CHECK(s.scale == 1);
    follow(&s, 16, 1000); /* 2^4, always: no deviation, 2^(16 - 4) */
    CHECK_NEAR(s.scale, 4096, 8);
    follow(&s, 1e-9, 100000);
    CHECK(s.scale == 16384);
}

TEST(logmax_keeps_a_distance_that_grows_with_the_spread)
{
    struct loss_scale s = begun("logmax");

    for (int i = 0; i < 20000; i++)
        loss_scale_follow(&s, i % 2 ? 8 : 32); /* log2: 4 on average, 1 of deviation */
    CHECK_NEAR(log2((double)s.scale), 16 - (4 + 3.09), 0.05);
}

TEST(logmax_comes_back_soon_after_an_overflow)
{
    struct loss_scale s = begun("logmax");

    follow(&s, 16, 5000);
    const float before = s.scale;
    follow(&s, (double)INFINITY, 1);
    CHECK(s.scale < before);
    follow(&s, 16, 5000);
    CHECK(s.scale > before / 2);
}

TEST(a_gradient_of_zeros_changes_nothing)
{
    struct loss_scale s = begun("logmax");

    follow(&s, 4, 100);
    const float before = s.scale;
    follow(&s, 0, 1);
    CHECK(s.scale == before);
}
