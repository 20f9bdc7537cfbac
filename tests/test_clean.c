#include "text/clean.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/utf8.h"

#include "test.h"

/* Those of the reference. */
static const struct clean_options clean_defaults = {
    .min_words = 1, .max_words = 80, .max_ratio = 9, .max_word_chars = 1000};

static struct line line_of(const char *text)
{
    return (struct line){text, strlen(text)};
}

static enum clean_verdict judge(struct clean *c, const char *a, const char *b)
{
    enum clean_verdict verdict;
    struct err err = {0};

    CHECK_OK(clean_pair(c, line_of(a), line_of(b), &verdict, &err), &err);
    return verdict;
}

/* The verdict on one pair under the usual options. */
static enum clean_verdict judge_once(const char *a, const char *b)
{
    struct clean c;

    clean_init(&c, clean_defaults);
    const enum clean_verdict v = judge(&c, a, b);
    clean_release(&c);
    return v;
}

/* n times "w ", in one of four rotating buffers. */
static const char *words(size_t n)
{
    static char room[4][512];
    static size_t next;
    char *out = room[next++ % 4];

    CHECK(2 * n < sizeof room[0]);
    for (size_t i = 0; i < n; i++)
        memcpy(out + 2 * i, "w ", 2);
    out[2 * n] = '\0';
    return out;
}

TEST(white_space_of_every_kind_becomes_single_blanks)
{
    struct clean c;

    clean_init(&c, clean_defaults);
    CHECK(judge(&c, " a\t\xC2\xA0 b\xE3\x80\x80", "\xE2\x80\xA8 x\x0B\x0C\xC2\x85y\r") ==
          CLEAN_KEEP);
    CHECK_STR(str_text(&c.side[0]), "a b");
    CHECK_STR(str_text(&c.side[1]), "x y");
    /* Zero-width space and the control characters U+001C.. are no white space. */
    CHECK(judge(&c, "a\xE2\x80\x8B\x1C", "y") == CLEAN_KEEP);
    CHECK_STR(str_text(&c.side[0]), "a\xE2\x80\x8B\x1C");
    clean_release(&c);
}

TEST(bars_are_deleted_unless_the_first_pair_has_one)
{
    struct clean c;

    clean_init(&c, clean_defaults);
    CHECK(judge(&c, "a", "b") == CLEAN_KEEP);
    CHECK(judge(&c, "a|b | c", "|") == CLEAN_EMPTY);
    CHECK(judge(&c, "a|b | c", "|x|") == CLEAN_KEEP);
    CHECK_STR(str_text(&c.side[0]), "ab c");
    CHECK_STR(str_text(&c.side[1]), "x");
    clean_release(&c);

    for (int side = 0; side < 2; side++) {
        clean_init(&c, clean_defaults);
        CHECK(judge(&c, side ? "a" : "a|N", side ? "b|V" : "b") == CLEAN_KEEP);
        CHECK(judge(&c, "c|d", "e") == CLEAN_KEEP);
        CHECK_STR(str_text(&c.side[0]), "c|d");
        CHECK(judge(&c, "c||d", "e") == CLEAN_FACTOR);
        CHECK(judge(&c, "e", "c |d") == CLEAN_FACTOR);
        CHECK(judge(&c, "|d", "e|") == CLEAN_KEEP); /* as the original: not looked for */
        clean_release(&c);
    }
}

TEST(the_first_pair_decides_about_bars_even_when_it_is_dropped)
{
    struct clean c;

    clean_init(&c, clean_defaults);
    CHECK(judge(&c, "|", "\xFF") == CLEAN_ENCODING);
    CHECK(judge(&c, "a|b", "c") == CLEAN_KEEP);
    CHECK_STR(str_text(&c.side[0]), "a|b");
    clean_release(&c);
}

TEST(either_side_alone_can_drop_a_pair)
{
    CHECK(judge_once("", "a") == CLEAN_EMPTY && judge_once("a", " \t") == CLEAN_EMPTY);
    CHECK(judge_once("\xFF", "a") == CLEAN_ENCODING);
    CHECK(judge_once("a", "b\xC3") == CLEAN_ENCODING);
    CHECK(judge_once("\xED\xA0\x80", "a") == CLEAN_ENCODING); /* a surrogate */
    CHECK(judge_once(words(81), words(40)) == CLEAN_LONG);
    CHECK(judge_once(words(40), words(81)) == CLEAN_LONG);
}

TEST(word_counts_may_reach_their_bounds)
{
    struct clean c;

    CHECK(judge_once(words(80), words(80)) == CLEAN_KEEP);
    clean_init(&c, (struct clean_options){3, 5, INFINITY, 10});
    CHECK(judge(&c, "a b c", "a b c d e") == CLEAN_KEEP);
    CHECK(judge(&c, "a b", "a b c") == CLEAN_SHORT);
    CHECK(judge(&c, "a b c", "a b") == CLEAN_SHORT);
    CHECK(judge(&c, "a b c d e f", "a b c") == CLEAN_LONG);
    CHECK(judge(&c, "a", "a b c d e f") == CLEAN_LONG); /* tried before short */
    clean_release(&c);
}

TEST(the_ratio_is_of_words_and_may_be_reached)
{
    CHECK(judge_once(words(9), "a") == CLEAN_KEEP);
    CHECK(judge_once(words(10), "a") == CLEAN_RATIO);
    CHECK(judge_once("a", words(10)) == CLEAN_RATIO);
    CHECK(judge_once(words(18), words(2)) == CLEAN_KEEP);
    CHECK(judge_once(words(2), words(19)) == CLEAN_RATIO);
}

TEST(words_are_measured_in_characters)
{
    struct clean c;

    clean_init(&c, (struct clean_options){1, 80, 9, 4});
    CHECK(judge(&c, "four", "\xC3\xA4\xC3\xB6\xC3\xBC\xC3\x9F") == CLEAN_KEEP);
    CHECK(judge(&c, "fives", "x") == CLEAN_WORD);
    CHECK(judge(&c, "x",
                "a \xF0\x9F\x99\x82\xF0\x9F\x99\x82"
                "abc") == CLEAN_WORD);
    clean_release(&c);

    clean_init(&c, (struct clean_options){1, 80, 9, 4});
    CHECK(judge(&c, "four|four|four", "x") == CLEAN_KEEP); /* factors count alone */
    CHECK(judge(&c, "four|fives", "x") == CLEAN_WORD);
    clean_release(&c);
}

TEST(the_longest_word_of_the_original_is_a_thousand_characters)
{
    static char word[1002];

    memset(word, 'x', 1001);
    CHECK(judge_once(word, "a") == CLEAN_WORD);
    word[1000] = '\0';
    CHECK(judge_once(word, "a") == CLEAN_KEEP);
}

TEST(squeezing_alone_keeps_bars_and_malformed_bytes)
{
    struct str out = str_new(0);

    str_puts(&out, "kept");
    CHECK(!clean_line(&out, line_of("  a |\t\xFF  b "), true));
    CHECK_STR(str_text(&out), "kept"
                              "a | \xFF b");
    str_release(&out);
}

/*
 * The rules again, slowly and in another shape: code points in an array, one rule a
 * pass. Returns the verdict; the text goes to out.
 */
struct slow_side {
    uint32_t code[64];
    size_t n;
    bool is_bad;
};

static struct slow_side slow_read(const char *text, size_t n, bool keep_bars)
{
    struct slow_side s = {.n = 0};
    uint32_t last = ' ';
    size_t len;

    s.is_bad = !utf8_valid(text, n);
    for (size_t i = 0; i < n; i += len) {
        uint32_t c = utf8_decode(text + i, n - i, &len);
        if (c == '|' && !keep_bars)
            continue;
        c = utf8_is_space(c) ? ' ' : c;
        if (c != ' ' || last != ' ')
            s.code[s.n++] = c;
        last = c;
    }
    s.n -= s.n && s.code[s.n - 1] == ' ';
    return s;
}

static size_t slow_words(const struct slow_side *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        n += s->code[i] != ' ' && (i == 0 || s->code[i - 1] == ' ');
    return n;
}

/* Is there a run of more than max code points that are neither blank nor bar? */
static bool slow_long_word(const struct slow_side *s, size_t max)
{
    for (size_t i = 0; i + max < s->n; i++) {
        size_t k = 0;
        while (k <= max && s->code[i + k] != ' ' && s->code[i + k] != '|')
            k++;
        if (k > max)
            return true;
    }
    return false;
}

static bool slow_blank_factor(const struct slow_side *s)
{
    for (size_t i = 1; i < s->n; i++)
        if (s->code[i] == '|' && (s->code[i - 1] == '|' || s->code[i - 1] == ' '))
            return true;
    return false;
}

static enum clean_verdict slow_judge(const struct slow_side *a, const struct slow_side *b,
                                     const struct clean_options *o)
{
    const size_t n = slow_words(a), m = slow_words(b);
    const size_t most = n > m ? n : m, least = n < m ? n : m;

    if (a->is_bad || b->is_bad)
        return CLEAN_ENCODING;
    if (a->n == 0 || b->n == 0)
        return CLEAN_EMPTY;
    if (most > o->max_words)
        return CLEAN_LONG;
    if (least < o->min_words)
        return CLEAN_SHORT;
    if ((double)most / (double)least > o->max_ratio)
        return CLEAN_RATIO;
    if (slow_long_word(a, o->max_word_chars) || slow_long_word(b, o->max_word_chars))
        return CLEAN_WORD;
    return slow_blank_factor(a) || slow_blank_factor(b) ? CLEAN_FACTOR : CLEAN_KEEP;
}

static bool same_text(const struct str *got, const struct slow_side *want)
{
    char text[4 * 64];
    size_t n = 0;

    for (size_t i = 0; i < want->n; i++)
        n += utf8_encode(text + n, want->code[i]);
    return got->len == n && memcmp(str_text(got), text, n) == 0;
}

static struct line random_line(struct rng *rng, char *room)
{
    static const char *const parts[] = {
        "a",   "b",    "|", " ", "  ", "\t", "\xC3\xA4", "\xE3\x80\x80",
        "abc", "\xFF", "c", "|", "a",  " ",  "\xC2\xA0"};
    const size_t n_parts = (size_t)rng_below(rng, 16);
    const size_t n_kinds = rng_below(rng, 8) ? 9 : sizeof parts / sizeof *parts;
    size_t n = 0;

    for (size_t i = 0; i < n_parts; i++)
        n = (size_t)(stpcpy(room + n, parts[rng_below(rng, n_kinds)]) - room);
    return (struct line){room, n};
}

TEST(random_corpora_are_cleaned_as_the_slow_rules_say)
{
    const struct clean_options o = {1, 5, 2, 4};
    struct rng rng = rng_open(rng_key(test_seed(), "clean"));
    uint64_t seen[N_CLEAN] = {0};

    for (int round = 0; round < 4000; round++) {
        struct clean c;
        bool is_factored = false;
        clean_init(&c, o);
        for (int i = 0; i < 4; i++) {
            char room[2][64];
            const struct line a = random_line(&rng, room[0]),
                              b = random_line(&rng, room[1]);
            enum clean_verdict got;
            struct err err = {0};
            if (i == 0)
                is_factored =
                    memchr(a.text, '|', a.n_bytes) || memchr(b.text, '|', b.n_bytes);
            const struct slow_side x = slow_read(a.text, a.n_bytes, is_factored);
            const struct slow_side y = slow_read(b.text, b.n_bytes, is_factored);
            CHECK_OK(clean_pair(&c, a, b, &got, &err), &err);
            CHECK(got == slow_judge(&x, &y, &o));
            CHECK(got != CLEAN_KEEP ||
                  (same_text(&c.side[0], &x) && same_text(&c.side[1], &y)));
            seen[got]++;
        }
        clean_release(&c);
    }
    for (unsigned v = 0; v < N_CLEAN; v++)
        CHECK(v == CLEAN_SHORT || seen[v] > 10); /* with min_words 1, short is empty */
}
