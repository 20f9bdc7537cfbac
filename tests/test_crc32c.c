#include "format/crc32c.h"

#include "base/rng.h"
#include "format/varint.h"
#include "test.h"

/* Vectors of RFC 3720, appendix B.4. */
TEST(the_checksum_equals_the_published_vectors)
{
    unsigned char bytes[32] = {0};

    CHECK(crc32c(0, "", 0) == 0);
    CHECK(crc32c(0, "123456789", 9) == 0xe3069283);
    CHECK(crc32c(0, bytes, 32) == 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    CHECK(crc32c(0, bytes, 32) == 0x62a8ab43);
    for (unsigned i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    CHECK(crc32c(0, bytes, 32) == 0x46dd794e);
    for (unsigned i = 0; i < 32; i++)
        bytes[i] = (unsigned char)(31 - i);
    CHECK(crc32c(0, bytes, 32) == 0x113fdb5c);
}

/* One bit at a time, as the polynomial division is defined. */
static uint32_t by_definition(const unsigned char *p, size_t n)
{
    uint32_t r = 0xffffffff;

    for (size_t i = 0; i < n; i++)
        for (int bit = 0; bit < 8; bit++) {
            const uint32_t out = (r ^ (uint32_t)(p[i] >> bit)) & 1;
            r = (r >> 1) ^ (out ? 0x82f63b78 : 0);
        }
    return ~r;
}

TEST(both_versions_agree_with_the_definition_at_any_length_cut_and_alignment)
{
    struct rng r = rng_open(rng_key(test_seed(), "crc"));
    unsigned char bytes[5000];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)rng_u64(&r);
    for (int round = 0; round < 400; round++) {
        const size_t start = rng_below(&r, 17), n = rng_below(&r, round % 2 ? 500 : 4900);
        const size_t cut = rng_below(&r, n + 1);
        const unsigned char *p = bytes + start;
        const uint32_t want = by_definition(p, n);
        CHECK(crc32c_plain(0, p, n) == want);
        CHECK(crc32c(0, p, n) == want);
        CHECK(crc32c(crc32c(0, p, cut), p + cut, n - cut) == want);
        CHECK(crc32c_plain(crc32c_plain(0, p, cut), p + cut, n - cut) == want);
    }
}

/* As readers of TensorFlow take the mask off. */
static uint32_t unmasked(uint32_t masked)
{
    const uint32_t r = masked - 0xa282ead8U;

    return r << 15 | r >> 17;
}

TEST(masking_is_undone_by_unmasking)
{
    struct rng r = rng_open(rng_key(test_seed(), "mask"));

    CHECK(crc32c_mask(0) == 0xa282ead8);
    CHECK(crc32c_mask(0x00008000) == 0xa282ead9);
    for (int i = 0; i < 1000; i++) {
        const uint32_t crc = (uint32_t)rng_u64(&r);
        CHECK(unmasked(crc32c_mask(crc)) == crc);
    }
}

TEST(varints_have_their_known_bytes)
{
    unsigned char out[VARINT_MAX_BYTES];

    CHECK(varint_put(out, 0) == 1 && out[0] == 0);
    CHECK(varint_put(out, 127) == 1 && out[0] == 127);
    CHECK(varint_put(out, 300) == 2 && out[0] == 0xac && out[1] == 0x02);
    CHECK(varint_put(out, UINT32_MAX) == 5 && out[4] == 0x0f);
    CHECK(varint_put(out, UINT64_MAX) == 10 && out[9] == 0x01);
}

TEST(varints_come_back_and_are_refused_when_cut)
{
    struct rng r = rng_open(rng_key(test_seed(), "varint"));

    for (int i = 0; i < 2000; i++) {
        const uint64_t v = rng_u64(&r) >> rng_below(&r, 64);
        unsigned char bytes[VARINT_MAX_BYTES];
        uint64_t back64 = ~v;
        uint32_t back32 = 0;
        const size_t n = varint_put(bytes, v);
        CHECK(varint_get64(bytes, sizeof bytes, &back64) == n && back64 == v);
        for (size_t cut = 0; cut < n; cut++)
            CHECK(varint_get64(bytes, cut, &back64) == 0);
        CHECK(varint_get32(bytes, n, &back32) == (v <= UINT32_MAX ? n : 0));
        CHECK(v > UINT32_MAX || back32 == v);
    }
}

TEST(varints_that_do_not_fit_are_refused)
{
    const unsigned char too_big[] = {0xff, 0xff, 0xff, 0xff, 0xff,
                                     0xff, 0xff, 0xff, 0xff, 0x02};
    const unsigned char endless[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                     0x80, 0x80, 0x80, 0x80, 0x00};
    const unsigned char padded[] = {0x81, 0x00};
    uint64_t v;

    CHECK(varint_get64(padded, sizeof padded, &v) == 0);
    CHECK(varint_get64(too_big, sizeof too_big, &v) == 0);
    CHECK(varint_get64(endless, sizeof endless, &v) == 0);
}
