/* Curves with a known continuation: the interval must hold it as often as it says. */
#include "test.h"

#include "base/rng.h"
#include "report/judge/fit.h"

static struct err err;

enum { CURVES = 40, LAST = 4000 };

/* Falling curves of several kinds; p[4] are numbers in [0, 1) that make each its own.
 * Only the first is what is fitted. */
static double power_law(double s, const double *p)
{
    return 1.2 + p[0] +
           (4 + 3 * p[1]) * pow(1 + s / (80 + 400 * p[2]), -0.25 - 0.9 * p[3]);
}

static double exponential(double s, const double *p)
{
    return 1.2 + p[0] + (2 + 3 * p[1]) * exp(-s / (400 + 2500 * p[2]));
}

static double fast_and_slow(double s, const double *p)
{
    return 1.2 + p[0] + 4 * exp(-s / (150 + 300 * p[1])) +
           (0.5 + p[2]) * exp(-s / (1500 + 4000 * p[3]));
}

static double stretched(double s, const double *p)
{
    return 1.2 + p[0] + 6 * exp(-pow(s / (100 + 300 * p[1]), 0.3 + 0.4 * p[2]));
}

static double hyperbolic(double s, const double *p)
{
    return 1.2 + p[0] + 6 / (1 + pow(s / (200 + 600 * p[1]), 0.6 + p[2]));
}

static double logarithmic(double s, const double *p)
{
    return 5 + p[0] - (0.2 + 0.3 * p[1]) * log(1 + s / (20 + 100 * p[2]));
}

static double two_power_laws(double s, const double *p)
{
    return 1 + p[0] + 5 * pow(1 + s / (100 + 100 * p[1]), -1.2) +
           (1 + p[2]) * pow(1 + s / (1000 + 1000 * p[3]), -0.5);
}

/* Slow until the learning rate is there. */
static double warmed_up(double s, const double *p)
{
    return 1.2 + p[0] + 5 * pow(1 + s / (150 + 200 * p[1]), -0.4 - 0.6 * p[2]) +
           1.5 / (1 + exp((s - (150 + 150 * p[3])) / 60));
}

static double arctangent(double s, const double *p)
{
    return 1.2 + p[0] + (2 + p[1]) * (1 - 2 / acos(-1) * atan(s / (300 + 700 * p[2])));
}

static double converged(double s, const double *p)
{
    return 1.2 + p[0] + (4 + 3 * p[1]) * pow(1 + s / (30 + 30 * p[2]), -1.5 - 2 * p[3]);
}

static const struct kind {
    const char *name;
    double (*at)(double s, const double *p);
} kinds[] = {{"power law", power_law},
             {"exponential", exponential},
             {"two exponentials", fast_and_slow},
             {"stretched", stretched},
             {"hyperbolic", hyperbolic},
             {"logarithmic", logarithmic},
             {"two power laws", two_power_laws},
             {"warmed up", warmed_up},
             {"arctangent", arctangent},
             {"converged", converged}};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* n evaluations up to step LAST. Noise may drift: each then keeps 0.6 of the one before.
 */
static struct series points_of(const struct kind *kind, const double *p, int n,
                               double noise, bool drifts, struct rng *r)
{
    struct series s = {0};
    double e = 0;

    for (int i = 1; i <= n; i++) {
        const double step = (double)LAST * i / n;
        e = drifts ? 0.6 * e + 0.8 * rng_normal(r) : rng_normal(r);
        CHECK_OK(series_add(&s, step, kind->at(step, p) + noise * e, &err), &err);
    }
    return s;
}

/* How many of CURVES curves of a kind the interval of a gain holds the truth of. */
static int count_held(size_t kind, double factor, bool drifts)
{
    static const double noises[] = {0.001, 0.004, 0.015};
    static const int counts[] = {10, 20, 40};
    int held = 0;

    for (int i = 0; i < CURVES; i++) {
        struct rng r = rng_open(rng_key((uint64_t)(1000 * kind) + (uint64_t)i, "fit"));
        double p[4];
        for (int k = 0; k < 4; k++)
            p[k] = rng_unit(&r);
        struct series s =
            points_of(&kinds[kind], p, counts[i % 3], noises[i / 3 % 3], drifts, &r);
        struct fit f;
        CHECK_OK(fit_curve(&f, &s, 1, 0, &err), &err);
        const struct fit_range g = fit_gain(&f, factor);
        const double gain = kinds[kind].at(LAST, p) - kinds[kind].at(factor * LAST, p);
        CHECK(f.is_known && g.low <= g.mid && g.mid <= g.high);
        held += g.low <= gain && gain <= g.high;
        series_release(&s);
    }
    return held;
}

static void check_held(double factor, bool drifts, double at_least)
{
    int all = 0;

    for (size_t k = 0; k < KINDS; k++) {
        const int held = count_held(k, factor, drifts);
        if (held < 0.85 * CURVES)
            test_fail(__FILE__, __LINE__, "%s: %d of %d intervals hold the truth",
                      kinds[k].name, held, CURVES);
        all += held;
    }
    if (all < at_least * KINDS * CURVES)
        test_fail(__FILE__, __LINE__, "%d of %d intervals hold the truth", all,
                  KINDS * CURVES);
}

TEST(an_interval_holds_the_truth_as_often_as_it_says_whatever_the_curve)
{
    check_held(1.1, false, 0.95);
    check_held(1.5, false, 0.95);
    check_held(2, false, 0.95);
}

TEST(an_interval_knows_of_noise_that_drifts)
{
    check_held(1.1, true, 0.92);
    check_held(2, true, 0.92);
}

static double truth(double s, double c)
{
    return 1.5 + 6 * pow(1 + s / 200, -c);
}

/* 20 evaluations of a power law. */
static struct series power_points(uint64_t seed, double c, double noise)
{
    struct rng r = rng_open(rng_key(seed, "fit"));
    struct series s = {0};

    for (int step = 200; step <= LAST; step += 200)
        CHECK_OK(series_add(&s, step, truth(step, c) + noise * rng_normal(&r), &err),
                 &err);
    return s;
}

/* A band that holds everything would hold the truth too. */
TEST(an_interval_is_no_wider_than_it_must_be)
{
    double width = 0, gain = 0;

    for (uint64_t seed = 0; seed < 20; seed++) {
        struct series s = power_points(seed, 0.6, 0.003);
        struct fit f;
        CHECK_OK(fit_curve(&f, &s, 1, 0, &err), &err);
        const struct fit_range g = fit_gain(&f, 2);
        width += (g.high - g.low) / 20;
        gain += (truth(LAST, 0.6) - truth(2.0 * LAST, 0.6)) / 20;
        series_release(&s);
    }
    CHECK(width < 0.8 * gain);
}

/* Validation losses of a Transformer-base on WMT16, four V100 with 256 pairs each. */
TEST(half_of_a_real_run_foretells_its_other_half)
{
    static const double loss[] = {2.4410, 2.0132, 1.8367, 1.7575, 1.7108, 1.6785, 1.6490,
                                  1.6403, 1.6206, 1.6183, 1.6059, 1.5905, 1.5896, 1.5825,
                                  1.5816, 1.5734, 1.5694, 1.5717, 1.5597, 1.5638, 1.5575,
                                  1.5506, 1.5587, 1.5517, 1.5429, 1.5469};

    for (size_t n = 6; n <= 13; n++) {
        struct series s = {0};
        struct fit f;
        for (size_t i = 0; i < n; i++)
            CHECK_OK(series_add(&s, 4001.0 * (double)(i + 1), loss[i], &err), &err);
        CHECK_OK(fit_curve(&f, &s, 1, 0, &err), &err);
        const struct fit_range g = fit_gain(&f, 2);
        const double later = (loss[2 * n - 3] + loss[2 * n - 2] + loss[2 * n - 1]) / 3;
        const double gain = f.level - later; /* one evaluation scatters by 0.004 */
        if (!(g.low <= gain && gain <= g.high))
            test_fail(__FILE__, __LINE__,
                      "after %zu evaluations: %.4f, foretold %.4f to %.4f", n, gain,
                      g.low, g.high);
        series_release(&s);
    }
}

TEST(less_noise_makes_a_narrower_interval)
{
    struct series quiet = power_points(1, 0.6, 0.001), loud = power_points(1, 0.6, 0.03);
    struct fit f;

    CHECK_OK(fit_curve(&f, &quiet, 1, 0, &err), &err);
    const struct fit_range a = fit_gain(&f, 1.5);
    CHECK_OK(fit_curve(&f, &loud, 1, 0, &err), &err);
    const struct fit_range b = fit_gain(&f, 1.5);
    CHECK(a.high - a.low < 0.75 * (b.high - b.low));
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
    CHECK_OK(fit_curve(&f, &s, -1, 100, &err), &err);
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
        CHECK_OK(fit_curve(&f, &s, 1, 0, &err), &err);
        CHECK(!f.is_known);
    }
    series_release(&s);
}
