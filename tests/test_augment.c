/* Text in other letters: what each kind does, and that both sides stay one pair. */
#include "text/augment.h"

#include "base/rng.h"
#include "base/utf8.h"
#include "hostile.h"
#include "test.h"

struct texts {
    struct str source, target, spare;
};

static void set(struct str *s, const char *text)
{
    str_reset(s);
    str_puts(s, text);
}

static void release(struct texts *t)
{
    str_release(&t->source);
    str_release(&t->target);
    str_release(&t->spare);
}

static struct texts texts_of(const char *source, const char *target)
{
    struct texts t = {str_new(0), str_new(0), str_new(0)};

    set(&t.source, source);
    set(&t.target, target);
    return t;
}

static void check(enum augment_kind kind, const char *source, const char *target,
                  const char *want_source, const char *want_target)
{
    struct texts t = texts_of(source, target);

    augment_pair(1u << kind, 5, &t.source, &t.target, &t.spare);
    CHECK_STR(str_text(&t.source), want_source);
    CHECK_STR(str_text(&t.target), want_target);
    release(&t);
}

TEST(case_changes_on_both_sides)
{
    check(AUGMENT_upper, "a small dog", "ein großer Hund, süß", "A SMALL DOG",
          "EIN GROSSER HUND, SÜSS");
    check(AUGMENT_upper, "ёлка 3 ǆ", "", "ЁЛКА 3 Ǆ", "");
    check(AUGMENT_title, "a (small) dog's 3rd", "\"ein hund", "A (Small) Dog's 3rd",
          "\"Ein Hund");
    check(AUGMENT_title, "ǆ x\xFFy", "", "ǅ X\xFFy", "");
    check(AUGMENT_lower, "A Small DOG", "Ein HUND Ä", "a small dog", "ein hund ä");
}

TEST(end_punctuation_goes_from_both_sides_or_from_none)
{
    check(AUGMENT_no_end, "Go!", "Va !", "Go", "Va");
    check(AUGMENT_no_end, "What...?!", "什么？", "What", "什么");
    check(AUGMENT_no_end, "Mr. X.", "Herr X…", "Mr. X", "Herr X");
    check(AUGMENT_no_end, "Go!", "Los", "Go!", "Los");
    check(AUGMENT_no_end, "...", "Los.", "...", "Los.");
    check(AUGMENT_no_end, "Go.\"", "Los.", "Go.\"", "Los.");
    check(AUGMENT_no_end, "", "", "", "");
}

/* Digits changed, everything else the same. */
static bool is_other_number(const char *was, const char *is)
{
    bool is_other = false;

    if (strlen(was) != strlen(is))
        return false;
    for (; *was; was++, is++) {
        const bool is_digit = *was >= '0' && *was <= '9';
        if (*was != *is && (!is_digit || *is < '0' || *is > '9'))
            return false;
        is_other |= *was != *is;
    }
    return is_other;
}

TEST(the_same_number_becomes_the_same_other_number)
{
    for (uint64_t key = 0; key < 300; key++) {
        struct texts t = texts_of("In 1984, 27 of 1984 x", "1984 waren 27 von 1984");
        char year[5], few[3];
        augment_pair(1u << AUGMENT_digits, key, &t.source, &t.target, &t.spare);
        CHECK(is_other_number("In 1984, 27 of 1984 x", str_text(&t.source)));
        snprintf(year, sizeof year, "%s", t.source.data + 3);
        snprintf(few, sizeof few, "%s", t.source.data + 9);
        CHECK(strcmp(year, "1984") != 0 && strcmp(few, "27") != 0);
        CHECK(year[0] != '0' && few[0] != '0');
        CHECK(strncmp(t.source.data + 15, year, 4) == 0);
        CHECK(strncmp(t.target.data, year, 4) == 0);
        CHECK(strncmp(t.target.data + 11, few, 2) == 0);
        CHECK(strncmp(t.target.data + 18, year, 4) == 0);
        release(&t);
    }
}

TEST(numbers_that_stand_otherwise_on_the_other_side_stay)
{
    check(AUGMENT_digits, "27 and 27", "27", "27 and 27", "27"); /* not as often */
    check(AUGMENT_digits, "the 21st of 3 B52", "der 21. von 3 B52", "the 21st of 3 B52",
          "der 21. von 3 B52");
    check(AUGMENT_digits, "1234567890123456789", "1234567890123456789",
          "1234567890123456789", "1234567890123456789"); /* no number any more */
    check(AUGMENT_digits, "", "27", "", "27");
}

TEST(a_zero_in_front_stays_in_front)
{
    struct texts t = texts_of("1,007 00", "1.007 00");

    augment_pair(1u << AUGMENT_digits, 3, &t.source, &t.target, &t.spare);
    CHECK(is_other_number("1,007 00", str_text(&t.source)) && t.source.data[2] == '0');
    CHECK(memcmp(t.source.data + 2, t.target.data + 2, 6) == 0);
    release(&t);
}

TEST(many_numbers_are_left_alone)
{
    struct texts t = {str_new(0), str_new(0), str_new(0)};

    for (int i = 0; i < 40; i++) {
        str_printf(&t.source, "%d ", 10 + i);
        str_printf(&t.target, "%d ", 10 + i);
    }
    struct texts was = texts_of(str_text(&t.source), str_text(&t.target));
    augment_pair(1u << AUGMENT_digits, 3, &t.source, &t.target, &t.spare);
    CHECK_STR(str_text(&t.source), str_text(&was.source));
    CHECK_STR(str_text(&t.target), str_text(&was.target));
    release(&t);
    release(&was);
}

TEST(typing_errors_come_into_the_source_alone)
{
    static const char text[] = "ein großer Hund";
    int n_shorter = 0, n_longer = 0, n_as_long = 0;

    for (uint64_t key = 0; key < 400; key++) {
        struct texts t = texts_of(text, "a large dog");
        augment_pair(1u << AUGMENT_typos, key, &t.source, &t.target, &t.spare);
        CHECK_STR(str_text(&t.target), "a large dog");
        CHECK(strcmp(str_text(&t.source), text) != 0);
        CHECK(utf8_valid(t.source.data, t.source.len));
        n_shorter += utf8_count(t.source.data, t.source.len) == 14;
        n_longer += utf8_count(t.source.data, t.source.len) == 16;
        n_as_long += utf8_count(t.source.data, t.source.len) == 15;
        release(&t);
    }
    CHECK(n_shorter + n_longer + n_as_long == 400);
    CHECK(n_shorter > 60 && n_longer > 80 && n_as_long > 120);
    check(AUGMENT_typos, "1984", "x", "1984", "x"); /* without a letter */
}

TEST(kinds_are_drawn_at_their_rates_and_one_case_at_most)
{
    enum { N = 40000 };
    const struct augment_rates rates = {{[AUGMENT_upper] = 0.07,
                                         [AUGMENT_title] = 0.05,
                                         [AUGMENT_lower] = 0.3,
                                         [AUGMENT_typos] = 0.2,
                                         [AUGMENT_no_end] = 0.5,
                                         [AUGMENT_digits] = 1}};
    int times[AUGMENT_N] = {0};

    for (uint64_t i = 0; i < N; i++) {
        const unsigned kinds = augment_draw(&rates, rng_hash(test_seed(), i));
        int n_case = 0;
        for (int k = 0; k < AUGMENT_N; k++) {
            times[k] += kinds >> k & 1 ? 1 : 0;
            n_case += k <= AUGMENT_lower && kinds >> k & 1;
        }
        CHECK(n_case <= 1);
        CHECK(kinds == augment_draw(&rates, rng_hash(test_seed(), i)));
    }
    for (int k = 0; k < AUGMENT_N; k++)
        CHECK(fabs(times[k] - N * rates.of[k]) <
              5 * sqrt(N * rates.of[k] * (1 - rates.of[k])) + 1);
    CHECK(augment_draw(&(struct augment_rates){0}, 1) == 0);
}

TEST(any_bytes_are_survived)
{
    struct texts t = {str_new(0), str_new(0), str_new(0)};

    for (size_t i = 0; i < 3000; i++) {
        hostile_line(&t.source, rng_key(test_seed(), "one"), i);
        hostile_line(&t.target, rng_key(test_seed(), "other"), i);
        augment_pair((unsigned)i & 63, i, &t.source, &t.target, &t.spare);
        CHECK(!t.source.bad && !t.target.bad);
    }
    release(&t);
}
