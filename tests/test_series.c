#include "test.h"

#include <stdbool.h>

#include "base/rng.h"
#include "page/fmt.h"
#include "page/series.h"

static struct err err;

static struct series line(size_t n)
{
    struct series s = {0};

    for (size_t i = 0; i < n; i++)
        CHECK_OK(series_add(&s, (double)i, sin((double)i * 1e-3), &err), &err);
    return s;
}

TEST(a_short_series_is_not_thinned)
{
    struct series in = line(100), out;

    in.y[7] = NAN;
    CHECK_OK(series_thin(&out, &in, 50, &err), &err);
    CHECK(out.n == 100 && isnan(out.y[7]));
    for (size_t i = 0; i < 100; i++)
        CHECK(out.x[i] == in.x[i] && (i == 7 || out.y[i] == in.y[i]));
    series_release(&out);
    series_release(&in);
}

TEST(a_million_points_are_thinned_and_keep_their_extremes)
{
    struct series in = line(1000000), out;
    bool has_peak = false, has_pit = false;

    in.y[123456] = 50;
    in.y[654321] = -50;
    in.y[777] = NAN;
    CHECK_OK(series_thin(&out, &in, 240, &err), &err);
    CHECK(out.n <= 964 && out.n > 400);
    for (size_t i = 0; i < out.n; i++) {
        has_peak |= out.y[i] == 50 && out.x[i] == 123456;
        has_pit |= out.y[i] == -50 && out.x[i] == 654321;
        CHECK(isfinite(out.y[i]));
        CHECK(i == 0 || out.x[i] > out.x[i - 1]);
    }
    CHECK(has_peak && has_pit);
    CHECK(out.x[0] == 0 && out.x[out.n - 1] == 999999);
    series_release(&out);
    series_release(&in);
}

TEST(a_long_gap_stays_a_gap)
{
    struct series in = line(100000), out;
    size_t n_gaps = 0;

    for (size_t i = 40000; i < 60000; i++)
        in.y[i] = NAN;
    CHECK_OK(series_thin(&out, &in, 100, &err), &err);
    for (size_t i = 0; i < out.n; i++)
        n_gaps += isnan(out.y[i]) ? 1 : 0;
    CHECK(n_gaps >= 18 && n_gaps <= 21);
    series_release(&out);
    series_release(&in);
}

TEST(best_is_lowest_or_highest_and_passes_over_gaps)
{
    double x[] = {0, 1, 2, 3}, y[] = {NAN, 3, 1, 2};
    const struct series s = {.x = x, .y = y, .n = 4}, none = {.x = x, .y = y, .n = 1};

    CHECK(series_best(&s, 1) == 2);
    CHECK(series_best(&s, -1) == 1);
    CHECK(series_best(&none, 1) == 1);
}

TEST(quantiles_weigh_their_values)
{
    const double v[] = {5, 1, NAN, 3}, w[] = {1, 8, 100, 1};
    double q;

    CHECK_OK(series_quantile(&q, v, w, 4, 0.5, &err), &err);
    CHECK(q == 1);
    CHECK_OK(series_quantile(&q, v, w, 4, 0.9, &err), &err);
    CHECK(q == 3);
    CHECK_OK(series_quantile(&q, v, w, 4, 1, &err), &err);
    CHECK(q == 5);
    CHECK_OK(series_quantile(&q, v, w, 0, 0.5, &err), &err);
    CHECK(isnan(q));
}

/* numpy.polyfit([1..6], y, 1, cov=True) gives the same slope; se by the usual formula. */
TEST(a_fit_gives_slope_and_its_error)
{
    const double x[] = {1, 2, 3, 4, 5, 6}, y[] = {2.1, 3.9, 6.2, 7.8, 10.1, 11.9};
    const struct series_fit f = series_fit(x, y, 6);

    CHECK(f.n == 6);
    CHECK_NEAR(f.slope, 1.977142857142857, 1e-12);
    CHECK_NEAR(f.at_mean, 7, 1e-12);
    CHECK_NEAR(f.se, 0.03979539507766888, 1e-9);
    CHECK_NEAR(f.t_95, 2.776, 1e-12);
}

/* Student's t has 2.086 for 20 degrees and 2.048 for 28. */
TEST(factors_of_intervals_follow_students_t)
{
    double x[30];

    for (size_t i = 0; i < 30; i++)
        x[i] = (double)i;
    CHECK_NEAR(series_fit(x, x, 22).t_95, 2.086, 0.003);
    CHECK_NEAR(series_fit(x, x, 30).t_95, 2.048, 0.003);
}

TEST(a_fit_of_too_little_is_missing)
{
    const double x[] = {1, 2, 1, 1}, y[] = {2, 3, NAN, 4};

    CHECK(isnan(series_fit(x, y, 2).slope));
    CHECK(isnan(series_fit(x, y, 0).slope));
    CHECK(isnan(series_fit((const double[]){1, 1, 1}, y, 3).slope));
}

/* 95 % intervals of a true slope of 0.3 hold it about 95 times in a hundred. */
TEST(intervals_of_a_fit_cover_the_truth)
{
    struct rng r = rng_open(rng_key(test_seed(), "fit"));
    int held[2] = {0, 0};

    for (int k = 0; k < 2000; k++) {
        const size_t n = k % 2 ? 30 : 5;
        double x[30], y[30];
        for (size_t i = 0; i < n; i++) {
            x[i] = (double)i;
            y[i] = 1 + 0.3 * x[i] + rng_normal(&r);
        }
        const struct series_fit f = series_fit(x, y, n);
        held[k % 2] += fabs(f.slope - 0.3) <= f.t_95 * f.se;
    }
    CHECK(held[0] > 920 && held[0] < 975);
    CHECK(held[1] > 920 && held[1] < 975);
}

TEST(correlation_is_one_for_lines_and_missing_for_constants)
{
    const double x[] = {1, 2, 3}, up[] = {2, 4, 6}, down[] = {3, 2, 1},
                 flat[] = {1, 1, 1};

    CHECK_NEAR(series_correlation(x, up, 3), 1, 1e-12);
    CHECK_NEAR(series_correlation(x, down, 3), -1, 1e-12);
    CHECK(isnan(series_correlation(x, flat, 3)));
    CHECK(isnan(series_correlation(x, flat, 0)));
}

#define NB "\u00a0"

TEST(numbers_read_as_people_write_them)
{
    CHECK_STR(fmt_count(0).s, "0");
    CHECK_STR(fmt_count(999).s, "999");
    CHECK_STR(fmt_count(1234567).s, "1,234,567");
    CHECK_STR(fmt_count(-1000).s, "-1,000");
    CHECK_STR(fmt_count(NAN).s, "missing");
    CHECK_STR(fmt_short(60880896).s, "60.9" NB "M");
    CHECK_STR(fmt_short(999).s, "999");
    CHECK_STR(fmt_bytes(730570768).s, "730.6" NB "MB");
    CHECK_STR(fmt_bytes(27441).s, "27.4" NB "kB");
    CHECK_STR(fmt_bytes(16).s, "16" NB "bytes");
    CHECK_STR(fmt_number(0.0009882, 3).s, "0.000988");
    CHECK_STR(fmt_number(1.23456e-7, 3).s, "1.23e-07");
    CHECK_STR(fmt_number(123456, 3).s, "123,456");
    CHECK_STR(fmt_number(INFINITY, 3).s, "missing");
    CHECK_STR(fmt_percent(0.1234).s, "12.3" NB "%");
    CHECK_STR(fmt_signed(-0.5, 2).s, "\u22120.50");
    CHECK_STR(fmt_signed(0.5, 2).s, "+0.50");
    CHECK_STR(fmt_signed(-0.004, 2).s, "0.00");
    CHECK_STR(fmt_signed(0.004, 3).s, "+0.004");
    CHECK_STR(fmt_text("short", 5).s, "short");
    CHECK_STR(fmt_text("longer", 5).s, "long\u2026");
    CHECK_STR(fmt_text("\u4e2d\u4e2d\u4e2d", 5).s, "\u4e2d\u4e2d\u2026");
    CHECK_STR(fmt_text("", 5).s, "");
}

TEST(times_read_as_people_write_them)
{
    CHECK_STR(fmt_seconds(0).s, "0" NB "s");
    CHECK_STR(fmt_seconds(0.00001).s, "10" NB "\u00b5s");
    CHECK_STR(fmt_seconds(0.000789).s, "0.79" NB "ms");
    CHECK_STR(fmt_seconds(0.0042).s, "4.20" NB "ms");
    CHECK_STR(fmt_seconds(0.0123).s, "12.3" NB "ms");
    CHECK_STR(fmt_seconds(0.126).s, "126" NB "ms");
    CHECK_STR(fmt_seconds(3.214).s, "3.21" NB "s");
    CHECK_STR(fmt_seconds(59.99).s, "1" NB "min 00" NB "s");
    CHECK_STR(fmt_seconds(245).s, "4" NB "min 05" NB "s");
    CHECK_STR(fmt_seconds(3599.9).s, "1" NB "h 00" NB "min");
    CHECK_STR(fmt_seconds(8000).s, "2" NB "h 13" NB "min");
    CHECK_STR(fmt_seconds(86400.0 * 3).s, "3.0" NB "days");
    CHECK_STR(fmt_time(0).s, "1970-01-01 00:00:00 UTC");
    CHECK_STR(fmt_time(NAN).s, "missing");
    CHECK_STR(fmt_time(1e300).s, "missing");
}
