#include <stdlib.h>

#include "base/lines.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "test.h"
#include "text/line_reader.h"

static struct line_reader open_over(const void *bytes, size_t n)
{
    struct line_reader f;
    struct err err = {0};

    CHECK_OK(line_reader_over(&f, bytes, n, "input", &err), &err);
    return f;
}

static void check_next(struct line_reader *f, const char *want)
{
    struct line line;
    struct err err = {0};
    bool has;

    CHECK_OK(line_reader_next(f, &line, &has, &err), &err);
    CHECK(has);
    if (line.n_bytes != strlen(want) || memcmp(line.text, want, line.n_bytes) != 0)
        test_fail(__FILE__, __LINE__, "'%.*s', want '%s'", (int)line.n_bytes, line.text,
                  want);
}

static void check_end(struct line_reader *f)
{
    struct line line;
    struct err err = {0};
    bool has;

    CHECK_OK(line_reader_next(f, &line, &has, &err), &err);
    CHECK(!has);
    line_reader_close(f);
}

TEST(lines_are_those_of_the_reader_of_mapped_files)
{
    struct rng rng = rng_open(rng_key(test_seed(), "lines"));
    static const char letters[] = "a\n\r\n\xE2\x80\xA8\xC2\x85 \xEF\xBB\xBF";
    char text[400];

    for (int round = 0; round < 2000; round++) {
        const size_t n = (size_t)rng_below(&rng, sizeof text);
        struct err err = {0};
        struct line a, b;
        bool has;
        for (size_t i = 0; i < n; i++)
            text[i] = letters[rng_below(&rng, sizeof letters - 1)];
        struct lines l = lines_over(text, n);
        struct line_reader f = open_over(text, n);
        for (;;) {
            const bool more = lines_next(&l, &a);
            CHECK_OK(line_reader_next(&f, &b, &has, &err), &err);
            CHECK(more == has);
            if (!more)
                break;
            CHECK(a.n_bytes == b.n_bytes && memcmp(a.text, b.text, a.n_bytes) == 0);
            CHECK(l.n_read == f.n_lines);
        }
        line_reader_close(&f);
    }
}

TEST(utf16_is_read_as_utf8)
{
    struct line_reader f = open_over("\xFF\xFE\xE4\x00\n\x00\x3D\xD8\x00\xDE", 10);

    check_next(&f, "\xC3\xA4");
    check_next(&f, "\xF0\x9F\x98\x80");
    check_end(&f);
    f = open_over("\xFE\xFF\x00\x61\x00\x0D\x00\x0A\x20\x28", 10);
    check_next(&f, "a");
    check_next(&f, "\xE2\x80\xA8"); /* a line separator ends no line */
    check_end(&f);
    f = open_over("\xFF\xFE\x00\xD8\x41\x00\x42", 7); /* half a pair, half a unit */
    check_next(&f, "\xED\xA0\x80"
                   "A\xFF");
    check_end(&f);
}

TEST(utf16_is_the_same_wherever_its_blocks_end)
{
    enum { N = 200000 };
    struct err err = {0};
    unsigned char *wide;
    size_t n_lines = 0;
    struct line line;
    bool has = true;

    CHECK_OK(mem_alloc(&wide, 2 + 6 * N, 1, &err), &err);
    wide[0] = 0xFF;
    wide[1] = 0xFE;
    for (size_t i = 0; i < N; i++)
        memcpy(wide + 2 + 6 * i, "\x3D\xD8\x00\xDE\n\x00", 6);
    struct line_reader f = open_over(wide, 2 + 6 * N);
    while (has) {
        CHECK_OK(line_reader_next(&f, &line, &has, &err), &err);
        if (!has)
            break;
        CHECK(line.n_bytes == 4 && memcmp(line.text, "\xF0\x9F\x98\x80", 4) == 0);
        n_lines++;
    }
    CHECK(n_lines == N);
    line_reader_close(&f);
    free(wide);
}

/* A text of three lines, the second of n letters. */
static void check_long(size_t n)
{
    struct err err = {0};
    struct line line;
    char *text;
    bool has;

    CHECK_OK(mem_alloc(&text, n + 12, 1, &err), &err);
    memcpy(text, "first\n", 6);
    memset(text + 6, 'x', n);
    memcpy(text + 6 + n, "\nlast\n", 6);
    struct line_reader f = open_over(text, n + 12);
    check_next(&f, "first");
    CHECK_OK(line_reader_next(&f, &line, &has, &err), &err);
    CHECK(has && f.is_cut == (n > LINE_READER_MAX));
    CHECK(line.n_bytes == (n > LINE_READER_MAX ? LINE_READER_MAX : n));
    CHECK(line.text[0] == 'x' && line.text[line.n_bytes - 1] == 'x');
    check_next(&f, "last");
    CHECK(!f.is_cut && f.n_lines == 3);
    CHECK(f.cap < 3 * (size_t)LINE_READER_MAX);
    check_end(&f);
    free(text);
}

TEST(an_endless_line_is_cut_and_passed_over)
{
    for (size_t n = LINE_READER_MAX - 1; n <= LINE_READER_MAX + 1; n++)
        check_long(n);
    check_long(LINE_READER_MAX - 65536);
    check_long(LINE_READER_MAX + 65530);
    check_long(9 * (size_t)LINE_READER_MAX);
}

TEST(bytes_can_be_seen_before_they_are_taken)
{
    struct line_reader f = open_over("a\nb", 3);
    struct err err = {0};
    int c;

    CHECK_OK(line_reader_peek(&f, &c, &err), &err);
    CHECK(c == 'a');
    CHECK_OK(line_reader_byte(&f, &c, &err), &err);
    CHECK(c == 'a' && f.n_lines == 0);
    CHECK_OK(line_reader_byte(&f, &c, &err), &err);
    CHECK(c == '\n' && f.n_lines == 1);
    CHECK_OK(line_reader_byte(&f, &c, &err), &err);
    CHECK_OK(line_reader_byte(&f, &c, &err), &err);
    CHECK(c == LINE_READER_END);
    line_reader_close(&f);
    line_reader_close(&f);
}
