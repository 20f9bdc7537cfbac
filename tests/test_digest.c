#include "fetch/digest.h"

#include "base/file.h"
#include "test.h"

static struct digest t;
static struct err err;

static void count(const char *text, size_t step)
{
    const size_t n = strlen(text);

    digest_start(&t);
    for (size_t at = 0; at < n; at += step)
        digest_add(&t, text + at, n - at < step ? n - at : step);
}

TEST(a_line_ends_at_lf_and_the_last_may_have_no_end)
{
    count("", 1);
    CHECK(digest_lines(&t) == 0 && t.n_bytes == 0);
    count("a\nb\n", 3);
    CHECK(digest_lines(&t) == 2);
    count("a\nb\nc", 2);
    CHECK(digest_lines(&t) == 3);
    count("\n\n\r\n\xe2\x80\xa8", 1);
    CHECK(digest_lines(&t) == 4);
}

TEST(segments_are_seg_tags_in_pieces_of_any_size)
{
    static const char text[] = "<doc><seg id=1>a < b</seg>\n<SEG>b</SEG>\n"
                               "<segment>c</segment><<seg\n>d</seg><se<seg\t>";

    for (size_t step = 1; step < sizeof text; step++) {
        count(text, step);
        CHECK(t.n_segments == 4);
        CHECK(digest_lines(&t) == 4);
    }
}

TEST(the_hash_of_a_file_is_its_sha256)
{
    CHECK_OK(file_write(test_path("abc"), "abc", 3, &err), &err);
    CHECK_OK(digest_file(&t, test_path("abc"), &err), &err);
    CHECK_STR(t.sha256,
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(t.n_bytes == 3);
    CHECK(digest_file(&t, test_path("none"), &err) == ERR_IO);
}
