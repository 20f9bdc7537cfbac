/* Codes of languages as clients spell them. */
#include "test.h"

#include "serve/codes.h"

static void code(const char *given, const char *want)
{
    char got[CODE_MAX];

    memset(got, '?', sizeof got);
    CHECK(codes_canonical(got, given) == (want[0] != '\0'));
    CHECK_STR(got, want); /* empty where it is none */
}

TEST(codes_are_spelled_one_way)
{
    code("DE", "de");
    code("pb", "pt-BR");
    code("PT_br", "pt-BR");
    code("pt", "pt");
    code("zh", "zh-Hans");
    code("zt", "zh-Hant");
    code("ZH-TW", "zh-Hant");
    code("en-US", "en-us");
    code("", "");
    code("d", "");
    code("d\xC3\xA9", "");
    code("a/../b", "");
    code("abcdefghijklmnopqrst", "");
    CHECK_STR(codes_sibling("pt"), "pt-BR");
    CHECK_STR(codes_sibling("zh-Hant"), "zh-Hans");
    CHECK(!codes_sibling("de"));
    CHECK_STR(codes_name("de"), "German");
    CHECK_STR(codes_name("xx"), "xx");
}
