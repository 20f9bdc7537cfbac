#include "plan/amount.h"

#include "test.h"

static struct err err;

static void check_rate(const char *text, double bytes, bool is_bits)
{
    struct amount_rate r;

    CHECK_OK(amount_rate(&r, text, &err), &err);
    CHECK_NEAR(r.bytes_per_s, bytes, 1e-12);
    CHECK(r.is_bits == is_bits);
}

TEST(bits_and_bytes_are_told_apart)
{
    check_rate("1Gb", 125e6, true);
    check_rate("100Mb", 12.5e6, true);
    check_rate("100Mb/s", 12.5e6, true);
    check_rate("2.5Gbit/s", 312.5e6, true);
    check_rate("10Gbps", 1.25e9, true);
    check_rate("205MB/s", 205e6, false);
    check_rate("200000KiB/s", 204.8e6, false);
    check_rate("200000KB/s", 200e6, false);
    check_rate("1.5GB/s", 1.5e9, false);
    check_rate("119MB", 119e6, false);
}

TEST(rates_that_mean_nothing_are_refused)
{
    static const char *const bad[] = {
        "",        "fast",  "1",       "Gb",    "-1Gb",          "0Gb",
        "1 Gb",    "1Gb/h", "1e3Mb",   "1gb",   "nanGb",         "infMB",
        "1.2.3Gb", ".Gb",   "1Gb/s/s", "1mb/s", "1Gbbbbbbbbbbb", "0x10Mb"};
    struct amount_rate r;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_FAILS(amount_rate(&r, bad[i], &err), &err, ERR_USAGE,
                    "want a rate such as");
}

TEST(times_have_units)
{
    static const struct {
        const char *text;
        double seconds;
    } good[] = {{"50us", 50e-6}, {"1.5ms", 1.5e-3}, {"2s", 2}, {"10min", 600},
                {"3h", 10800},   {"7d", 604800},    {"0", 0},  {"100ns", 1e-7}};
    static const char *const bad[] = {"", "50", "us", "-1s", "1 s", "1week", "1e3s"};
    double t;

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CHECK_OK(amount_seconds(&t, "latency", good[i].text, &err), &err);
        CHECK_NEAR(t, good[i].seconds, 1e-15);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_FAILS(amount_seconds(&t, "latency", bad[i], &err), &err, ERR_USAGE,
                    "latency = ");
}

TEST(nodes_have_one_number_for_all_or_one_each)
{
    int k[4];

    CHECK_OK(amount_per_node(k, 4, "2", &err), &err);
    CHECK(k[0] == 2 && k[3] == 2);
    CHECK_OK(amount_per_node(k, 2, "1,2", &err), &err);
    CHECK(k[0] == 1 && k[1] == 2);
    CHECK_FAILS(amount_per_node(k, 3, "1,2", &err), &err, ERR_USAGE,
                "names 2 nodes, but there are nodes = 3");
    static const char *const bad[] = {"",
                                      "0",
                                      "-1",
                                      "x",
                                      "1,",
                                      ",1",
                                      "1.5",
                                      "2000",
                                      "1;2",
                                      " 1",
                                      "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_FAILS(amount_per_node(k, strchr(bad[i], ',') ? 2 : 1, bad[i], &err), &err,
                    ERR_USAGE, "per_node = ");
}
