#include "base/str.h"

#include "test.h"

TEST(an_empty_string_has_text_and_needs_no_memory)
{
    struct str s = str_new(0), zeroed = {0};
    struct err err = {0};

    CHECK_STR(str_text(&s), "");
    CHECK_STR(str_text(&zeroed), "");
    CHECK_OK(str_check(&s, "it", &err), &err);
    str_release(&s);
    str_release(&s);
    str_puts(&zeroed, "usable");
    CHECK_STR(str_text(&zeroed), "usable");
    str_release(&zeroed);
}

TEST(appends_of_all_kinds_come_out_in_order)
{
    struct str s = str_new(0);

    str_puts(&s, "a");
    str_putc(&s, 'b');
    str_add(&s, "cde", 2);
    str_add(&s, NULL, 0);
    str_printf(&s, "%d-%s", 7, "x");
    CHECK_STR(str_text(&s), "abcd7-x");
    CHECK(s.len == 7);
    str_putc(&s, '\0');
    str_putc(&s, 'z');
    CHECK(s.len == 9 && memcmp(s.data, "abcd7-x\0z", 10) == 0);
    str_release(&s);
    CHECK_STR(str_text(&s), "");
}

TEST(a_long_string_grows_to_its_bytes)
{
    struct str s = str_new(0);

    for (int i = 0; i < 100000; i++)
        str_printf(&s, "%d,", i % 10);
    CHECK(s.len == 200000);
    for (size_t i = 0; i < s.len; i += 2)
        CHECK(s.data[i] == (char)('0' + i / 2 % 10) && s.data[i + 1] == ',');
    str_release(&s);
}

TEST(a_string_takes_exactly_its_maximum)
{
    struct str s = str_new(8);
    struct err err = {0};

    str_puts(&s, "12345678");
    CHECK_OK(str_check(&s, "word", &err), &err);
    CHECK_STR(str_text(&s), "12345678");
    str_putc(&s, '9');
    CHECK_FAILS(str_check(&s, "the word", &err), &err, ERR_MEMORY,
                "the word does not fit in memory or in its limit of 8 bytes");
    CHECK_STR(str_text(&s), "12345678");
    str_release(&s);
}

TEST(a_bad_string_stays_bad_until_it_is_reset)
{
    struct str s = str_new(4);
    struct err err = {0};

    str_printf(&s, "%s", "too long");
    str_puts(&s, "ok");
    CHECK(str_check(&s, "it", &err) == ERR_MEMORY);
    CHECK_STR(str_text(&s), "");
    str_reset(&s);
    str_puts(&s, "ok");
    CHECK_OK(str_check(&s, "it", &err), &err);
    CHECK_STR(str_text(&s), "ok");
    str_release(&s);
    CHECK(s.max == 4);
}

TEST(sizes_near_the_end_of_memory_do_not_wrap)
{
    struct str s = str_new(SIZE_MAX);
    struct err err = {0};

    str_putc(&s, 'x');
    str_add(&s, "y", SIZE_MAX - 1);
    CHECK(str_check(&s, "it", &err) == ERR_MEMORY);
    str_release(&s);
}

static const char *nearest(const char *name)
{
    static const char *const names[] = {"train", "translate", "max_steps", "report"};
    const char *best = NULL;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        str_nearest(&best, names[i], name);
    return best ? best : "nothing";
}

TEST(the_nearest_name_is_the_one_with_fewest_edits)
{
    char text[2000];

    CHECK_STR(nearest("trian"), "train");
    CHECK_STR(nearest("tain"), "train");
    CHECK_STR(nearest("translatte"), "translate");
    CHECK_STR(nearest("max-step"), "max_steps");
    CHECK_STR(nearest("rapport"), "report");
    CHECK_STR(nearest("xyzort"), "report");
    CHECK_STR(nearest("wxyzrt"), "nothing"); /* more than half of it differs */
    CHECK_STR(nearest("x"), "nothing");
    CHECK_STR(nearest(""), "nothing");
    memset(text, 't', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    CHECK_STR(nearest(text), "nothing");
}
