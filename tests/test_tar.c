#include "format/tar.h"

#include <stdlib.h>

#include "test.h"

enum { BLOCK = 512 };

static struct err err;
static struct tar t;
static struct tar_entry e;
static bool has;

/* An archive in the making, read back in pieces of `step` bytes. */
static unsigned char bytes[1 << 17];
static size_t n_bytes, at, step;

static status give(void *from, void *buf, size_t n, size_t *got, struct err *unused)
{
    (void)from;
    (void)unused;
    *got = n < step ? n : step;
    *got = *got < n_bytes - at ? *got : n_bytes - at;
    memcpy(buf, bytes + at, *got);
    at += *got;
    return OK;
}

static void begin(void)
{
    memset(bytes, 0, sizeof bytes);
    n_bytes = at = 0;
    step = 37;
    tar_open(&t, give, NULL, "x.tar");
}

static void sum(unsigned char *h)
{
    unsigned total = 0;

    memset(h + 148, ' ', 8);
    for (size_t i = 0; i < BLOCK; i++)
        total += h[i];
    snprintf((char *)h + 148, 8, "%06o", total);
}

/* A header; the data follows in whole blocks. */
static unsigned char *put(const char *name, char type, const void *data, size_t n)
{
    unsigned char *h = bytes + n_bytes;

    memcpy(h, name, strnlen(name, 100));
    snprintf((char *)h + 124, 12, "%07o", (unsigned)n & 0xFFFFFF);
    h[156] = (unsigned char)type;
    memcpy(h + 257,
           "ustar\0"
           "00",
           8);
    sum(h);
    memcpy(h + BLOCK, data, n);
    n_bytes += BLOCK + (n + BLOCK - 1) / BLOCK * BLOCK;
    return h;
}

static void end(void)
{
    n_bytes += 2 * BLOCK;
}

static void expect_data(const char *want)
{
    char text[4096];
    size_t n = 0, got = 1;

    while (got) {
        CHECK_OK(tar_data(&t, text + n, sizeof text - n, &got, &err), &err);
        n += got;
    }
    text[n] = '\0';
    CHECK_STR(text, want);
}

static void expect_member(const char *path, enum tar_kind kind)
{
    CHECK_OK(tar_next(&t, &e, &has, &err), &err);
    CHECK(has);
    CHECK_STR(e.path, path);
    CHECK(e.kind == kind);
}

static void expect_end(void)
{
    CHECK_OK(tar_next(&t, &e, &has, &err), &err);
    CHECK(!has);
}

TEST(members_come_in_order_with_their_bytes)
{
    begin();
    put("d/", '5', "", 0);
    put("./d/a", '0', "one\ntwo\n", 8);
    put("empty", '0', "", 0);
    put("old", '\0', "three", 5);
    put("d/link", '2', "", 0);
    put("pipe", '6', "", 0);
    end();
    expect_member("d/", TAR_DIR);
    expect_member("d/a", TAR_FILE);
    expect_data("one\ntwo\n");
    expect_member("empty", TAR_FILE);
    expect_data("");
    expect_member("old", TAR_FILE); /* its data is skipped */
    expect_member("d/link", TAR_LINK);
    expect_member("pipe", TAR_OTHER);
    expect_end();
    expect_end();
}

TEST(long_names_come_from_all_three_kinds_of_header)
{
    char name[301];

    memset(name, 'n', 300);
    name[300] = '\0';
    begin();
    put("././@LongLink", 'L', name, 301);
    put("short", '0', "a", 1);
    put("pax", 'x', "17 path=by/pax/n\n10 size=2\n", 27);
    put("short", '0', "bc", 2);
    unsigned char *h = put("name", '0', "d", 1);
    memcpy(h + 345, "pre/fix", 7);
    sum(h);
    put("global", 'g', "9 x=1234\n", 9);
    put("plain", '0', "", 0);
    end();
    expect_member(name, TAR_FILE);
    expect_data("a");
    expect_member("by/pax/n", TAR_FILE);
    expect_data("bc");
    expect_member("pre/fix/name", TAR_FILE);
    expect_data("d");
    expect_member("plain", TAR_FILE);
    expect_end();
}

TEST(a_name_that_leaves_the_directory_is_refused)
{
    static const char *const names[] = {"/etc/passwd", "../x", "a/../../x", "a/.."};

    for (size_t i = 0; i < 4; i++) {
        begin();
        put(names[i], '0', "", 0);
        end();
        CHECK_FAILS(tar_next(&t, &e, &has, &err), &err, ERR_FORMAT, names[i]);
    }
    begin();
    put("a..b/...", '0', "", 0);
    end();
    expect_member("a..b/...", TAR_FILE);
}

TEST(a_cut_archive_is_an_error_wherever_it_was_cut)
{
    char waste[64];

    for (size_t cut = 0; cut < 4 * BLOCK; cut += 61) {
        status s = OK;
        size_t got = 1;
        begin();
        put("a", '0', "0123456789", 10);
        put("b", '0', "", 0);
        end();
        n_bytes = cut < 3 * BLOCK ? cut : 3 * BLOCK + 1; /* without a whole end mark */
        has = true;
        while (s == OK && has) {
            s = tar_next(&t, &e, &has, &err);
            for (got = 1; s == OK && has && got;)
                s = tar_data(&t, waste, sizeof waste, &got, &err);
        }
        CHECK(s == ERR_FORMAT);
    }
}

TEST(what_is_no_header_is_refused)
{
    begin();
    memset(bytes, 'x', 2048);
    n_bytes = 2048;
    CHECK_FAILS(tar_next(&t, &e, &has, &err), &err, ERR_FORMAT, "no tar archive");
    begin();
    put("a", '0', "", 0)[0] ^= 1; /* the sum does not hold */
    end();
    CHECK_FAILS(tar_next(&t, &e, &has, &err), &err, ERR_FORMAT, "no tar archive");
}

TEST(sizes_that_cannot_be_are_refused)
{
    begin();
    unsigned char *h = put("a", '0', "", 0);
    memcpy(h + 124, "99999999999", 11);
    sum(h);
    CHECK_FAILS(tar_next(&t, &e, &has, &err), &err, ERR_FORMAT, "size");
    begin();
    h = put("a", '0', "", 0);
    memset(h + 124, 0xFF, 12);
    sum(h);
    CHECK_FAILS(tar_next(&t, &e, &has, &err), &err, ERR_FORMAT, "size");
    begin();
    h = put("a", '0', "", 0);
    memcpy(h + 124, "\x80\0\0\0\0\x01\0\0\0\0\0\0", 12); /* 2^48 */
    sum(h);
    CHECK_FAILS(tar_next(&t, &e, &has, &err), &err, ERR_FORMAT, "size");
    begin();
    h = put("a", '0', "hello", 5);
    memcpy(h + 124, "\x80\0\0\0\0\0\0\0\0\0\0\x05", 12); /* GNU's binary form */
    sum(h);
    end();
    expect_member("a", TAR_FILE);
    expect_data("hello");
}

TEST(damaged_pax_headers_are_refused)
{
    static const char *const pax[] = {"99 path=x\n", "0 path=x\n", "path=x\n",
                                      "9 path=xy",   "8 path=\n",  "12 size=abc\n"};

    for (size_t i = 0; i < sizeof pax / sizeof *pax; i++) {
        begin();
        put("p", 'x', pax[i], strlen(pax[i]));
        put("a", '0', "", 0);
        end();
        CHECK_FAILS(tar_next(&t, &e, &has, &err), &err, ERR_FORMAT, "pax");
    }
}
