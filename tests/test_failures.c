#include "plan/failures.h"

#include "test.h"

/* Numbers computed by hand: sqrt(2 x 1 s x 1 h) = 84.85 s. */
TEST(youngs_interval_is_the_root_of_twice_save_time_times_mtbf)
{
    CHECK_NEAR(failures_young(&(struct failures){3600, 1, 0}), 84.8528137, 1e-8);
    CHECK_NEAR(failures_young(&(struct failures){86400, 1, 0}), 415.692194, 1e-8);
    CHECK_NEAR(failures_young(&(struct failures){7 * 86400, 1, 0}), 1099.81817, 1e-7);
}

TEST(dalys_interval_approaches_youngs_when_saving_is_cheap)
{
    const struct failures cheap = {1e9, 1e-3, 0}, dear = {100, 50, 0};

    CHECK_NEAR(failures_daly(&cheap) / failures_young(&cheap), 1, 1e-5);
    CHECK(failures_daly(&dear) < failures_young(&dear));
    CHECK(failures_daly(&(struct failures){10, 30, 0}) == 10);
}

TEST(without_failures_only_saving_costs)
{
    CHECK_NEAR(failures_overhead(&(struct failures){1e15, 2, 60}, 100), 0.02, 1e-6);
    CHECK_NEAR(failures_lost_work(&(struct failures){1e15, 2, 60}, 100), 0, 1e-3);
}

TEST(played_failures_cost_what_the_formula_says)
{
    const struct failures list[] = {
        {3600, 1, 0}, {3600, 30, 60}, {86400, 5, 600}, {600, 10, 30}};

    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        for (double x = 0.25; x <= 4; x *= 2) {
            const double interval = x * failures_young(&list[i]);
            const double want = failures_overhead(&list[i], interval);
            CHECK_NEAR(failures_played(&list[i], interval, 100000, 11), want,
                       0.01 + 0.02 * want);
        }
}

/* The optimum is flat, so that what counts is what each interval costs. */
TEST(the_best_played_interval_confirms_daly)
{
    const struct failures list[] = {{3600, 1, 60}, {86400, 5, 600}, {22464, 1.46, 60}};

    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const double daly = failures_daly(&list[i]);
        const double best = failures_best_played(&list[i], 60000, 3);
        CHECK(best > 0.7 * daly && best < 1.4 * daly);
        CHECK(failures_overhead(&list[i], daly) <=
              failures_overhead(&list[i], best) + 1e-4);
        CHECK(failures_overhead(&list[i], 4 * daly) > failures_overhead(&list[i], daly));
        CHECK(failures_overhead(&list[i], daly / 4) > failures_overhead(&list[i], daly));
    }
}

TEST(the_same_seed_plays_the_same_failures)
{
    const struct failures f = {3600, 1, 60};

    CHECK(failures_played(&f, 80, 1000, 5) == failures_played(&f, 80, 1000, 5));
    CHECK(failures_played(&f, 80, 1000, 5) != failures_played(&f, 80, 1000, 6));
}
