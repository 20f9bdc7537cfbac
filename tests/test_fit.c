/* Curves with a known continuation: the interval must hold it as often as it says, and
 * the verdict must not contradict it. */
#include "test.h"

#include "base/rng.h"
#include "report/judge/learning.h"

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

/* The next three were thought of when all numbers of the fit were chosen; the second of
 * them made it average over early parts. */
static double reciprocal_logarithm(double s, const double *p)
{
    return 1 + p[0] + (3 + 2 * p[1]) / (1 + log(1 + s / (50 + 200 * p[2])));
}

static double exponential_and_power_law(double s, const double *p)
{
    return 1.2 + p[0] + 3 * exp(-s / (200 + 600 * p[1])) +
           (1 + p[2]) * pow(1 + s / (300 + 600 * p[3]), -0.7);
}

/* A power law of all steps since it began to learn, without an offset. */
static double begun_late(double s, const double *p)
{
    const double since = fmax(1, s - 60 - 60 * p[0]) / LAST;

    return 1.3 + p[1] + (0.2 + 0.6 * p[2]) * (pow(since, -0.2 - 0.5 * p[3]) - 1);
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
             {"converged", converged},
             {"reciprocal logarithm", reciprocal_logarithm},
             {"exponential and power law", exponential_and_power_law},
             {"begun late", begun_late}};

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

enum { BINS = 5, NOISES = 3, FUTURES = 3, CALIBRATION = 1000, ENOUGH = 8 };

static const struct bin {
    int least, most; /* evaluations */
} bins[BINS] = {{4, 5}, {6, 7}, {8, 12}, {13, 20}, {21, 40}};
static const double noises[NOISES] = {0.002, 0.006, 0.02};
static const double futures[FUTURES] = {1.1, 1.5, 2};

struct tally {
    int n, held[FUTURES], wrong, cannot_tell;
};

/* A verdict is wrong if what half as many steps again would bring, as a part of the loss,
 * is not what it says. */
static bool is_wrong(enum learning_trend verdict, double gain)
{
    if (verdict == LEARNING_IMPROVING)
        return gain < 0.0025;
    if (verdict == LEARNING_SLOWING)
        return gain < 0.0002 || gain > 0.025;
    return verdict == LEARNING_CONVERGED && gain > 0.02;
}

static void tally_add(struct tally *to, const struct tally *one)
{
    to->n += one->n;
    to->wrong += one->wrong;
    to->cannot_tell += one->cannot_tell;
    for (int k = 0; k < FUTURES; k++)
        to->held[k] += one->held[k];
}

static double percent(int part, const struct tally *t)
{
    return t->n ? 100.0 * part / t->n : 0;
}

static void tally_print(const char *name, const struct tally *t)
{
    printf("| %-18s | %4d | %5.1f | %5.1f | %5.1f | %4.1f | %4.1f |\n", name, t->n,
           percent(t->held[0], t), percent(t->held[1], t), percent(t->held[2], t),
           percent(t->wrong, t), percent(t->cannot_tell, t));
}

/* One curve: whether its intervals hold and its verdict is right. */
static struct tally judge_one(const struct kind *kind, int n, double noise, struct rng *r)
{
    struct tally t = {.n = 1};
    struct fit_range gain;
    struct fit f;
    double p[4];

    for (int k = 0; k < 4; k++)
        p[k] = rng_unit(r);
    struct series s = points_of(kind, p, n, noise, false, r);
    CHECK_OK(fit_curve(&f, &s, 1, 0, &err), &err);
    CHECK(f.is_known);
    const double now = kind->at(LAST, p);
    for (int k = 0; k < FUTURES; k++) {
        const struct fit_range g = fit_gain(&f, futures[k]);
        const double truth = now - kind->at(futures[k] * LAST, p);
        CHECK(g.low <= g.mid && g.mid <= g.high);
        t.held[k] = g.low <= truth && truth <= g.high;
    }
    const enum learning_trend verdict = learning_trend_of(&f, &s, &gain);
    t.wrong = is_wrong(verdict, (now - kind->at(1.5 * LAST, p)) / now);
    t.cannot_tell = verdict == LEARNING_UNCLEAR || verdict == LEARNING_EARLY;
    series_release(&s);
    return t;
}

struct calibration {
    struct tally all, enough, by_bin[BINS], by_noise[NOISES], by_both[BINS][NOISES],
        by_kind[KINDS];
};

static void calibrate(struct calibration *c, const char *stream, int curves)
{
    *c = (struct calibration){0};
    for (int i = 0; i < curves; i++) {
        struct rng r = rng_open(rng_key((uint64_t)i, stream));
        const size_t kind = (size_t)i % KINDS, bin = rng_below(&r, BINS),
                     noise = rng_below(&r, NOISES);
        const int n =
            bins[bin].least +
            (int)rng_below(&r, (uint64_t)(bins[bin].most - bins[bin].least + 1));
        const struct tally t = judge_one(&kinds[kind], n, noises[noise], &r);
        tally_add(&c->all, &t);
        tally_add(&c->by_bin[bin], &t);
        tally_add(&c->by_noise[noise], &t);
        tally_add(&c->by_both[bin][noise], &t);
        tally_add(&c->by_kind[kind], &t);
        if (n >= ENOUGH)
            tally_add(&c->enough, &t);
    }
}

static void calibration_print(const struct calibration *c)
{
    char name[32];

    printf("| curves | n | +10 %% | +50 %% | +100 %% | wrong | cannot tell |\n");
    for (int b = 0; b < BINS; b++)
        for (int k = 0; k < NOISES; k++) {
            snprintf(name, sizeof name, "%d to %d, %g", bins[b].least, bins[b].most,
                     noises[k]);
            tally_print(name, &c->by_both[b][k]);
        }
    for (int b = 0; b < BINS; b++) {
        snprintf(name, sizeof name, "%d to %d", bins[b].least, bins[b].most);
        tally_print(name, &c->by_bin[b]);
    }
    for (int k = 0; k < NOISES; k++) {
        snprintf(name, sizeof name, "noise %g", noises[k]);
        tally_print(name, &c->by_noise[k]);
    }
    for (size_t k = 0; k < KINDS; k++)
        tally_print(kinds[k].name, &c->by_kind[k]);
    tally_print("8 or more", &c->enough);
    tally_print("all", &c->all);
}

/* A tally holds `least` to `most` percent of the truths. */
static void check_tally(const char *name, const struct tally *t, double least,
                        double most)
{
    for (int k = 0; k < FUTURES; k++)
        if (percent(t->held[k], t) < least || percent(t->held[k], t) > most)
            test_fail(__FILE__, __LINE__, "%s: %d of %d intervals hold the truth", name,
                      t->held[k], t->n);
}

TEST(intervals_and_verdicts_from_four_evaluations_on_are_calibrated)
{
    struct calibration c;
    char name[32];

    calibrate(&c, "unseen", CALIBRATION);
    calibration_print(&c);
    check_tally("all", &c.all, 93, 97);
    for (int b = 0; b < BINS; b++) {
        snprintf(name, sizeof name, "from %d evaluations", bins[b].least);
        check_tally(name, &c.by_bin[b], 90, 100);
    }
    for (int k = 0; k < NOISES; k++) {
        snprintf(name, sizeof name, "noise %g", noises[k]);
        check_tally(name, &c.by_noise[k], 90, 100);
    }
    for (size_t k = 0; k < KINDS; k++)
        check_tally(kinds[k].name, &c.by_kind[k], 70, 100);
    CHECK(percent(c.all.wrong, &c.all) < 1);
    CHECK(percent(c.enough.cannot_tell, &c.enough) < 15);
}

/* How many of CURVES curves of a kind, with noise that drifts, the interval of a gain
 * holds the truth of. */
static int count_held(size_t kind, double factor)
{
    static const double sizes[] = {0.001, 0.004, 0.015};
    static const int counts[] = {10, 20, 40};
    int held = 0;

    for (int i = 0; i < CURVES; i++) {
        struct rng r = rng_open(rng_key((uint64_t)(1000 * kind) + (uint64_t)i, "fit"));
        double p[4];
        for (int k = 0; k < 4; k++)
            p[k] = rng_unit(&r);
        struct series s =
            points_of(&kinds[kind], p, counts[i % 3], sizes[i / 3 % 3], true, &r);
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

static void check_held(double factor, double at_least)
{
    int all = 0;

    for (size_t k = 0; k < KINDS; k++) {
        const int held = count_held(k, factor);
        if (held < 0.75 * CURVES)
            test_fail(__FILE__, __LINE__, "%s: %d of %d intervals hold the truth",
                      kinds[k].name, held, CURVES);
        all += held;
    }
    if (all < at_least * KINDS * CURVES)
        test_fail(__FILE__, __LINE__, "%d of %d intervals hold the truth", all,
                  KINDS * CURVES);
}

TEST(an_interval_knows_of_noise_that_drifts)
{
    check_held(1.1, 0.92);
    check_held(2, 0.92);
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
static const double loss[] = {2.4410, 2.0132, 1.8367, 1.7575, 1.7108, 1.6785, 1.6490,
                              1.6403, 1.6206, 1.6183, 1.6059, 1.5905, 1.5896, 1.5825,
                              1.5816, 1.5734, 1.5694, 1.5717, 1.5597, 1.5638, 1.5575,
                              1.5506, 1.5587, 1.5517, 1.5429, 1.5469};

enum { EVALUATIONS = sizeof loss / sizeof *loss };

static struct series evaluations(const double *y, size_t n)
{
    struct series s = {0};

    for (size_t i = 0; i < n; i++)
        CHECK_OK(series_add(&s, 4001.0 * (double)(i + 1), y[i], &err), &err);
    return s;
}

static enum learning_trend verdict_on(const double *y, size_t n, struct fit_range *gain)
{
    struct series s = evaluations(y, n);
    struct fit f;

    CHECK_OK(fit_curve(&f, &s, 1, 0, &err), &err);
    const enum learning_trend verdict = learning_trend_of(&f, &s, gain);
    series_release(&s);
    return verdict;
}

/* Half as many steps again brought 1.5 % even after 17 of its evaluations, and should
 * bring about 1 % at the end. */
TEST(every_part_of_a_real_run_is_told_to_improve)
{
    static const double second[] = {2.4003, 2.0124, 1.8661, 1.7754},
                        third[] = {2.398, 2.005, 1.847, 1.753, 1.723};
    struct fit_range gain;

    for (size_t n = FIT_MIN_POINTS; n <= EVALUATIONS; n++) {
        const enum learning_trend verdict = verdict_on(loss, n, &gain);
        if (verdict != LEARNING_IMPROVING && !(n > 17 && verdict == LEARNING_SLOWING))
            test_fail(__FILE__, __LINE__, "after %zu: %.4f to %.4f", n, gain.low,
                      gain.high);
    }
    CHECK(verdict_on(second, 4, &gain) == LEARNING_IMPROVING);
    CHECK(verdict_on(third, 4, &gain) == LEARNING_IMPROVING);
    CHECK(verdict_on(third, 5, &gain) == LEARNING_IMPROVING);
    CHECK(verdict_on(third, 3, &gain) == LEARNING_EARLY);
}

TEST(half_of_a_real_run_foretells_its_other_half)
{
    for (size_t n = FIT_MIN_POINTS; n <= 13; n++) {
        struct series s = evaluations(loss, n);
        struct fit f;
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
    const struct fit_range g = fit_gain(&f, 2);
    const double gain = 20 * (pow(20, -0.8) - pow(40, -0.8));
    CHECK(g.low <= gain && gain <= g.high);
    CHECK_NEAR(g.mid, gain, 0.2);
    CHECK_NEAR(fit_value(&f, 4000, -1).mid, 30 - 20 * pow(40, -0.8), 0.02);
    series_release(&s);
}

/* Whatever a log may hold leads to numbers in order, or to none. */
TEST(a_hostile_curve_is_fitted_or_refused)
{
    static const double values[][6] = {{0, 0, 0, 0, 0, 0},
                                       {1e300, -1e300, 1e300, 1e300, -1e300, 1e300},
                                       {1e-300, 1e-300, 1e-300, 1e-300, 1e-300, 1e-300},
                                       {5, 5, 5, 5, 5, 5},
                                       {1, 2, 3, 4, 5, 6},
                                       {1e9, 1, 1, 1, 1, 1},
                                       {-1, -2, -3, -4, -5, -6}};
    static const double steps[][6] = {{1, 2, 3, 4, 5, 6},
                                      {1, 2, 3, 4, 5, 1e15},
                                      {1e-300, 1, 1, 1, 1, 1e300},
                                      {6, 5, 4, 3, 2, 1},
                                      {7, 7, 7, 7, 7, 8}};

    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            struct series s = {0};
            struct fit f;
            for (int j = 0; j < 6; j++)
                CHECK_OK(series_add(&s, steps[k][j], values[i][j], &err), &err);
            CHECK_OK(fit_curve(&f, &s, 1, 0, &err), &err);
            const struct fit_range g =
                f.is_known ? fit_gain(&f, 2) : (struct fit_range){0, 0, 0};
            const struct fit_range v = f.is_known ? fit_value(&f, 2 * f.to, 1) : g;
            if (!(g.low <= g.mid && g.mid <= g.high && v.low <= v.mid && v.mid <= v.high))
                test_fail(__FILE__, __LINE__, "values %zu, steps %zu: %g %g %g, %g %g %g",
                          i, k, g.low, g.mid, g.high, v.low, v.mid, v.high);
            series_release(&s);
        }
}

TEST(too_few_points_are_not_fitted)
{
    struct series s = {0};
    struct fit f;

    for (int i = 0; i < 30; i++) {
        CHECK_OK(series_add(&s, i < 26 ? 0 : i, i < 29 ? 2 : NAN, &err), &err);
        CHECK_OK(fit_curve(&f, &s, 1, 0, &err), &err);
        CHECK(!f.is_known);
    }
    series_release(&s);
}
