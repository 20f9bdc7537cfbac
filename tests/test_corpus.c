#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "corpus/checksum.h"
#include "corpus/corpus.h"
#include "toy_corpus.h"

/* The corpus of docs/formats/corpus.md: (7 8 9 | 300), (empty | 5 6). */
static void write_small(const char *path)
{
    const int32_t a[] = {7, 8, 9}, b[] = {300}, d[] = {5, 6};
    struct corpus_file_writer w;
    struct err err = {0};

    CHECK_OK(corpus_file_create(&w, path, 1000, 0x1122334455667788, &err), &err);
    CHECK_OK(corpus_file_add(&w, (struct corpus_file_side){a, 3},
                             (struct corpus_file_side){b, 1}, &err),
             &err);
    CHECK_OK(corpus_file_add(&w, (struct corpus_file_side){NULL, 0},
                             (struct corpus_file_side){d, 2}, &err),
             &err);
    CHECK_OK(corpus_file_commit(&w, &err), &err);
}

/* A private, aligned copy of a file that a test may spoil. */
static unsigned char *bytes_of(const char *path, size_t *n)
{
    struct file_map map;
    struct err err = {0};
    unsigned char *copy;

    CHECK_OK(file_map_open(&map, path, &err), &err);
    CHECK_OK(mem_alloc(&copy, map.n_bytes, 1, &err), &err);
    memcpy(copy, map.data, map.n_bytes);
    *n = map.n_bytes;
    file_map_close(&map);
    return copy;
}

/* Make the checksums right again, so that the checks behind them are reached. */
static void sign(unsigned char *data, size_t n)
{
    const uint64_t sum = checksum_of(data, n - 24);
    struct checksum ends = checksum_start();

    memcpy(data + n - 24, &sum, 8);
    checksum_add(&ends, data, CORPUS_FILE_HEAD);
    checksum_add(&ends, data + n - CORPUS_FILE_FOOT, 24);
    const uint64_t value = checksum_value(&ends);
    memcpy(data + n - 16, &value, 8);
}

/* All that can be said against these bytes. */
static status examine(const unsigned char *data, size_t n, struct err *err)
{
    struct corpus c;

    TRY(corpus_file_parse(&c, data, n, err));
    return corpus_file_verify(&c, err);
}

TEST(a_written_corpus_reads_back)
{
    const char *path = test_path("small.bin");
    struct corpus c;
    struct err err = {0};

    write_small(path);
    CHECK_OK(corpus_open(&c, path, &err), &err);
    CHECK(c.n_pairs == 2 && c.vocab == 1000 && c.n_tokens == 6);
    CHECK(c.tokenizer_hash == 0x1122334455667788);
    CHECK(corpus_source(&c, 0).len == 3 && corpus_source(&c, 0).token[2] == 9);
    CHECK(corpus_target(&c, 0).len == 1 && corpus_target(&c, 0).token[0] == 300);
    CHECK(corpus_source(&c, 1).len == 0);
    CHECK(corpus_target(&c, 1).len == 2 && corpus_target(&c, 1).token[1] == 6);
    corpus_close(&c);
    corpus_close(&c);
}

TEST(the_bytes_are_those_of_the_format_page)
{
    static const unsigned char want[] = {
        0x46, 0x45, 0x52, 0x52, 0x59, 0x43, 0x52, 0x50, 0x02, 0x00, 0x00, 0x00,
        0xe8, 0x03, 0x00, 0x00, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07, 0x00, 0x08, 0x00,
        0x09, 0x00, 0x2c, 0x01, 0x05, 0x00, 0x06, 0x00, 0x00, 0x00, 0x00, 0x00,
    };
    const char *path = test_path("small.bin");
    const uint64_t start[] = {0, 3, 4, 4, 6}, counts[] = {2, 6};
    uint64_t got[5];
    size_t n;

    write_small(path);
    unsigned char *data = bytes_of(path, &n);
    CHECK(n == 128);
    CHECK(memcmp(data, want, sizeof want) == 0);
    memcpy(got, data + 48, sizeof got);
    CHECK(memcmp(got, start, sizeof start) == 0);
    CHECK(memcmp(data + 88, counts, sizeof counts) == 0);
    CHECK(memcmp(data + 120, "FERRYEND", 8) == 0);
    memcpy(got, data + 104, 16);
    CHECK(got[0] == 0xf31206cdd05c88ff);
    CHECK(got[1] == 0xb9a4453fa2507376);
    free(data);
}

TEST(a_corpus_cut_at_any_byte_is_refused)
{
    const char *path = test_path("small.bin");
    size_t n;

    write_small(path);
    unsigned char *data = bytes_of(path, &n);
    for (size_t cut = 0; cut < n; cut++) {
        unsigned char *part; /* of exactly this size, for the address sanitizer */
        struct corpus c;
        struct err err = {0};
        CHECK_OK(mem_alloc(&part, cut, 1, &err), &err);
        memcpy(part, data, cut);
        CHECK_FAILS(corpus_file_parse(&c, part, cut, &err), &err, ERR_FORMAT, "corpus");
        free(part);
    }
    free(data);
}

TEST(a_corpus_with_any_flipped_bit_is_refused)
{
    const char *path = test_path("small.bin");
    size_t n;

    write_small(path);
    unsigned char *data = bytes_of(path, &n);
    for (size_t bit = 0; bit < 8 * n; bit++) {
        struct err err = {0};
        data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        CHECK_FAILS(examine(data, n, &err), &err, ERR_FORMAT, "");
        data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    free(data);
}

/* Overwrite 8 bytes of the small corpus, sign it, and expect this sentence. */
static void spoil(size_t at, uint64_t value, size_t n_bytes, const char *message)
{
    const char *path = test_path("small.bin");
    struct err err = {0};
    size_t n;

    write_small(path);
    unsigned char *data = bytes_of(path, &n);
    memcpy(data + at, &value, n_bytes);
    sign(data, n);
    CHECK_FAILS(examine(data, n, &err), &err, ERR_FORMAT, message);
    free(data);
}

TEST(a_signed_but_hostile_corpus_is_refused)
{
    spoil(0, 0, 8, "not a packed corpus");
    spoil(8, 1, 4, "version 1");
    spoil(8, 4, 4, "by a newer ferry (version 4, up to 3 can be read)");
    spoil(8, 3, 4, "2 pairs with 6 tokens do not make a file of 128 bytes");
    spoil(12, 3, 4, "vocabulary of 3 tokens");
    spoil(12, 70000, 4, "vocabulary of 70000 tokens");
    spoil(12, 300, 4, "token 300 in a vocabulary of 300");
    spoil(48, 1, 8, "offsets span");
    spoil(80, 5, 8, "offsets span 5 tokens, the file holds 6");
    spoil(56, 5, 8, "pair 0 ends before it starts");
    spoil(64, UINT64_MAX, 8, "pair 1 ends before it starts");
    spoil(88, 3, 8, "3 pairs with 6 tokens");
    spoil(88, UINT64_MAX, 8, "do not make a file of 128 bytes");
    spoil(88, (uint64_t)1 << 60, 8, "do not make a file of 128 bytes");
    spoil(96, (uint64_t)1 << 63, 8, "do not make a file of 128 bytes");
    /* counts whose bytes are right modulo 2^64 */
    spoil(88, ((uint64_t)1 << 60) + 2, 8, "do not make a file of 128 bytes");
    spoil(96, ((uint64_t)1 << 63) + 6, 8, "do not make a file of 128 bytes");
}

TEST(opening_looks_at_both_ends_and_not_between)
{
    const char *path = test_path("small.bin");
    size_t n;

    write_small(path);
    unsigned char *data = bytes_of(path, &n);
    for (size_t bit = 0; bit < 8 * n; bit++) {
        const size_t at = bit / 8;
        const bool is_end = at < CORPUS_FILE_HEAD || at >= n - CORPUS_FILE_FOOT;
        struct corpus c;
        struct err err = {0};
        data[at] ^= (unsigned char)(1 << bit % 8);
        CHECK((corpus_file_parse(&c, data, n, &err) != OK) == is_end);
        data[at] ^= (unsigned char)(1 << bit % 8);
    }
    free(data);
}

TEST(a_damaged_corpus_gives_no_view_outside_of_it)
{
    const uint64_t bad[] = {UINT64_MAX, 7, (uint64_t)1 << 63};
    const char *path = test_path("small.bin");
    struct corpus c;
    struct err err = {0};
    size_t n;

    write_small(path);
    unsigned char *data = bytes_of(path, &n);
    for (size_t i = 0; i < 3; i++) {
        memcpy(data + 48 + 8, &bad[i], 8); /* where the source of pair 0 ends */
        CHECK_OK(corpus_file_parse(&c, data, n, &err), &err);
        CHECK(corpus_source(&c, 0).len == 0 && corpus_target(&c, 0).len == 0);
        CHECK(!corpus_has_pair(&c, 0) && corpus_has_pair(&c, 1));
        CHECK(corpus_target(&c, 1).len == 2);
    }
    free(data);
}

TEST(a_file_read_back_with_a_flipped_bit_is_refused)
{
    const char *path = test_path("small.bin");
    struct err err = {0};
    size_t n;

    write_small(path);
    CHECK_OK(corpus_file_read_back(path, &err), &err);
    unsigned char *data = bytes_of(path, &n);
    data[40] ^= 1;
    CHECK_OK(file_write(path, data, n, &err), &err);
    CHECK_FAILS(corpus_file_read_back(path, &err), &err, ERR_FORMAT, "damaged");
    free(data);
}

TEST(a_file_that_is_missing_empty_or_foreign_is_named)
{
    const char *empty = test_path("empty.bin"), *text = test_path("text.bin");
    char story[200];
    struct corpus c;
    struct err err = {0};

    memset(story, 'x', sizeof story);
    CHECK_OK(file_write(empty, "", 0, &err), &err);
    CHECK_OK(file_write(text, story, sizeof story, &err), &err);
    CHECK_FAILS(corpus_open(&c, test_path("none.bin"), &err), &err, ERR_IO, "none.bin");
    CHECK_FAILS(corpus_open(&c, empty, &err), &err, ERR_FORMAT, "empty.bin: 0 bytes");
    CHECK_FAILS(corpus_open(&c, text, &err), &err, ERR_FORMAT,
                "text.bin: not a packed corpus");
    CHECK(!c.token && !c.map.data);
    corpus_close(&c);
}

TEST(an_aborted_writer_leaves_nothing)
{
    const char *path = test_path("aborted.bin");
    struct corpus_file_writer w;
    struct err err = {0};
    char tmp[600];

    CHECK_OK(corpus_file_create(&w, path, 1000, 0, &err), &err);
    snprintf(tmp, sizeof tmp, "%s", w.file.tmp);
    corpus_file_abort(&w);
    corpus_file_abort(&w);
    CHECK(!file_exists(path) && !file_exists(tmp));
    CHECK_FAILS(corpus_file_create(&w, path, 65537, 0, &err), &err, ERR_USAGE, "65537");
    corpus_file_abort(&w);
}

TEST(a_checksum_ignores_how_the_bytes_were_cut)
{
    struct rng rng = rng_open(rng_key(test_seed(), "cuts"));
    unsigned char data[1000];

    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)rng_u64(&rng);
    for (int round = 0; round < 200; round++) {
        const size_t n = (size_t)rng_below(&rng, sizeof data);
        struct checksum c = checksum_start();
        for (size_t at = 0, step; at < n; at += step) {
            step = (size_t)rng_below(&rng, 70);
            step = step < n - at ? step : n - at;
            checksum_add(&c, data + at, step);
        }
        CHECK(checksum_value(&c) == checksum_of(data, n));
    }
}

TEST(a_checksum_tells_zeros_from_nothing)
{
    static const unsigned char zeros[65];
    uint64_t seen[66];

    for (size_t n = 0; n <= 65; n++) {
        seen[n] = checksum_of(zeros, n);
        for (size_t i = 0; i < n; i++)
            CHECK(seen[i] != seen[n]);
    }
}

TEST(a_side_is_clipped_with_its_specials)
{
    CHECK(corpus_clip(0, 56) == 3);
    CHECK(corpus_clip(1, 56) == 3);
    CHECK(corpus_clip(53, 56) == 55);
    CHECK(corpus_clip(54, 56) == 56);
    CHECK(corpus_clip(55, 56) == 56);
    CHECK(corpus_clip(1000, 3) == 3);
}
