#include "score/loops.h"

#include <string.h>

#include "test.h"

static bool loops(const char *text)
{
    struct err err = {0};
    bool found = false;

    CHECK_OK(loops_find(&found, (struct line){text, strlen(text)}, &err), &err);
    return found;
}

TEST(a_stretch_that_stands_three_times_in_a_row_is_a_loop)
{
    CHECK(loops("the house of the house of the house of the"));
    CHECK(loops("He said: no, no, no, no, no, no, no."));
    CHECK(loops("hello hello hello "));
    CHECK(loops("aaaaaaaaaaaaaaaa"));
    CHECK(!loops("aaaaaaaaaaaaaaa")); /* covers 15 characters */
    CHECK(!loops("die die die "));
    CHECK(!loops("the house of the house of the house"));
    CHECK(!loops(""));
    CHECK(!loops("A man in a blue shirt is standing on a ladder cleaning a window."));
}

/* Characters are counted, not bytes, and no blanks are needed. */
TEST(loops_are_found_in_any_script)
{
    CHECK(loops("我们的我们的我们的我们的我们的我们的"));
    CHECK(!loops("我们的我们的我们的我们的")); /* 12 characters in 36 bytes */
}

TEST(a_stretch_may_be_a_sentence_but_no_longer_than_the_limit)
{
    char text[5 * (LOOPS_STRETCH + 1) + 1];

    for (size_t period = LOOPS_STRETCH; period <= LOOPS_STRETCH + 1; period++) {
        for (size_t i = 0; i < 5 * period; i++)
            text[i] = (char)('!' + i % period);
        text[5 * period] = '\0';
        CHECK(loops(text) == (period == LOOPS_STRETCH));
    }
}
