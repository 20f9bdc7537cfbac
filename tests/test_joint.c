#include "decode/lines/joint.h"

#include "test.h"

static bool needs(const char *before, const char *after)
{
    return joint_needs_blank((struct line){before, strlen(before)},
                             (struct line){after, strlen(after)});
}

TEST(languages_with_blanks_need_one)
{
    CHECK(needs("Hello.", "I am fine."));
    CHECK(needs("\u041f\u0440\u0438\u0432\u0435\u0442.", "\u042f!"));
    CHECK(needs("\uc548\ub155.", "\ubc18\uac11"));
    CHECK(needs("\"Hello.\"", "\"Bye.\""));
    CHECK(needs("Hello", "1."));
    CHECK(needs("\"\"", "(("));
}

TEST(scripts_without_blanks_and_white_space_need_none)
{
    CHECK(!needs("\u4f60\u597d\u3002", "\u6211"));
    CHECK(!needs("Hello.", "\u6211"));
    CHECK(!needs("\u4f60\u597d\u3002", "OK"));
    CHECK(!needs("\u0e01", "\u0e01"));
    CHECK(!needs("\u4f60\u3002\u201d", "\u201cOK"));
    CHECK(!needs("OK!\u201d", "\u201c\u6211"));
    CHECK(!needs("Hello. ", "Bye."));
    CHECK(!needs("Hello.", "\u00a0Bye."));
    CHECK(!needs("", "Bye.") && !needs("Hello.", "") && !needs("", ""));
}
