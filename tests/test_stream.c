#include <lzma.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "bytes_fd.h"
#include "format/stream.h"
#include "test.h"

enum { ROOM = 1 << 21 };

static unsigned char packed[ROOM];

static size_t pack_gz(unsigned char *out, const void *text, size_t n)
{
    z_stream z = {0};

    CHECK(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    z.next_in = (Bytef *)(uintptr_t)text;
    z.avail_in = (uInt)n;
    z.next_out = out;
    z.avail_out = ROOM;
    CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
    const size_t made = ROOM - z.avail_out;
    deflateEnd(&z);
    return made;
}

static size_t pack_xz(unsigned char *out, const void *text, size_t n)
{
    size_t at = 0;

    CHECK(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, NULL, text, n, out, &at, ROOM) ==
          LZMA_OK);
    return at;
}

static size_t pack_zst(unsigned char *out, const void *text, size_t n)
{
    const size_t made = ZSTD_compress(out, ROOM, text, n, 3);

    CHECK(!ZSTD_isError(made));
    return made;
}

typedef size_t pack_fn(unsigned char *out, const void *text, size_t n);
static pack_fn *const packers[] = {pack_gz, pack_xz, pack_zst};

/* Everything that a stream gives, in reads of `step` bytes. */
static status read_all(struct stream *s, struct str *out, size_t step, struct err *err)
{
    static char block[1 << 16];
    size_t got = 1;

    str_reset(out);
    while (got) {
        TRY(stream_read(s, block, step, &got, err));
        str_add(out, block, got);
    }
    return OK;
}

static status unpack(const void *bytes, size_t n, struct str *out, size_t step,
                     struct err *err)
{
    struct stream s;

    const int fd = bytes_fd(bytes, n);
    const status opened = stream_open_fd(&s, fd, "input", err);
    close(fd);
    TRY(opened);
    const status result = read_all(&s, out, step, err);
    stream_close(&s);
    return result;
}

static void fill(char *text, size_t n)
{
    struct rng rng = rng_open(rng_key(test_seed(), "text"));

    for (size_t i = 0; i < n; i++)
        text[i] = (char)('a' + rng_below(&rng, 6));
}

TEST(every_packer_is_recognised_and_undone)
{
    const size_t sizes[] = {0, 1, 100, 300000};
    struct str out = str_new(0);
    struct err err = {0};
    char *text;

    CHECK_OK(mem_alloc(&text, 300000, 1, &err), &err);
    fill(text, 300000);
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < 4; i++)
            for (size_t step = 1; step <= 65536; step *= 256) {
                if (step == 1 && sizes[i] > 1000)
                    continue;
                const size_t n = packers[k](packed, text, sizes[i]);
                CHECK_OK(unpack(packed, n, &out, step, &err), &err);
                CHECK(out.len == sizes[i] &&
                      (!out.len || memcmp(out.data, text, out.len) == 0));
            }
    free(text);
    str_release(&out);
}

TEST(members_that_follow_each_other_are_one_text)
{
    struct str out = str_new(0);
    struct err err = {0};

    for (size_t k = 0; k < 3; k++) {
        size_t n = packers[k](packed, "one ", 4);
        n += packers[k](packed + n, "", 0);
        n += packers[k](packed + n, "two", 3);
        CHECK_OK(unpack(packed, n, &out, 100, &err), &err);
        CHECK_STR(str_text(&out), "one two");
    }
    size_t n = pack_gz(packed, "one", 3); /* as on a tape */
    memset(packed + n, 0, 512);
    CHECK_OK(unpack(packed, n + 512, &out, 100, &err), &err);
    CHECK_STR(str_text(&out), "one");
    str_release(&out);
}

TEST(a_packed_file_cut_anywhere_is_named)
{
    struct str out = str_new(0);
    struct err err = {0};
    char text[3000];

    fill(text, sizeof text);
    for (size_t k = 0; k < 3; k++) {
        const size_t n = packers[k](packed, text, sizeof text);
        for (size_t cut = 6; cut < n; cut++)
            CHECK_FAILS(unpack(packed, cut, &out, 500, &err), &err, ERR_FORMAT,
                        "input: the ");
    }
    str_release(&out);
}

TEST(damage_and_what_follows_are_refused)
{
    struct str out = str_new(0);
    struct err err = {0};
    char text[3000];

    fill(text, sizeof text);
    for (size_t k = 0; k < 3; k++) {
        const size_t n = packers[k](packed, text, sizeof text);
        if (k < 2) { /* our zstd frames carry no checksum */
            packed[n / 2] ^= 0x10;
            CHECK_FAILS(unpack(packed, n, &out, 500, &err), &err, ERR_FORMAT, "damaged");
            packed[n / 2] ^= 0x10;
        }
        memcpy(packed + n, "trailing", 8);
        CHECK_FAILS(unpack(packed, n + 8, &out, 500, &err), &err, ERR_FORMAT, "input");
    }
    str_release(&out);
}

TEST(memory_does_not_follow_the_size_of_what_is_unpacked)
{
    struct str bomb = str_new(0), out = str_new(0);
    struct stream s;
    struct err err = {0};
    static char zeros[1 << 20], block[1 << 16];
    size_t got = 1;
    const size_t n = pack_gz(packed, zeros, sizeof zeros);

    for (int i = 0; i < 64; i++)
        str_add(&bomb, packed, n);
    const int fd = bytes_fd(bomb.data, bomb.len);
    CHECK_OK(stream_open_fd(&s, fd, "bomb", &err), &err);
    close(fd);
    while (got)
        CHECK_OK(stream_read(&s, block, sizeof block, &got, &err), &err);
    CHECK(s.n_out == 64u << 20 && s.n_in == bomb.len);
    stream_close(&s);
    str_release(&bomb);
    str_release(&out);
}

TEST(files_are_read_as_bytes_are)
{
    const char *path = test_path("text.gz"), *plain = test_path("plain.gz");
    struct str out = str_new(0);
    struct stream s;
    struct err err = {0};
    const size_t n = pack_gz(packed, "from a file\n", 12);

    CHECK_OK(file_write(path, packed, n, &err), &err);
    CHECK_OK(file_write(plain, "not packed", 10, &err), &err);
    CHECK_OK(stream_open(&s, path, path, &err), &err);
    CHECK(s.kind == STREAM_GZ);
    CHECK_OK(read_all(&s, &out, 7, &err), &err);
    CHECK_STR(str_text(&out), "from a file\n");
    stream_close(&s);
    CHECK_OK(stream_open(&s, plain, plain, &err), &err);
    CHECK(s.kind == STREAM_PLAIN);
    CHECK_OK(read_all(&s, &out, 7, &err), &err);
    CHECK_STR(str_text(&out), "not packed");
    stream_close(&s);
    stream_close(&s);
    CHECK_FAILS(stream_open(&s, test_path("none"), "none", &err), &err, ERR_IO,
                "none: No such file");
    CHECK_FAILS(stream_open(&s, test_dir(), "dir", &err), &err, ERR_IO,
                "dir: not a regular file");
    str_release(&out);
}

TEST(a_name_loses_the_end_of_its_compression_and_no_more)
{
    static const struct {
        const char *name;
        size_t n;
    } cases[] = {{"a.en.gz", 4}, {"a.xz", 1}, {"a.ZST", 1}, {"a.gz.xz", 4},
                 {".gz", 3},     {"a.en", 4}, {"gz", 2},    {"", 0}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(stream_stem(cases[i].name, strlen(cases[i].name)) == cases[i].n);
    CHECK(stream_stem("a.gz,b.gz", 4) == 1);
}
