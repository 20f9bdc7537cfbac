#include "text/unicode.h"

#include "base/str.h"
#include "test.h"

static void check_nfc(const char *in, const char *want)
{
    struct str out = str_new(0);
    struct err err = {0};

    CHECK_OK(unicode_nfc(&out, (struct line){in, strlen(in)}, &err), &err);
    CHECK_STR(str_text(&out), want);
    str_release(&out);
}

TEST(form_c_composes_orders_and_leaves_the_rest)
{
    check_nfc("plain", "plain");
    check_nfc("caf\u00e9", "caf\u00e9");
    check_nfc("cafe\u0301", "caf\u00e9");
    check_nfc("a\u0323\u0302", "\u1ead");
    check_nfc("a\u0302\u0323", "\u1ead"); /* marks in another order */
    check_nfc("\u212b", "\u00c5");        /* angstrom */
    check_nfc("\u1112\u1161\u11ab", "\ud55c");
    check_nfc("\ufb01 \u00bd", "\ufb01 \u00bd"); /* compatibility stays */
    check_nfc("x\u0301\xff"
              "e\u0301",
              "x\u0301\xff\u00e9");
}

TEST(letters_digits_and_controls_are_told_apart)
{
    CHECK(unicode_is_letter('a') && unicode_is_letter(0xDF) && unicode_is_letter(0x6F22));
    CHECK(!unicode_is_letter('1') && !unicode_is_letter(0x301) &&
          !unicode_is_letter('@'));
    CHECK(!unicode_is_letter('[') && !unicode_is_letter('`') && !unicode_is_letter('{'));
    CHECK(unicode_is_digit('7') && unicode_is_digit(0x0667) && !unicode_is_digit(0xBD));
    CHECK(unicode_is_control(0) && unicode_is_control(0x1C) && unicode_is_control(0x7F));
    CHECK(!unicode_is_control('\t') && !unicode_is_control(0x85) &&
          !unicode_is_control(' '));
    CHECK(unicode_lower('Q') == 'q' && unicode_lower(0xC4) == 0xE4 &&
          unicode_lower('[') == '[');
    CHECK(unicode_upper('q') == 'Q' && unicode_upper(0xE4) == 0xC4 &&
          unicode_upper('{') == '{');
    CHECK(unicode_title('q') == 'Q' && unicode_title(0x1C6) == 0x1C5); /* dž: Dž */
}

TEST(scripts_without_blanks_are_known)
{
    static const uint32_t unspaced[] = U"\u4eca\u306f\u30ab\u3002\uff01\uff71\u0e01"
                                       U"\u1780\u1000\u0e81\U00020000\u300d";
    static const uint32_t spaced[] =
        U"a\u00e4\u0416\u05d0\uac00\u3131\u0905\u0964.1\u2014";

    for (size_t i = 0; unspaced[i]; i++)
        CHECK(unicode_is_unspaced(unspaced[i]));
    for (size_t i = 0; spaced[i]; i++)
        CHECK(!unicode_is_unspaced(spaced[i]));
}

TEST(scripts_have_names_and_letters)
{
    CHECK(unicode_script_named("greek") == UNICODE_GREEK);
    CHECK(unicode_script_named("klingon") == UNICODE_ANY);
    CHECK(unicode_is_of('z', UNICODE_LATIN) && unicode_is_of(0x1EA1, UNICODE_LATIN));
    CHECK(unicode_is_of(0x416, UNICODE_CYRILLIC) &&
          !unicode_is_of('z', UNICODE_CYRILLIC));
    CHECK(unicode_is_of(0x6F22, UNICODE_JAPANESE) && unicode_is_of(0x6F22, UNICODE_HAN));
    CHECK(!unicode_is_of(0x306E, UNICODE_HAN) && unicode_is_of(0xD55C, UNICODE_KOREAN));
    CHECK(unicode_is_of(0x416, UNICODE_ANY));
}
