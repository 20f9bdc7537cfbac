/* API keys and what they may ask for a minute. */
#include "test.h"

#include "base/file.h"
#include "serve/keys.h"

static struct err err;
static int64_t limit;
static double wait;

static struct keys *keys_of(const char *text, bool has_anonymous, int64_t per_minute)
{
    const char *path = test_path("keys");
    const struct keys_options o = {text ? path : "", has_anonymous, per_minute};
    struct keys *k;

    if (text)
        CHECK_OK(file_write(path, text, strlen(text), &err), &err);
    CHECK_OK(keys_open(&k, &o, &err), &err);
    return k;
}

static enum keys_verdict ask(struct keys *k, const char *key, size_t n, double now)
{
    return keys_ask(k, key, "10.0.0.1", n, now, &limit, &wait);
}

TEST(without_a_file_everyone_may_ask)
{
    struct keys *k = keys_of(NULL, false, 0);

    CHECK(!keys_exist(k) && !keys_are_needed(k));
    for (int i = 0; i < 1000; i++)
        CHECK(ask(k, NULL, 1000000, 0) == KEYS_GOOD);
    CHECK(ask(k, "whatever", 1, 0) == KEYS_GOOD);
    keys_close(k);
}

TEST(with_a_file_a_key_is_needed_and_compared_whole)
{
    struct keys *k = keys_of("# names\n\n  alpha\nbeta 5\n", false, 0);

    CHECK(keys_exist(k) && keys_are_needed(k));
    CHECK(ask(k, NULL, 1, 0) == KEYS_MISSING && ask(k, "", 1, 0) == KEYS_MISSING);
    CHECK(ask(k, "alpha", 1, 0) == KEYS_GOOD);
    static const char *const wrong[] = {"alph", "alphaa", "Alpha", "#", "names", "5"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(ask(k, wrong[i], 1, 0) == KEYS_WRONG);
    char longest[300];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    CHECK(ask(k, longest, 1, 0) == KEYS_WRONG);
    keys_close(k);
}

TEST(a_minute_s_worth_comes_back_evenly)
{
    struct keys *k = keys_of("k 6\n", false, 0);

    for (int i = 0; i < 6; i++)
        CHECK(ask(k, "k", 1, 100) == KEYS_GOOD);
    CHECK(ask(k, "k", 1, 100) == KEYS_SLOW && limit == 6);
    CHECK_NEAR(wait, 10, 1e-9);
    CHECK(ask(k, "k", 1, 109) == KEYS_SLOW);
    CHECK(ask(k, "k", 1, 110.5) == KEYS_GOOD && ask(k, "k", 1, 110.5) == KEYS_SLOW);
    for (int i = 0; i < 6; i++)
        CHECK(ask(k, "k", 1, 1000) == KEYS_GOOD); /* no more than a minute is kept */
    CHECK(ask(k, "k", 1, 1000) == KEYS_SLOW);
    keys_close(k);
}

TEST(characters_are_counted_and_a_large_request_can_pass_once)
{
    struct keys *k = keys_of("k 0 100\n", false, 0);

    CHECK(ask(k, "k", 60, 0) == KEYS_GOOD);
    CHECK(ask(k, "k", 60, 0) == KEYS_SLOW && limit == 100);
    CHECK(ask(k, "k", 500, 60) == KEYS_GOOD); /* a full bucket lets it by, and pays */
    CHECK(ask(k, "k", 1, 120) == KEYS_SLOW);
    keys_close(k);
}

TEST(callers_without_a_key_are_counted_by_address)
{
    struct keys *k = keys_of("k\n", true, 2);

    CHECK(ask(k, NULL, 1, 0) == KEYS_GOOD && ask(k, NULL, 1, 0) == KEYS_GOOD);
    CHECK(ask(k, NULL, 1, 0) == KEYS_SLOW && limit == 2);
    CHECK(keys_ask(k, NULL, "10.0.0.2", 1, 0, &limit, &wait) == KEYS_GOOD);
    CHECK(ask(k, "k", 1, 0) == KEYS_GOOD);
    keys_close(k);
}

TEST(many_addresses_are_counted_each_by_itself)
{
    struct keys *k = keys_of(NULL, false, 2);
    char address[16];

    for (int turn = 0; turn < 3; turn++)
        for (int i = 0; i < 256; i++) {
            snprintf(address, sizeof address, "10.0.1.%d", i);
            CHECK(keys_ask(k, NULL, address, 1, 0, &limit, &wait) ==
                  (turn < 2 ? KEYS_GOOD : KEYS_SLOW));
        }
    keys_close(k);
}

TEST(a_file_that_is_none_is_refused_with_its_line)
{
    static const char *const bad[] = {"k 1 2 3\n", "k x\n", "k -1\n",
                                      "k 99999999999999999999\n"};
    struct keys *k;
    const struct keys_options o = {test_path("keys"), false, 0};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_OK(file_write(o.path, bad[i], strlen(bad[i]), &err), &err);
        CHECK_FAILS(keys_open(&k, &o, &err), &err, ERR_FORMAT, "line 1 is not KEY");
    }
    CHECK_OK(file_write(o.path, "#\n", 2, &err), &err);
    CHECK_FAILS(keys_open(&k, &o, &err), &err, ERR_FORMAT, "holds no key");
}
