/* Archives: members stored and deflated are unpacked; those that lie are refused. */
#include "format/foreign/zip.h"

#include <stdlib.h>

#include "made_zip.h"
#include "test.h"

static struct err err;

static status open_made(struct zip *z, struct made_zip *made)
{
    made_zip_end(made);
    return zip_open(z, made->bytes.data, made->bytes.len, &err);
}

TEST(members_are_found_and_unpacked)
{
    struct made_zip made = made_zip();
    struct zip z;
    unsigned char to[8];

    made_zip_add(&made, "folder/a.txt", "hello", 5);
    made_zip_add(&made, "folder/", "", 0);
    made_zip_add(&made, "special:model.yml.npy", "", 0);
    CHECK_OK(open_made(&z, &made), &err);
    CHECK(z.n == 2 && !zip_find(&z, "a.txt"));
    CHECK_OK(zip_unpack(&z, zip_find(&z, "folder/a.txt"), to, &err), &err);
    CHECK(memcmp(to, "hello", 5) == 0);
    CHECK_OK(zip_unpack(&z, zip_find(&z, "special:model.yml.npy"), to, &err), &err);
    zip_close(&z);
    made_zip_release(&made);
}

/* So many zeros, deflated, whose entry says `said`. */
static void add_deflated(struct made_zip *made, size_t n, size_t said,
                         unsigned char *copy)
{
    const size_t most = n + 100;
    unsigned char *zeros = calloc(n ? n : 1, 1), *packed = malloc(most);
    z_stream s = {.next_in = zeros,
                  .avail_in = (unsigned)n,
                  .next_out = packed,
                  .avail_out = (unsigned)most};

    CHECK(zeros && packed);
    if (copy)
        memcpy(zeros, copy, n);
    CHECK(deflateInit2(&s, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) == Z_OK);
    CHECK(deflate(&s, Z_FINISH) == Z_STREAM_END);
    made_zip_lie(made, "m", packed, s.total_out,
                 (struct made_zip_lie){.has_n = true, .n = said, .method = 8});
    /* the checksum is of what is packed */
    const uint32_t crc = (uint32_t)crc32(0, zeros, (unsigned)n);
    for (size_t i = 0; i < 4; i++)
        made->list.data[made->list.len - 1 - 46 + 16 + i] = (char)(crc >> (8 * i));
    deflateEnd(&s);
    free(zeros);
    free(packed);
}

TEST(what_is_deflated_comes_out_whole_or_not_at_all)
{
    enum { N = 5000 };
    static unsigned char text[N], to[N + 1];
    struct zip z;

    for (size_t i = 0; i < N; i++)
        text[i] = (unsigned char)(i * i % 251);
    for (int less = -1; less <= 1; less++) {
        struct made_zip made = made_zip();
        add_deflated(&made, N, N - (size_t)less, text);
        CHECK_OK(open_made(&z, &made), &err);
        if (less)
            CHECK_FAILS(zip_unpack(&z, z.member, to, &err), &err, ERR_FORMAT, "damaged");
        else
            CHECK_OK(zip_unpack(&z, z.member, to, &err), &err);
        CHECK(less || memcmp(to, text, N) == 0);
        zip_close(&z);
        made_zip_release(&made);
    }
}

TEST(a_bomb_is_not_unpacked)
{
    struct made_zip made = made_zip();
    struct zip z;

    add_deflated(&made, 1 << 22, 1 << 22, NULL);
    CHECK_FAILS(open_made(&z, &made), &err, ERR_FORMAT, "more than 100 times");
    made_zip_release(&made);
}

TEST(paths_that_lead_elsewhere_are_refused)
{
    static const char *const names[] = {"../x",  "/etc/x",   "a/../../x", "a/..",
                                        "C:\\x", "a\\..\\x", "C:x",       "a\nb",
                                        "\xff",  ""};
    static const char *const good[] = {"a..b", "..a", "a/...", "special:x"};
    struct zip z;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct made_zip made = made_zip();
        made_zip_add(&made, names[i], "", 0);
        CHECK_FAILS(open_made(&z, &made), &err, ERR_FORMAT, "no path inside");
        made_zip_release(&made);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct made_zip made = made_zip();
        made_zip_add(&made, good[i], "", 0);
        CHECK_OK(open_made(&z, &made), &err);
        zip_close(&z);
        made_zip_release(&made);
    }
}

static void refuse(struct made_zip_lie lie, const char *what)
{
    struct made_zip made = made_zip();
    struct zip z;

    made_zip_add(&made, "first", "0123456789", 10);
    made_zip_lie(&made, "second", "0123456789", 10, lie);
    CHECK_FAILS(open_made(&z, &made), &err, ERR_FORMAT, what);
    made_zip_release(&made);
}

TEST(members_that_lie_are_refused)
{
    refuse((struct made_zip_lie){.has_at = true, .at = 0}, "lie over each other");
    refuse((struct made_zip_lie){.has_at = true, .at = 1 << 20}, "damaged");
    refuse((struct made_zip_lie){.has_n = true, .n = 11}, "damaged");
    refuse(
        (struct made_zip_lie){
            .has_n = true, .n = 99999, .has_packed = true, .n_packed = 99999},
        "damaged");
    refuse((struct made_zip_lie){.flags = 1}, "encrypted");
    refuse((struct made_zip_lie){.method = 12}, "method 12");
}

TEST(a_name_stands_once)
{
    struct made_zip made = made_zip();
    struct zip z;

    made_zip_add(&made, "a", "x", 1);
    made_zip_add(&made, "a", "y", 1);
    CHECK_FAILS(open_made(&z, &made), &err, ERR_FORMAT, "a twice");
    made_zip_release(&made);
}

TEST(an_archive_that_was_cut_is_refused_wherever_it_was_cut)
{
    struct made_zip made = made_zip();
    struct zip z;

    made_zip_add(&made, "a", "hello", 5);
    made_zip_end(&made);
    for (size_t n = 0; n < made.bytes.len; n++)
        CHECK_FAILS(zip_open(&z, made.bytes.data, n, &err), &err, ERR_FORMAT,
                    "cut short");
    made.bytes.data[made.bytes.len / 2] ^= 1; /* somewhere in the list */
    made_zip_release(&made);
}
