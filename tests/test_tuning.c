/* How a model is trained on follows from how much text there is, and every size of text
 * gives options that training takes. */
#include <math.h>

#include "adapt/tuning.h"
#include "recipe/schedule.h"
#include "test.h"

static struct tuning choose(uint64_t n_new, uint64_t n_general)
{
    const struct tuning_text t = {
        .n_new = n_new, .n_general = n_general, .mix_ratio = 1, .d_model = 256};

    return tuning_choose(&t);
}

TEST(a_twentieth_is_held_out_at_most_a_thousand)
{
    CHECK(tuning_held_out(100) == 5);
    CHECK(tuning_held_out(10000) == 500);
    CHECK(tuning_held_out(20000) == 1000);
    CHECK(tuning_held_out(5000000) == 1000);
    CHECK(tuning_held_out(3) == 1);
}

TEST(a_wider_model_gets_a_lower_rate_and_one_without_general_text_half_of_it)
{
    struct tuning_text t = {
        .n_new = 10000, .n_general = 90000, .mix_ratio = 1, .d_model = 512};

    CHECK_NEAR(tuning_choose(&t).rate, 0.05 / 512, 1e-12);
    t.d_model = 128;
    CHECK_NEAR(tuning_choose(&t).rate, 0.05 / 128, 1e-12);
    t.n_general = 0;
    CHECK_NEAR(tuning_choose(&t).rate, 0.025 / 128, 1e-12);
    t.rate = 0.001; /* asked for */
    CHECK_NEAR(tuning_choose(&t).rate, 0.001, 0);
}

TEST(more_text_is_passed_over_less_often_and_so_is_text_that_stands_alone)
{
    CHECK(choose(500, 1000).passes == 8);
    CHECK(choose(5000, 1000).passes == 8);
    CHECK(choose(10000, 1000).passes == 4);
    CHECK(choose(14000, 1000).passes == 3);
    CHECK(choose(2000000, 1000).passes == 2);
    CHECK(choose(10000, 0).passes == 2);
    CHECK(choose(2000000, 0).passes == 1);
}

TEST(general_pairs_of_a_pass_are_so_many_for_each_new_one)
{
    struct tuning_text t = {
        .n_new = 1000, .n_general = 10, .mix_ratio = 2.5, .d_model = 64};

    CHECK(tuning_choose(&t).n_drawn == 2500);
    t.n_general = 0;
    CHECK(tuning_choose(&t).n_drawn == 0);
    t.passes = 3;
    CHECK(tuning_choose(&t).passes == 3);
}

static struct train_config set(const struct tuning *t, struct tuning_size size)
{
    static struct train_config c;
    struct err err = {0};

    CHECK_OK(train_config_defaults(&c, &err), &err);
    tuning_set(&c, t, &size);
    snprintf(c.data, sizeof c.data, "data");
    snprintf(c.run, sizeof c.run, "run");
    CHECK_OK(train_config_check(&c, &err), &err);
    return c;
}

TEST(every_size_of_text_gets_options_that_training_takes)
{
    for (uint64_t n = 90; n < 20000000; n *= 3)
        for (uint64_t length = 1; length <= 81; length *= 9)
            for (int has_general = 0; has_general < 2; has_general++) {
                const struct tuning t = choose(n, has_general ? n : 0);
                const uint64_t all = (uint64_t)t.passes * (n + t.n_drawn);
                const struct train_config c =
                    set(&t, (struct tuning_size){all, all * (length + 2), 3 * length});
                CHECK(c.max_steps >= 1 && c.eval_every >= 1 && c.log_every >= 1);
                CHECK(c.log_every <= c.eval_every && c.eval_every <= c.max_steps);
                CHECK(c.schedule.warmup_steps >= 1);
                CHECK(c.schedule.warmup_steps <= (c.max_steps + 9) / 10);
                CHECK(c.max_length >= (int64_t)(3 * length + 2) || c.max_length == 256);
                /* a pass has its updates, if batches are not tiny already */
                const double updates = (double)c.max_steps / (double)t.passes;
                CHECK(c.batch_tokens == 256 || updates >= 100);
                CHECK(c.batch_tokens == 4096 || updates < 201);
            }
}

TEST(the_rate_rises_soon_stays_and_ends_at_a_tenth)
{
    const struct tuning t = choose(10000, 90000);
    const struct train_config c = set(&t, (struct tuning_size){160000, 160000 * 17, 60});
    struct schedule s;
    struct err err = {0};

    CHECK_OK(schedule_init(&s, &c.schedule, 256, c.max_steps, &err), &err);
    const int64_t warm = c.schedule.warmup_steps, half = c.max_steps / 2;
    CHECK(warm < c.max_steps / 5);
    CHECK(schedule_rate(&s, 0) < 0.02 * t.rate);
    CHECK_NEAR(schedule_rate(&s, warm), t.rate, 1e-12);
    CHECK_NEAR(schedule_rate(&s, half), t.rate, 1e-12);
    CHECK(schedule_rate(&s, half + half / 2) < t.rate);
    CHECK_NEAR(schedule_rate(&s, c.max_steps), t.rate / 10, 0.01 * t.rate);
}
