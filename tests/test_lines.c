#include "base/lines.h"

#include "base/file.h"
#include "base/rng.h"

#include "test.h"

/* The lines of a text, each in brackets. */
static const char *show(struct lines *l)
{
    static char out[4096];
    struct line line;
    size_t n = 0;

    out[0] = '\0';
    while (lines_next(l, &line)) {
        CHECK(n + line.n_bytes + 3 < sizeof out);
        out[n++] = '[';
        memcpy(out + n, line.text, line.n_bytes);
        n += line.n_bytes;
        out[n++] = ']';
        out[n] = '\0';
    }
    return out;
}

static const char *show_text(const char *text)
{
    struct lines l = lines_over(text, strlen(text));

    return show(&l);
}

TEST(a_line_ends_at_a_line_feed_and_nowhere_else)
{
    CHECK_STR(show_text("one\ntwo\n"), "[one][two]");
    CHECK_STR(show_text("a\xE2\x80\xA8"
                        "b\xC2\x85"
                        "c\x0B"
                        "d\x0C"
                        "e\rf\n"),
              "[a\xE2\x80\xA8"
              "b\xC2\x85"
              "c\x0B"
              "d\x0C"
              "e\rf]");
}

TEST(a_last_line_without_line_feed_counts)
{
    CHECK_STR(show_text("one\ntwo"), "[one][two]");
    CHECK_STR(show_text("x"), "[x]");
    CHECK_STR(show_text("\n"), "[]");
    CHECK_STR(show_text("\n\nx\n\n"), "[][][x][]");
}

TEST(an_empty_text_has_no_lines)
{
    struct lines l = lines_over(NULL, 0);
    struct line line;

    CHECK(!lines_next(&l, &line) && !lines_next(&l, &line));
    CHECK(l.n_read == 0 && lines_count(&l) == 0);
}

TEST(one_carriage_return_before_the_end_of_a_line_is_dropped)
{
    CHECK_STR(show_text("one\r\ntwo\r"), "[one][two]");
    CHECK_STR(show_text("\r\n\r\r\nx\r\r\n"), "[][\r][x\r]");
}

TEST(a_byte_order_mark_is_dropped_at_the_start_only)
{
    struct lines l = lines_over("\xEF\xBB\xBFx\n\xEF\xBB\xBFy\n", 10);

    CHECK(l.has_mark);
    CHECK_STR(show(&l), "[x][\xEF\xBB\xBFy]");
    CHECK_STR(show_text("\xEF\xBB\xBF"), "");
    CHECK_STR(show_text("\xEF\xBB"), "[\xEF\xBB]");
    CHECK_STR(show_text("\xEF\xBB\xBF\xEF\xBB\xBFz"), "[\xEF\xBB\xBFz]");
}

TEST(nul_bytes_are_text)
{
    struct lines l = lines_over("a\0b\n\0\n", 6);
    struct line line;

    CHECK(lines_next(&l, &line) && line.n_bytes == 3 &&
          memcmp(line.text, "a\0b", 3) == 0);
    CHECK(lines_next(&l, &line) && line.n_bytes == 1 && line.text[0] == '\0');
    CHECK(!lines_next(&l, &line));
}

TEST(counting_does_not_move_the_reader_and_rewinding_does)
{
    struct lines l = lines_over("1\n2\n3", 5);
    struct line line;

    CHECK(lines_next(&l, &line) && l.n_read == 1);
    CHECK(lines_count(&l) == 3);
    CHECK(lines_next(&l, &line) && line.text[0] == '2' && l.n_read == 2);
    lines_rewind(&l);
    CHECK_STR(show(&l), "[1][2][3]");
    CHECK(l.n_read == 3);
}

TEST(files_are_read_as_texts_are)
{
    const char *path = test_path("text");
    struct lines l;
    struct err err = {0};

    CHECK_OK(file_write(path, "\xEF\xBB\xBFone\r\ntwo", 11, &err), &err);
    CHECK_OK(lines_open(&l, path, &err), &err);
    CHECK_STR(show(&l), "[one][two]");
    CHECK(lines_count(&l) == 2);
    lines_close(&l);
    lines_close(&l); /* twice is fine */

    CHECK_OK(file_write(path, "", 0, &err), &err);
    CHECK_OK(lines_open(&l, path, &err), &err);
    CHECK_STR(show(&l), "");
    lines_close(&l);
}

TEST(what_is_no_file_is_refused_by_name)
{
    struct lines l;
    struct err err = {0};

    CHECK_FAILS(lines_open(&l, test_path("absent"), &err), &err, ERR_IO, "absent");
    CHECK(l.text == NULL);
    lines_close(&l);
    CHECK_FAILS(lines_open(&l, test_dir(), &err), &err, ERR_IO, test_dir());
}

TEST(joined_lines_give_back_any_text_without_returns_and_marks)
{
    struct rng rng = rng_open(rng_key(test_seed(), "lines"));

    for (int round = 0; round < 2000; round++) {
        char text[40], back[48];
        const size_t n = (size_t)rng_below(&rng, sizeof text);
        size_t n_back = 0;
        struct line line;
        for (size_t i = 0; i < n; i++)
            text[i] = "ab\n\n\0\xFF"[rng_below(&rng, 6)];
        struct lines l = lines_over(text, n);
        while (lines_next(&l, &line)) {
            memcpy(back + n_back, line.text, line.n_bytes);
            n_back += line.n_bytes;
            back[n_back++] = '\n';
        }
        /* Only a missing last line feed was added. */
        CHECK(n_back == n + (n > 0 && text[n - 1] != '\n'));
        CHECK(memcmp(back, text, n) == 0);
    }
}
