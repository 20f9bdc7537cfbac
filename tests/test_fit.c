/* Curves with a known continuation: the interval must hold it as often as it says. */
#include "test.h"

#include "base/rng.h"
#include "report/fit.h"

static struct err err;

static double truth(double s, double c)
{
    return 1.5 + 6 * pow(1 + s / 200, -c);
}

/* 20 evaluations with noise up to step 4000. */
static struct series points_of(uint64_t seed, double c, double noise)
{
    struct rng r = rng_open(rng_key(seed, "fit"));
    struct series s = {0};

    for (int step = 200; step <= 4000; step += 200)
        CHECK_OK(series_add(&s, step, truth(step, c) + noise * rng_normal(&r), &err),
                 &err);
    return s;
}

TEST(the_interval_holds_the_truth_about_as_often_as_it_says)
{
    int inside = 0, n = 0;

    for (uint64_t seed = 0; seed < 60; seed++) {
        const double c = 0.3 + 0.1 * (double)(seed % 7);
        struct series s = points_of(seed, c, 0.01);
        struct fit f;
        fit_curve(&f, &s, 1, 0);
        const struct fit_range g = fit_gain(&f, 2);
        const double gain = truth(4000, c) - truth(8000, c);
        CHECK(f.is_known && g.low <= g.mid && g.mid <= g.high);
        inside += g.low <= gain && gain <= g.high;
        n++;
        series_release(&s);
    }
    CHECK(inside >= 0.85 * n);
}

TEST(less_noise_makes_a_narrower_interval)
{
    struct series quiet = points_of(1, 0.6, 0.001), loud = points_of(1, 0.6, 0.03);
    struct fit f;

    fit_curve(&f, &quiet, 1, 0);
    const struct fit_range a = fit_gain(&f, 1.5);
    fit_curve(&f, &loud, 1, 0);
    const struct fit_range b = fit_gain(&f, 1.5);
    CHECK(a.high - a.low < 0.5 * (b.high - b.low));
    CHECK_NEAR(a.mid, truth(4000, 0.6) - truth(6000, 0.6), 0.02);
    series_release(&quiet);
    series_release(&loud);
}

TEST(a_rising_score_is_fitted_upside_down)
{
    struct series s = {0};
    struct fit f;

    for (int i = 1; i <= 20; i++)
        CHECK_OK(series_add(&s, 100 * i, 30 - 20 * pow(i, -0.8), &err), &err);
    fit_curve(&f, &s, -1, 100);
    CHECK_NEAR(f.level, 30 - 20 * pow(20, -0.8), 2e-3);
    CHECK_NEAR(fit_gain(&f, 2).mid, 20 * (pow(20, -0.8) - pow(40, -0.8)), 0.02);
    CHECK_NEAR(fit_value(&f, 4000, -1).mid, 30 - 20 * pow(40, -0.8), 0.02);
    series_release(&s);
}

TEST(too_few_points_are_not_fitted)
{
    struct series s = {0};
    struct fit f;

    for (int i = 0; i < 30; i++) {
        CHECK_OK(series_add(&s, i < 26 ? 0 : i, i < 28 ? 2 : NAN, &err), &err);
        fit_curve(&f, &s, 1, 0);
        CHECK(!f.is_known);
    }
    series_release(&s);
}
