#include "base/rng.h"

#include <stdbool.h>
#include <stdlib.h>

#include "test.h"

TEST(the_stream_of_key_0_is_splitmix64)
{
    /* The published outputs of SplitMix64 seeded with 0. */
    static const uint64_t want[] = {0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4,
                                    0x06c45d188009454f, 0xf88bb8a8724c81ec,
                                    0x1b39896a51a8749b};
    struct rng r = rng_open(0);

    for (size_t i = 0; i < 5; i++) {
        CHECK(rng_hash(0, i) == want[i]);
        CHECK(rng_u64(&r) == want[i]);
    }
}

TEST(keys_depend_on_seed_and_name)
{
    static const char *const names[] = {"", "init", "inti", "shuffle", "sample", "a"};
    uint64_t seen[6 * 50];
    size_t n = 0;

    for (size_t i = 0; i < 6; i++)
        for (uint64_t seed = 0; seed < 50; seed++) {
            seen[n] = rng_key(seed, names[i]);
            for (size_t j = 0; j < n; j++)
                CHECK(seen[j] != seen[n]);
            n++;
        }
    CHECK(rng_key(1, "init") == rng_key(1, "init"));
    CHECK(rng_key(1, "init") == 0x571fed4d4de5e1d2);
}

TEST(draws_below_n_are_uniform)
{
    enum { N = 10, DRAWS = 100000 };
    struct rng r = rng_open(rng_key(7, "below"));
    double square = 0;
    int count[N] = {0};

    for (int i = 0; i < DRAWS; i++) {
        const uint64_t x = rng_below(&r, N);
        CHECK(x < N);
        count[x]++;
    }
    for (int i = 0; i < N; i++) {
        const double off = count[i] - DRAWS / N;
        square += off * off / (DRAWS / N);
    }
    CHECK(square > 1.2 && square < 27.9); /* chi-square, 9 degrees, 0.1 % on each side */
}

TEST(draws_below_a_large_n_have_no_bias)
{
    /* With a plain remainder two thirds of the draws would fall below n / 2. */
    const uint64_t n = UINT64_C(3) << 62;
    struct rng r = rng_open(rng_key(8, "below"));
    int low = 0;

    for (int i = 0; i < 30000; i++)
        low += rng_below(&r, n) < n / 3;
    CHECK(low > 9600 && low < 10400);
    CHECK(rng_below(&r, 1) == 0);
}

TEST(unit_draws_fill_the_half_open_interval)
{
    struct rng r = rng_open(rng_key(9, "unit"));
    double sum = 0, square = 0, least = 1, most = 0;

    for (int i = 0; i < 100000; i++) {
        const double x = rng_unit(&r);
        CHECK(x >= 0 && x < 1);
        sum += x;
        square += x * x;
        least = x < least ? x : least;
        most = x > most ? x : most;
    }
    CHECK(fabs(sum / 1e5 - 0.5) < 0.004 && fabs(square / 1e5 - 1.0 / 3) < 0.004);
    CHECK(least < 1e-3 && most > 1 - 1e-3);
}

TEST(normal_draws_have_the_moments_and_tails_of_a_normal)
{
    struct rng r = rng_open(rng_key(10, "normal"));
    double m[5] = {0};
    int beyond_2 = 0;

    for (int i = 0; i < 100000; i++) {
        const double x = rng_normal(&r);
        CHECK(isfinite(x));
        for (int k = 1; k < 5; k++)
            m[k] += pow(x, k) / 1e5;
        beyond_2 += fabs(x) > 2;
    }
    CHECK(fabs(m[1]) < 0.015 && fabs(m[2] - 1) < 0.02);
    CHECK(fabs(m[3]) < 0.04 && fabs(m[4] - 3) < 0.12);
    CHECK(beyond_2 > 4300 && beyond_2 < 4800); /* 4.55 % */
}

TEST(a_shuffle_is_a_permutation_that_the_key_decides)
{
    enum { N = 1000 };
    uint32_t a[N], b[N];
    bool seen[N] = {false};
    struct rng r = rng_open(11), same = rng_open(11);
    int fixed = 0;

    for (uint32_t i = 0; i < N; i++)
        a[i] = b[i] = i;
    rng_shuffle(&r, a, N);
    rng_shuffle(&same, b, N);
    CHECK(memcmp(a, b, sizeof a) == 0);
    for (uint32_t i = 0; i < N; i++) {
        CHECK(a[i] < N && !seen[a[i]]);
        seen[a[i]] = true;
        fixed += a[i] == i;
    }
    CHECK(fixed < 8); /* one is expected */
    rng_shuffle(&r, a, 0);
    rng_shuffle(&r, a, 1);
}

TEST(all_orders_of_three_come_equally_often)
{
    struct rng r = rng_open(rng_key(12, "orders"));
    int count[27] = {0};

    for (int i = 0; i < 12000; i++) {
        uint32_t x[3] = {0, 1, 2};
        rng_shuffle(&r, x, 3);
        count[x[0] * 9 + x[1] * 3 + x[2]]++;
    }
    static const int orders[] = {5, 7, 11, 15, 19, 21};
    for (int i = 0; i < 6; i++)
        CHECK(count[orders[i]] > 1840 && count[orders[i]] < 2160);
}
