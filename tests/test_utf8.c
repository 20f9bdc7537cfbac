#include "base/utf8.h"

#include <stdlib.h>

#include "base/rng.h"
#include "test.h"

/*
 * The well-formed sequences as the Unicode standard tabulates them (chapter 3, table
 * 3-7): intervals of bytes instead of arithmetic on code points.
 */
static const struct {
    unsigned char n, lo[4], hi[4];
} well_formed[] = {
    {1, {0x00}, {0x7F}},
    {2, {0xC2, 0x80}, {0xDF, 0xBF}},
    {3, {0xE0, 0xA0, 0x80}, {0xE0, 0xBF, 0xBF}},
    {3, {0xE1, 0x80, 0x80}, {0xEC, 0xBF, 0xBF}},
    {3, {0xED, 0x80, 0x80}, {0xED, 0x9F, 0xBF}},
    {3, {0xEE, 0x80, 0x80}, {0xEF, 0xBF, 0xBF}},
    {4, {0xF0, 0x90, 0x80, 0x80}, {0xF0, 0xBF, 0xBF, 0xBF}},
    {4, {0xF1, 0x80, 0x80, 0x80}, {0xF3, 0xBF, 0xBF, 0xBF}},
    {4, {0xF4, 0x80, 0x80, 0x80}, {0xF4, 0x8F, 0xBF, 0xBF}},
};

/* Length of the well-formed sequence that s[0..n) begins with, 0 if there is none. */
static size_t slow_length(const unsigned char *s, size_t n)
{
    for (size_t row = 0; row < sizeof well_formed / sizeof *well_formed; row++) {
        const size_t len = well_formed[row].n;
        size_t i = 0;
        while (i < len && i < n && s[i] >= well_formed[row].lo[i] &&
               s[i] <= well_formed[row].hi[i])
            i++;
        if (i == len)
            return len;
    }
    return 0;
}

/* The payload bits in a row: 7, 5+6, 4+6+6 or 3+6+6+6. */
static uint32_t slow_code(const unsigned char *s, size_t len)
{
    uint32_t code = len == 1 ? s[0] : s[0] % (1u << (7 - len));

    for (size_t i = 1; i < len; i++)
        code = code * 64 + s[i] - 128;
    return code;
}

static void check_bytes(const unsigned char *s, size_t n)
{
    const size_t want_len = slow_length(s, n);
    const uint32_t want = want_len ? slow_code(s, want_len) : UTF8_BAD;
    size_t len = 99;
    const uint32_t code = utf8_decode((const char *)s, n, &len);

    if (code != want || len != (want_len ? want_len : 1))
        test_fail(__FILE__, __LINE__, "%02x %02x %02x (%zu bytes): U+%04X of %zu bytes",
                  s[0], n > 1 ? s[1] : 0, n > 2 ? s[2] : 0, n, (unsigned)code, len);
}

TEST(every_sequence_of_up_to_three_bytes_decodes_as_the_standard_says)
{
    for (unsigned x = 0; x < 1 << 24; x++) {
        const unsigned char s[3] = {(unsigned char)(x >> 16), (unsigned char)(x >> 8),
                                    (unsigned char)x};
        check_bytes(s, 3);
        if (s[2] == 0)
            check_bytes(s, 2);
        if (s[1] == 0 && s[2] == 0)
            check_bytes(s, 1);
    }
}

TEST(sequences_of_four_bytes_decode_as_the_standard_says)
{
    struct rng r = rng_open(test_seed());

    for (unsigned x = 0; x < 1 << 19; x++) {
        const unsigned char tail = (unsigned char)rng_below(&r, 256);
        const unsigned char s[4] = {(unsigned char)(0xE8 + (x >> 15)),
                                    (unsigned char)(x >> 7), (unsigned char)(x << 1),
                                    rng_below(&r, 4) ? 0x80 | (tail & 0x3F) : tail};
        for (size_t n = 1; n <= 4; n++)
            check_bytes(s, n);
    }
}

TEST(every_code_point_comes_back_from_its_bytes)
{
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        char s[4];
        size_t len = 0;
        if (code >= 0xD800 && code <= 0xDFFF)
            continue;
        const size_t n = utf8_encode(s, code);
        CHECK(n == slow_length((const unsigned char *)s, n));
        CHECK(utf8_decode(s, n, &len) == code && len == n);
        CHECK(n == 1 || utf8_decode(s, n - 1, &len) == UTF8_BAD);
    }
}

TEST(the_decoder_reads_no_byte_past_the_end)
{
    for (unsigned first = 0; first < 256; first++)
        for (size_t n = 1; n < 4; n++) {
            char *exact = malloc(n); /* the sanitizer watches its end */
            size_t len = 0;
            memset(exact, 0x80, n);
            exact[0] = (char)first;
            (void)utf8_decode(exact, n, &len);
            CHECK(len >= 1 && len <= n);
            (void)utf8_valid(exact, n);
            free(exact);
        }
}

TEST(the_last_code_point_is_found_from_the_end)
{
    static const struct {
        const char *text;
        uint32_t code;
        size_t len;
    } cases[] = {{"a", 'a', 1},
                 {"ab", 'b', 1},
                 {"a\u00e4", 0xE4, 2},
                 {"\u3002", 0x3002, 3},
                 {"x\U0001F600", 0x1F600, 4},
                 {"\xff", UTF8_BAD, 1},
                 {"\x82", UTF8_BAD, 1},
                 {"a\x82", UTF8_BAD, 1},
                 {"\u00e4\x82", UTF8_BAD, 1},
                 {"\x80\x80\x80\x80\x80", UTF8_BAD, 1}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t len;
        CHECK(utf8_decode_last(cases[i].text, strlen(cases[i].text), &len) ==
              cases[i].code);
        CHECK(len == cases[i].len);
    }
}

TEST(valid_text_is_told_from_invalid)
{
    CHECK(utf8_valid("", 0));
    CHECK(utf8_valid("Stra\xC3\x9F"
                     "e",
                     8 - 1));
    CHECK(utf8_valid("a\0b", 3));
    CHECK(!utf8_valid("Stra\xDF"
                      "e",
                      6));
    CHECK(!utf8_valid("abc\xC3", 4));
    CHECK(!utf8_valid("\xED\xA0\x80", 3));     /* a surrogate */
    CHECK(!utf8_valid("\xC0\x80", 2));         /* an overlong NUL */
    CHECK(!utf8_valid("\xF4\x90\x80\x80", 4)); /* beyond U+10FFFF */
}

TEST(what_is_no_utf8_is_mended_byte_by_byte)
{
    struct str out = str_new(0);

    utf8_mend(&out, "a\xFF\u00e4\xE2\x82", 6);
    CHECK_STR(str_text(&out), "a\uFFFD\u00e4\uFFFD\uFFFD");
    str_release(&out);
}

TEST(columns_are_counted_by_code_point)
{
    CHECK(utf8_count("", 0) == 0);
    CHECK(utf8_count("abc", 3) == 3);
    CHECK(utf8_count("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x9A\xA2", 9) == 3);
}

TEST(what_terminals_draw_wide_takes_two_columns)
{
    static const uint32_t wide[] = {0x1100, 0x3042, 0x4E00,  0xAC00,
                                    0xFF21, 0xFFE5, 0x1F6A2, 0x20000};
    static const uint32_t narrow[] = {'a',    0xE4,   0x416,  0x2212,
                                      0x2800, 0xFF61, 0xFFFD, UTF8_BAD};

    for (size_t i = 0; i < 8; i++) {
        CHECK(utf8_columns(wide[i]) == 2);
        CHECK(utf8_columns(narrow[i]) == 1);
    }
}

TEST(letters_that_fit_are_whole)
{
    static const char text[] =
        "a\u00e4\u4e2db"; /* 1, 2, 3 and 1 bytes; 1, 1, 2, 1 columns */
    size_t shown;

    CHECK(utf8_fit(text, 7, 9, 9, &shown) == 7 && shown == 5);
    CHECK(utf8_fit(text, 7, 3, 9, &shown) == 3 && shown == 2);
    CHECK(utf8_fit(text, 7, 4, 9, &shown) == 6 && shown == 4);
    CHECK(utf8_fit(text, 7, 9, 5, &shown) == 3 && shown == 2);
    CHECK(utf8_fit(text, 7, 0, 9, &shown) == 0 && shown == 0);
}

TEST(what_is_obeyed_is_not_shown)
{
    static const uint32_t obeyed[] = {0,      0x1B,    '\n',     0x7F,    0x9B,   0x202A,
                                      0x202E, 0x2066,  0x2069,   0xFDD0,  0xFDEF, 0xFFFE,
                                      0xFFFF, 0x1FFFE, 0x10FFFF, UTF8_BAD};
    static const uint32_t shown[] = {' ',    '~',    0xA0,   0x2029, 0x202F,  0x2065,
                                     0x206A, 0xFDCF, 0xFDF0, 0xFFFD, 0x10000, 0x5D0};

    for (size_t i = 0; i < sizeof obeyed / sizeof *obeyed; i++)
        CHECK(!utf8_is_shown(obeyed[i]));
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        CHECK(utf8_is_shown(shown[i]));
}

TEST(white_space_is_the_property_of_the_standard)
{
    /* White_Space=yes in PropList.txt. */
    static const uint32_t spaces[] = {
        0x9,    0xA,    0xB,    0xC,    0xD,    0x20,   0x85,   0xA0,   0x1680,
        0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008,
        0x2009, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000};
    size_t next = 0;

    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        const bool want = next < sizeof spaces / sizeof *spaces && spaces[next] == code;
        CHECK(utf8_is_space(code) == want);
        next += want;
    }
    CHECK(!utf8_is_space(UTF8_BAD));
}

TEST(what_a_terminal_would_obey_is_spelled)
{
    char out[64], again[64], cut[6];

    utf8_spell(out, sizeof out,
               "a\x1B[31m\r\n\x7F \xC2\x9B \xE2\x80\xAE \xFF gr\xC3\xBC\xC3\x9F");
    CHECK_STR(out, "a\\x1B[31m  \\x7F \\u009B \\u202E \\xFF gr\xC3\xBC\xC3\x9F");
    utf8_spell(again, sizeof again, out);
    CHECK_STR(again, out);
    utf8_spell(cut, sizeof cut, "abc\x1B");
    CHECK_STR(cut, "abc");
    utf8_spell(cut, sizeof cut, "abcd\xC3\xBC");
    CHECK_STR(cut, "abcd");
}
