/* Made-up runs with a known truth: the right verdict for each, and no false alarm. */
#include "test.h"

#include "judged.h"
#include "report/judge/network.h"

enum { CASES = 8, HEALTHY = 24 };

TEST(a_run_that_still_improves_is_told_so)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_run m = made_healthy(seed);
        struct judgement *t = judged_open(&m);
        const struct fit_range gain = fit_gain(&t->run.learning.fit_loss, 2);
        const double truth = made_curve(&m, m.steps) - made_curve(&m, 2 * m.steps);

        judged_code(t, ANSWER_trained, "IMPROVING", seed);
        judged_code(t, ANSWER_overfit, "NO UNCLEAR", seed);
        CHECK(gain.low <= truth * 1.5 && truth / 1.5 <= gain.high);
        judged_findings(t, "", seed);
        judged_close(t);
    }
}

TEST(a_converged_run_is_told_so)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_run m = made_healthy(seed);
        m.bend = 40;
        m.exponent = 2.5;
        struct judgement *t = judged_open(&m);
        judged_code(t, ANSWER_trained, "CONVERGED SLOWING", seed);
        judged_findings(t, "", seed);
        judged_close(t);
    }
}

TEST(overfitting_is_found_and_dated)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_run m = made_healthy(seed);
        m.turns_at = 1000 + 200 * (int)(seed % 6);
        m.exponent = 1;
        struct judgement *t = judged_open(&m);
        judged_code(t, ANSWER_overfit, "YES", seed);
        judged_code(t, ANSWER_trained, "PAST_BEST", seed);
        CHECK(fabs(t->run.learning.turned_at - m.turns_at) <= 2 * m.eval_every);
        judged_findings(t, "", seed);
        judged_close(t);
    }
}

TEST(a_network_that_binds_is_told_from_one_that_does_not)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_run m = made_healthy(seed);
        struct network w;
        made_distributed(&m);
        struct judgement *t = judged_open(&m);
        judged_code(t, ANSWER_network, "COMPUTE_BOUND", seed);
        judged_findings(t, "", seed);
        judged_close(t);

        m = made_healthy(seed);
        made_distributed(&m);
        m.exposed = (0.6 + 0.2 * (double)seed) * m.compute;
        m.bytes_a_step = 0.95 * (m.exposed + m.hidden) * 117e6;
        t = judged_open(&m);
        judged_code(t, ANSWER_network, "BOUND", seed);
        network_judge(&w, &t->run);
        CHECK_NEAR(w.exposed / m.exposed, 1, 0.15);
        CHECK_NEAR(w.sent, m.bytes_a_step, 1e-6);
        CHECK(w.t_twice < w.t_step && w.t_twice > w.t_step - m.exposed);
        judged_findings(t, "", seed);
        judged_close(t);
    }
}

TEST(waiting_that_the_bytes_do_not_explain_is_not_blamed_on_bandwidth)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct made_run m = made_healthy(seed);
        made_distributed(&m);
        m.exposed = m.compute;
        m.bytes_a_step = 1e5;
        m.hidden = 0;
        struct judgement *t = judged_open(&m);
        judged_code(t, ANSWER_network, "LATENCY", seed);
        judged_close(t);
    }
}

TEST(steps_that_wait_for_data_are_found)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_run m = made_healthy(seed);
        m.data = (0.2 + 0.2 * (double)seed) * m.compute;
        struct judgement *t = judged_open(&m);
        judged_findings(t, "starved", seed);
        judged_code(t, ANSWER_busy, "waiting", seed);
        judged_close(t);
    }
}

TEST(a_straggler_is_named_with_its_host)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_run m = made_healthy(seed);
        char name[40];
        made_distributed(&m);
        m.slow_rank = (int)(seed % 4);
        m.slow_by = 0.2 + 0.1 * (double)seed;
        struct judgement *t = judged_open(&m);
        judged_findings(t, "straggler", seed);
        judged_code(t, ANSWER_network, "COMPUTE_BOUND", seed); /* no link is to blame */
        snprintf(name, sizeof name, "Rank %d on n%d ", m.slow_rank, m.slow_rank);
        CHECK(strstr(str_text(&t->health.found[0].evidence), name));
        judged_close(t);
    }
}

TEST(a_crash_is_judged)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_run m = made_healthy(seed);
        m.steps = 2000 + 200 * (int)seed;
        m.has_no_end = true;
        struct judgement *t = judged_open(&m);
        judged_code(t, ANSWER_time, "died", seed);
        judged_findings(t, "died", seed);
        judged_close(t);
    }
}

TEST(a_run_resumed_twice_counts_what_was_lost)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_run m = made_healthy(seed);
        const int lost = 20 * (int)seed;
        m.resume_from[0] = 1000;
        m.resume_at[0] = 1000 + lost;
        m.resume_from[1] = 2400;
        m.resume_at[1] = 2400 + lost;
        struct judgement *t = judged_open(&m);
        judged_code(t, ANSWER_time, "finished", seed);
        CHECK(t->run.log.n_start == 3 && t->run.steps_lost == 2 * lost);
        CHECK_NEAR(t->run.times.idle, 1000, 1e-6);
        judged_code(t, ANSWER_trained, "IMPROVING", seed);
        judged_findings(t, "", seed);
        judged_close(t);
    }
}

TEST(overfitting_begins_at_a_rise_of_half_a_percent)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_run small = made_healthy(seed), none = made_healthy(seed);
        small.noise = none.noise = 0.0005;
        small.turns_at = none.turns_at = 2000;
        small.rises_by = 0.02;
        none.rises_by = 0.003;
        struct judgement *t = judged_open(&small);
        judged_code(t, ANSWER_overfit, "YES", seed);
        judged_close(t);
        t = judged_open(&none);
        judged_code(t, ANSWER_overfit, "NO UNCLEAR", seed);
        judged_close(t);
    }
}

TEST(a_run_that_diverged_is_told_so)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_run m = made_healthy(seed);
        m.blows_up_at = 1000 + 200 * (int)seed;
        m.turns_at = m.blows_up_at;
        struct judgement *t = judged_open(&m);
        judged_code(t, ANSWER_trained, "DIVERGED", seed);
        CHECK(t->health.n >= 1 && strcmp(t->health.found[0].id, "diverged") == 0);
        judged_close(t);
    }
}

/* The last `entries` rise by 0.2 each: the mean of the last five by 0.2 (entries - 2). */
static void check_rise(double height, int entries, const char *want)
{
    struct made_run m = made_healthy(1);

    m.height = height;
    m.bend = 500;
    m.exponent = 3;
    m.blows_up_at = m.steps - 20 * entries;
    struct judgement *t = judged_open(&m);
    const double risen = t->run.learning.last_loss - t->run.learning.low_loss;
    CHECK_NEAR(risen, 0.2 * (entries - 2), 0.05);
    const bool is_told = t->run.learning.trend == LEARNING_DIVERGED;
    if (is_told != (strcmp(want, "diverged") == 0))
        test_fail(__FILE__, __LINE__, "a rise of %.2f after learning %.1f is %s", risen,
                  height, is_told ? "called divergence" : "not called divergence");
    judged_close(t);
}

TEST(divergence_is_a_rise_of_four_tenths_of_what_was_learnt)
{
    check_rise(4, 14, "diverged"); /* 2.4 of about 4 */
    check_rise(4, 8, "not");       /* 1.2 of about 4 */
    check_rise(0.3, 5, "diverged");
    check_rise(0.3, 3, "not"); /* more than half, but of very little */
}

TEST(healthy_runs_raise_no_alarm)
{
    for (uint64_t seed = 100; seed < 100 + HEALTHY; seed++) {
        struct made_run m = made_healthy(seed);
        if (seed % 3 == 0)
            made_distributed(&m);
        if (seed % 3 == 1)
            m.ranks = 2;
        m.exponent = seed % 2 ? 0.5 : 0.9;
        m.log_every = seed % 4 ? 20 : 50;
        m.noise *= 2;
        struct judgement *t = judged_open(&m);
        judged_findings(t, "", seed);
        CHECK(t->run.learning.overfit != OVERFIT_YES);
        CHECK(t->run.learning.trend != LEARNING_DIVERGED);
        judged_close(t);
    }
}
