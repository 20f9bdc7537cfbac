#include "base/table.h"

#include <stdlib.h>

#include "test.h"

enum { MANY = 100000 };

static uint64_t hash_of(uint32_t i)
{
    return table_mix(i + 1, 0x9E3779B97F4A7C15u);
}

/* How often a search of `hash` hands out `number`. */
static int times_found(const struct table *t, uint64_t hash, uint32_t number)
{
    struct table_search s = table_search(t, hash);
    int n = 0;

    for (uint32_t i; (i = table_next(&s)) != TABLE_NONE;)
        n += i == number;
    return n;
}

TEST(an_empty_table_finds_nothing)
{
    struct table t = {0};

    CHECK(times_found(&t, 0, 0) == 0);
    CHECK(times_found(&t, UINT64_MAX, 0) == 0);
    table_prefetch(&t, UINT64_MAX);
    table_reset(&t);
    table_release(&t);
}

TEST(numbers_are_found_once_while_the_table_grows)
{
    struct table t = {0};
    struct err err = {0};

    for (uint32_t i = 0; i < MANY; i++) {
        CHECK(times_found(&t, hash_of(i), i) == 0);
        CHECK_OK(table_add(&t, hash_of(i), i, &err), &err);
    }
    CHECK(t.n == MANY);
    for (uint32_t i = 0; i < MANY; i++)
        CHECK(times_found(&t, hash_of(i), i) == 1);
    for (uint32_t i = MANY; i < 2 * MANY; i++)
        CHECK(times_found(&t, hash_of(i), i) == 0);
    table_release(&t);
    CHECK(!t.slot);
}

TEST(equal_hashes_and_the_last_slot_share_a_table)
{
    static const uint64_t hash[] = {UINT64_MAX, UINT64_MAX, 0, UINT64_MAX - 1};
    struct table t = {0};
    struct err err = {0};

    for (uint32_t i = 0; i < 1000; i++)
        CHECK_OK(table_add(&t, hash[i % 4], i, &err), &err);
    for (uint32_t i = 0; i < 1000; i++)
        CHECK(times_found(&t, hash[i % 4], i) == 1);
    table_release(&t);
}

TEST(reserved_room_is_enough_and_a_reset_keeps_it)
{
    struct table t = {0};
    struct err err = {0};

    CHECK_OK(table_reserve(&t, MANY, &err), &err);
    const struct table_slot *before = t.slot;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < MANY; i++)
            CHECK_OK(table_add(&t, hash_of(i), i, &err), &err);
        CHECK(t.slot == before);
        table_reset(&t);
        CHECK(times_found(&t, hash_of(7), 7) == 0);
    }
    table_release(&t);
}

TEST(a_table_that_cannot_be_is_refused_and_stays_as_it_was)
{
    struct table t = {0};
    struct err err = {0};

    CHECK_OK(table_add(&t, 5, 3, &err), &err);
    CHECK_FAILS(table_reserve(&t, SIZE_MAX, &err), &err, ERR_MEMORY, "too large");
    CHECK(times_found(&t, 5, 3) == 1);
    table_release(&t);
}

TEST(strings_that_differ_in_one_byte_have_different_hashes)
{
    char text[64] = "the quick brown fox jumps over the lazy dog and does it again.";

    for (size_t n = 0; n < sizeof text; n++) {
        const uint64_t whole = table_hash(text, n);
        CHECK(whole != table_hash(text, n + 1));
        for (size_t i = 0; i < n; i++) {
            text[i] ^= 1;
            CHECK(whole != table_hash(text, n));
            text[i] ^= 1;
        }
        CHECK(whole == table_hash(text, n));
    }
}

TEST(a_set_has_what_was_added_to_it)
{
    struct table_set s = {0};
    struct err err = {0};

    CHECK(!table_set_has(&s, 0));
    for (uint32_t i = 0; i < 2 * MANY; i++)
        CHECK_OK(table_set_add(&s, hash_of(i % MANY), &err), &err);
    CHECK(s.table.n == MANY);
    CHECK(!table_set_has(&s, 0));
    CHECK_OK(table_set_add(&s, 0, &err), &err);
    CHECK_OK(table_set_add(&s, 1, &err), &err); /* the same tag */
    for (uint32_t i = 0; i < MANY; i++)
        CHECK(table_set_has(&s, hash_of(i)) && !table_set_has(&s, hash_of(i + MANY)));
    CHECK(table_set_has(&s, 0) && table_set_has(&s, 1) && !table_set_has(&s, 2));
    table_set_release(&s);
}
