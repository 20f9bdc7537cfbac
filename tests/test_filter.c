#include "prepare/clean/filter.h"

#include "test.h"
#include "text/line_reader.h"

static const struct filter_options usual = {
    .clean = {.min_words = 1, .max_words = 80, .max_ratio = 9, .max_word_chars = 1000}};

static struct line line_of(const char *text)
{
    return (struct line){text, strlen(text)};
}

static int judge_cut(struct filter *f, const char *a, const char *b, bool is_cut)
{
    const struct line side[2] = {line_of(a), line_of(b)};
    struct err err = {0};
    int reason;

    CHECK_OK(filter_pair(f, side, is_cut, &reason, &err), &err);
    return reason;
}

/* The reason against one pair; the text that is left of its source in `kept`. */
static int judge(struct filter_options o, const char *a, const char *b, const char *kept)
{
    struct filter f;

    filter_init(&f, o, false);
    const int reason = judge_cut(&f, a, b, false);
    if (kept)
        CHECK_STR(str_text(&f.clean.side[0]), kept);
    filter_release(&f);
    return reason;
}

TEST(by_default_only_the_rules_of_moses_hold)
{
    CHECK(judge(usual, "same", "same", "same") == CLEAN_KEEP);
    CHECK(judge(usual, "\x01 a", "b", "\x01 a") == CLEAN_KEEP);
    CHECK(judge(usual, "\xD0\x90", "b", NULL) == CLEAN_KEEP);
    CHECK(judge(usual, "a\xFF", "b", NULL) == CLEAN_ENCODING);
    CHECK(judge(usual, " ", "b", NULL) == CLEAN_EMPTY);
    CHECK(judge(usual, "e\xCC\x81", "b", "e\xCC\x81") == CLEAN_KEEP);
}

TEST(a_cut_line_is_never_kept)
{
    struct filter f;

    filter_init(&f, usual, false);
    CHECK(judge_cut(&f, "a", "b", true) == FILTER_CUT);
    filter_release(&f);
}

TEST(a_line_that_grows_too_long_is_one_that_was_cut)
{
    struct filter_options o = usual;
    struct str grows = str_new(0);

    o.invalid = FILTER_INVALID_REPLACE;
    o.clean.max_word_chars = LINE_READER_MAX;
    for (int i = 0; i < LINE_READER_MAX / 3; i++)
        str_putc(&grows, (char)0xFF);
    CHECK(judge(o, str_text(&grows), "b", NULL) == CLEAN_KEEP);
    str_putc(&grows, (char)0xFF);
    CHECK(judge(o, str_text(&grows), "b", NULL) == FILTER_CUT);
    CHECK(judge(o, "b", str_text(&grows), NULL) == FILTER_CUT);
    str_release(&grows);
}

TEST(malformed_bytes_can_be_replaced)
{
    struct filter_options o = usual;

    o.invalid = FILTER_INVALID_REPLACE;
    CHECK(judge(o,
                "a\xFF"
                "b\xC3",
                "b",
                "a\xEF\xBF\xBD"
                "b\xEF\xBF\xBD") == CLEAN_KEEP);
}

TEST(control_characters_can_be_stripped_or_drop_the_pair)
{
    struct filter_options o = usual;

    o.control = FILTER_CONTROL_STRIP;
    CHECK(judge(o,
                "a\x01\x7F\xC2\x80 b\tc\xC2\x85"
                "d",
                "b", "a b c d") == CLEAN_KEEP);
    CHECK(judge(o, "\x02", "b", NULL) == CLEAN_EMPTY);
    o.control = FILTER_CONTROL_DROP;
    CHECK(judge(o, "a\x01", "b", NULL) == FILTER_CONTROL);
    CHECK(judge(o, "a", "b\xC2\x9F", NULL) == FILTER_CONTROL);
    CHECK(judge(o, "a\tb\xC2\x85", "b", "a b") == CLEAN_KEEP); /* white space is none */
}

TEST(form_c_joins_what_was_apart)
{
    struct filter_options o = usual;

    o.nfc = true;
    CHECK(judge(o, "Ma\xCC\x88nner", "b", "M\xC3\xA4nner") == CLEAN_KEEP);
    CHECK(judge(o, "\xE1\x84\x80\xE1\x85\xA1", "b", "\xEA\xB0\x80") == CLEAN_KEEP);
    CHECK(judge(o, "a\xFF", "b", NULL) == CLEAN_ENCODING);
    o.clean.max_word_chars = 6;
    CHECK(judge(o, "Ma\xCC\x88nner", "b", NULL) == CLEAN_KEEP); /* six, not seven */
}

TEST(characters_are_counted_after_cleaning)
{
    struct filter_options o = usual;

    o.min_chars = 2;
    o.max_chars = 4;
    CHECK(judge(o, "  \xC3\xA4\xC3\xB6 ", "abcd", NULL) == CLEAN_KEEP);
    CHECK(judge(o, "\xC3\xA4", "abcd", NULL) == FILTER_CHARS_FEW);
    CHECK(judge(o, "ab", "abcde", NULL) == FILTER_CHARS_MANY);
}

TEST(equal_sides_can_drop_a_pair)
{
    struct filter_options o = usual;

    o.drop_identical = true;
    CHECK(judge(o, " a  b", "a b ", NULL) == FILTER_IDENTICAL);
    CHECK(judge(o, "a b", "a B", NULL) == CLEAN_KEEP);
}

TEST(most_letters_must_be_of_the_script)
{
    struct filter_options o = usual;

    o.script[1] = UNICODE_CYRILLIC;
    CHECK(judge(o, "a", "\xD0\xB4\xD0\xB0", NULL) == CLEAN_KEEP);
    CHECK(judge(o, "a", "NATO \xD0\xB4\xD0\xB0", NULL) == FILTER_SCRIPT);
    CHECK(judge(o, "a", "NA \xD0\xB4\xD0\xB0", NULL) == CLEAN_KEEP);
    CHECK(judge(o, "a", "12 - 34!", NULL) == CLEAN_KEEP); /* no letters at all */
    o.script[1] = UNICODE_JAPANESE;
    CHECK(judge(o, "a", "\xE6\xBC\xA2\xE5\xAD\x97\xE3\x81\xAE", NULL) == CLEAN_KEEP);
    o.script[1] = UNICODE_HAN;
    CHECK(judge(o, "a", "\xE3\x81\xAE\xE3\x81\xAE\xE5\xAD\x97", NULL) == FILTER_SCRIPT);
}

TEST(a_side_in_the_language_of_the_other_is_found)
{
    static const char *const en[] = {"the house is old", "the man is here now",
                                     "this is the old house of the man"};
    static const char *const de[] = {"das Haus ist alt", "der Mann ist jetzt da",
                                     "das ist das alte Haus vom Mann"};
    struct filter_options o = usual;
    struct filter_profile profile;
    struct err err = {0};

    CHECK_OK(filter_profile_open(&profile, &err), &err);
    for (int i = 0; i < 300; i++) {
        filter_profile_add(&profile, line_of(en[i % 3]), 0);
        filter_profile_add(&profile, line_of(de[i % 3]), 1);
    }
    o.profile = &profile;
    CHECK(judge(o, "the old man", "der alte Mann", NULL) == CLEAN_KEEP);
    CHECK(judge(o, "das Haus ist da", "das Haus ist da", NULL) == FILTER_LANGUAGE);
    CHECK(judge(o, "the man is old", "the man is old", NULL) == FILTER_LANGUAGE);
    CHECK(judge(o, "das Haus", "das Haus", NULL) == CLEAN_KEEP); /* too little to tell */
    CHECK(judge(o, "foo bar baz", "foo bar baz", NULL) == CLEAN_KEEP);
    filter_profile_close(&profile);
}

TEST(cores_are_what_near_duplicates_share)
{
    struct str a = str_new(0);

    filter_core(&a, line_of("  \xC3\x84rger in 1984, Nr. 7!"));
    CHECK_STR(str_text(&a), "\xC3\xA4rgerin0000nr0");
    str_reset(&a);
    filter_core(&a, line_of("?! -"));
    CHECK_STR(str_text(&a), "?! -");
    str_release(&a);
}

TEST(every_reason_has_a_name_of_its_own)
{
    CHECK_STR(filter_name(CLEAN_EMPTY), "empty");
    for (int v = 0; v < N_FILTER; v++) {
        CHECK(*filter_name(v) && *filter_why(v));
        for (int w = 0; w < v; w++)
            CHECK(strcmp(filter_name(v), filter_name(w)) != 0);
    }
}
