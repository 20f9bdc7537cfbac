#include "text/line_reader.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/lines.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"

#include "bytes_fd.h"
#include "test.h"

static struct line_reader open_over(const void *bytes, size_t n)
{
    struct line_reader f;
    struct err err = {0};

    const int fd = bytes_fd(bytes, n);

    CHECK_OK(line_reader_open_fd(&f, fd, "input", &err), &err);
    close(fd);
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

static void *write_pipe(void *path)
{
    FILE *out = fopen(path, "w");

    for (int i = 0; out && i < 20000; i++) /* more than a pipe holds */
        fprintf(out, "line %d\n", i);
    if (out)
        (void)fclose(out);
    return NULL;
}

TEST(a_pipe_is_read_to_its_end)
{
    char path[512];
    pthread_t writer;
    struct line_reader f;
    struct err err = {0};

    snprintf(path, sizeof path, "%s", test_path("pipe"));
    CHECK(mkfifo(path, 0600) == 0);
    CHECK(pthread_create(&writer, NULL, write_pipe, path) == 0);
    CHECK_OK(line_reader_open(&f, path, path, &err), &err);
    for (int i = 0; i < 20000; i++) {
        char want[32];
        snprintf(want, sizeof want, "line %d", i);
        check_next(&f, want);
    }
    check_end(&f);
    pthread_join(writer, NULL);
}

TEST(a_short_line_of_a_terminal_is_handed_out_at_once)
{
    static const char *const said[] = {"a\n", "\n", "P\n", "(\n", "\xEF\n", "\xFF\n"};
    struct err err = {0};
    int end[2];

    alarm(60); /* a reader that waits for more never ends */
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        struct line_reader f;
        const size_t n = strlen(said[i]);
        char want[8];
        CHECK(pipe(end) == 0 && write(end[1], said[i], n) == (ssize_t)n);
        CHECK_OK(line_reader_open_fd(&f, end[0], "terminal", &err), &err);
        snprintf(want, sizeof want, "%.*s", (int)n - 1, said[i]);
        check_next(&f, want);
        close(end[1]);
        check_end(&f);
        close(end[0]); /* it was not the reader's */
    }
    alarm(0);
}

TEST(a_limit_of_the_callers_own_cuts_before_the_end_of_the_line_has_come)
{
    struct err err = {0};
    struct line_reader f;
    int end[2];

    alarm(60);
    CHECK(pipe(end) == 0 && write(end[1], "abc\nabcdefgh", 12) == 12);
    CHECK_OK(line_reader_open_fd(&f, end[0], "pipe", &err), &err);
    f.max_line = 5;
    check_next(&f, "abc");
    CHECK(!f.is_cut);
    check_next(&f, "abcde");
    CHECK(f.is_cut && f.n_lines == 2);
    CHECK(write(end[1], "ijk\nlast", 8) == 8);
    close(end[1]);
    check_next(&f, "last");
    CHECK(!f.is_cut);
    check_end(&f);
    close(end[0]);
    alarm(0);
}

TEST(a_pause_leaves_half_a_line_for_later)
{
    struct line_reader f;
    struct line line;
    struct err err = {0};
    bool has;
    int end[2];

    CHECK(pipe(end) == 0 && write(end[1], "one\ntwo\nthr", 11) == 11);
    CHECK_OK(line_reader_open_fd(&f, end[0], "input", &err), &err);
    check_next(&f, "one");
    CHECK_OK(line_reader_next_within(&f, &line, &has, 0, &err), &err);
    CHECK(has && line.n_bytes == 3);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(line_reader_next_within(&f, &line, &has, i, &err), &err);
        CHECK(!has && !f.ended);
    }
    CHECK(write(end[1], "ee\nfo", 5) == 5);
    CHECK_OK(line_reader_next_within(&f, &line, &has, 0, &err), &err);
    CHECK(has && line.n_bytes == 5 && memcmp(line.text, "three", 5) == 0);
    CHECK_OK(line_reader_next_within(&f, &line, &has, 0, &err), &err);
    CHECK(!has && !f.ended);
    close(end[1]);
    CHECK_OK(line_reader_next_within(&f, &line, &has, 0, &err), &err);
    CHECK(has && line.n_bytes == 2); /* the end is no pause */
    CHECK_OK(line_reader_next_within(&f, &line, &has, 0, &err), &err);
    CHECK(!has && f.ended);
    line_reader_close(&f);
    close(end[0]);
}

/* The kind is named; "" when it is taken for text. */
static void check_kind(const void *bytes, size_t n, const char *want)
{
    struct line_reader f = open_over(bytes, n);
    struct err err = {0};

    if (*want)
        CHECK_FAILS(line_reader_expect_text(&f, &err), &err, ERR_FORMAT, want);
    else
        CHECK_OK(line_reader_expect_text(&f, &err), &err);
    line_reader_close(&f);
}

TEST(files_that_are_not_text_are_named)
{
    static const char zeros[100] = "";
    char zip[64] = "PK\3\4";
    char tar[512] = "a.txt";

    check_kind("%PDF-1.7\n%", 10, "input is a PDF document");
    check_kind("\x89PNG\r\n\x1A\n\0\0\0\rIHDR", 16, "a PNG image");
    check_kind("\xFF\xD8\xFF\xE0", 4, "a JPEG image");
    check_kind("{\\rtf1\\ansi", 11, "an RTF document");
    check_kind("BZh91AY&SY", 10, "bzip2");
    check_kind(zip, sizeof zip, "a ZIP archive");
    memcpy(zip + 30, "[Content_Types].xml", 19);
    check_kind(zip, sizeof zip, "an Office document");
    memcpy(zip + 30, "mimetypeapplication/vnd.oasis.open", 34);
    check_kind(zip, sizeof zip, "an OpenDocument file");
    memcpy(tar + 257, "ustar", 5);
    check_kind(tar, sizeof tar, "a tar archive");
    check_kind(zeros, sizeof zeros, "100 of its first 100 bytes are zero");
    check_kind("H\0a\0l\0l\0o\0\n\0", 12, "iconv -f UTF-16LE");
    check_kind("\0\n\0\n", 4, "");
    check_kind("one\0 zero is text\n", 18, "");
    check_kind("PK is not an archive", 20, "");
    check_kind("\xFF\xFEH\0a\0l\0l\0o\0\n\0", 14, "");
    check_kind("", 0, "");
}
