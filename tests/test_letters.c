#include "score/letters.h"

#include "test.h"

static void check_lower(const char *text, const char *want)
{
    struct str got = str_new(0);

    letters_lower(&got, text, strlen(text));
    CHECK_STR(str_text(&got), want);
    str_release(&got);
}

TEST(small_letters_are_those_of_python)
{
    check_lower("", "");
    check_lower("ÀÉ MoSKVA МОСКВА ẞ ǅ 日本 1Ⅳ", "àé moskva москва ß ǆ 日本 1ⅳ");
    check_lower("İI", "i\u0307i");
}

TEST(a_sigma_is_final_where_a_word_ends)
{
    check_lower("ΟΔΟΣ ΣΑΣ. Σ ΣΣ", "οδος σας. σ σς");
    check_lower("ΑΣ'Α ΑΣ'", "ασ'α ας'"); /* a letter follows the first, behind a mark */
    check_lower("Α..\u0301Σ ªΣ ⅣΣ 1Σ", "α..\u0301ς ªς ⅳς 1σ");
}

TEST(categories_are_those_of_unicode_17)
{
    CHECK(letters_kind('a') == LETTERS_OTHER && letters_kind(0) == LETTERS_OTHER);
    CHECK(letters_kind('!') == LETTERS_PUNCTUATION &&
          letters_kind('+') == LETTERS_SYMBOL);
    CHECK(letters_kind('7') == LETTERS_NUMBER && letters_kind(0xBD) == LETTERS_NUMBER);
    CHECK(letters_kind(0x3002) == LETTERS_PUNCTUATION);
    CHECK(letters_kind(0x1F600) == LETTERS_SYMBOL);
    CHECK(letters_kind(0x20C1) == LETTERS_SYMBOL); /* of Unicode 17 */
    CHECK(letters_kind(0x10FFFF) == LETTERS_OTHER);
}
