#include <stdlib.h>

#include "base/rng.h"
#include "corpus/checksum.h"
#include "dist/exchange/codec.h"
#include "test.h"

#ifdef __x86_64__
extern const struct codec_loops codec_loops_v3;
#endif

static uint32_t bits(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

static float real_of(uint32_t u)
{
    float x;

    memcpy(&x, &u, sizeof x);
    return x;
}

/* Magnitudes from 1e-12 to 10, as gradients have. */
static void fill(float *x, size_t n, uint64_t seed)
{
    struct rng r = rng_open(rng_key(seed, "codec"));

    for (size_t i = 0; i < n; i++)
        x[i] = (float)(rng_normal(&r) * pow(10, -12 * rng_unit(&r)));
}

static float through(enum wire w, float x)
{
    char segment[64] = {0};
    const struct codec_range one = {1, 0, 1};

    codec_loops()->encode[w](segment, one, &x);
    codec_loops()->decode[w](&x, segment, one);
    return x;
}

TEST(bf16_rounds_to_the_nearest_and_ties_to_even)
{
    CHECK(bits(through(WIRE_BF16, real_of(0x3F808000))) == 0x3F800000); /* tie, even */
    CHECK(bits(through(WIRE_BF16, real_of(0x3F818000))) == 0x3F820000); /* tie, odd */
    CHECK(bits(through(WIRE_BF16, real_of(0x3F808001))) == 0x3F810000);
    CHECK(bits(through(WIRE_BF16, real_of(0x3F807FFF))) == 0x3F800000);
    CHECK(bits(through(WIRE_BF16, -0.0f)) == 0x80000000);
    CHECK(through(WIRE_BF16, INFINITY) == INFINITY);
    CHECK(isnan(through(WIRE_BF16, real_of(0x7F800001)))); /* not infinity */
    CHECK(isnan(through(WIRE_BF16, real_of(0xFFFFFFFF)))); /* not zero */
}

TEST(every_wire_keeps_its_share_of_the_digits)
{
    static const double relative[N_WIRES] = {0, 1.0 / 256, 1.0 / 2048, 0};
    enum { N = 5000 };
    float x[N], y[N];
    struct rng r = rng_open(test_seed());

    for (size_t i = 0; i < N; i++)
        x[i] = (float)rng_normal(&r);
    for (int w = 0; w < N_WIRES; w++) {
        char *segment = calloc(1, wire_segment_bytes((enum wire)w, N));
        const struct codec_range all = {N, 0, N};
        codec_loops()->encode[w](segment, all, x);
        codec_loops()->decode[w](y, segment, all);
        for (size_t i = 0; i < N; i++) {
            float most = 0;
            for (size_t k = i / 128 * 128; k < N && k < i / 128 * 128 + 128; k++)
                most = fmaxf(most, fabsf(x[k]));
            const double limit =
                w == WIRE_INT8 ? most / 127 / 2 * 1.00001
                               : relative[w] * fabs((double)x[i]) + 1e-7 * relative[w];
            CHECK(fabs((double)y[i] - (double)x[i]) <= limit);
        }
        free(segment);
    }
}

TEST(fp16_neither_overflows_nor_loses_small_blocks)
{
    static const float cases[] = {1e30f, 3e38f, 70000, 65504, 1e-20f, 1e-38f, 1e-44f, -5};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double x = cases[i], y = through(WIRE_FP16, cases[i]);
        CHECK(fabs(y - x) <= fabs(x) / 2048 + 1e-45);
    }
    CHECK(through(WIRE_FP16, 0) == 0);
}

TEST(fp16_rounds_small_halves_to_the_nearest_and_ties_to_even)
{
    /* beside 2^14, the scale is 1: multiples of 2^-24, the smallest half */
    float x[4] = {16384, ldexpf(1.5f, -24), ldexpf(2.5f, -24), ldexpf(0.4f, -24)}, y[4];
    char segment[64] = {0};
    const struct codec_range all = {4, 0, 4};

    codec_loops()->encode[WIRE_FP16](segment, all, x);
    codec_loops()->decode[WIRE_FP16](y, segment, all);
    CHECK(y[0] == 16384 && y[1] == ldexpf(2, -24) && y[2] == ldexpf(2, -24) && y[3] == 0);
}

TEST(a_block_with_something_not_finite_arrives_as_such)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    enum { N = 3000 };
    float x[N], y[N];

    for (int w = 0; w < N_WIRES; w++)
        for (size_t k = 0; k < 3; k++) {
            char *segment = calloc(1, wire_segment_bytes((enum wire)w, N));
            const struct codec_range all = {N, 0, N};
            fill(x, N, 5);
            x[1500] = bad[k];
            codec_loops()->encode[w](segment, all, x);
            codec_loops()->decode[w](y, segment, all);
            CHECK(!isfinite(y[1500]));
            CHECK(isfinite(y[100]) && isfinite(y[2900])); /* other blocks are whole */
            free(segment);
        }
}

TEST(a_segment_can_be_made_and_read_in_parts)
{
    enum { N = 4 * WIRE_ALIGN + 77 };
    static float x[N], whole[N], parts[N];

    fill(x, N, test_seed());
    for (int w = 0; w < N_WIRES; w++) {
        const size_t bytes = wire_segment_bytes((enum wire)w, N);
        char *a = calloc(1, bytes), *b = calloc(1, bytes);
        codec_loops()->encode[w](a, (struct codec_range){N, 0, N}, x);
        for (size_t at = 0; at < N; at += WIRE_ALIGN) {
            const size_t n = N - at < WIRE_ALIGN ? N - at : WIRE_ALIGN;
            codec_loops()->encode[w](b, (struct codec_range){N, at, n}, x + at);
        }
        CHECK(memcmp(a, b, bytes) == 0);
        codec_loops()->decode[w](whole, a, (struct codec_range){N, 0, N});
        for (size_t at = 0; at < N; at += 2 * WIRE_ALIGN) {
            const size_t n = N - at < 2 * WIRE_ALIGN ? N - at : 2 * WIRE_ALIGN;
            codec_loops()->decode[w](parts + at, a, (struct codec_range){N, at, n});
        }
        CHECK(memcmp(whole, parts, sizeof whole) == 0);
        free(a);
        free(b);
    }
}

#ifdef __x86_64__
/* Which NaN it is, is the processor's choice and nobody's concern. */
static bool same_but_nan(const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bits(a[i]) != bits(b[i]) && !(isnan(a[i]) && isnan(b[i])))
            return false;
    return true;
}

/* Hosts of different age must agree on every bit. */
TEST(all_instruction_sets_give_the_same_bits)
{
    enum { N = 10000 };
    static float x[N], p[N], v[N];

    if (codec_loops() != &codec_loops_v3)
        test_skip("this processor has no AVX2 to compare with");
    fill(x, N, test_seed());
    for (size_t i = 3000; i < 4500; i++) /* ties and small halves beside 2^14 */
        x[i] = i % 1024 ? ldexpf((float)(i % 4096) + 0.5f, -(int)(i % 37)) : 16384;
    x[6000] = INFINITY;
    x[8000] = -NAN;
    for (int w = 0; w < N_WIRES; w++) {
        const size_t bytes = wire_segment_bytes((enum wire)w, N);
        const struct codec_range all = {N, 0, N};
        char *a = calloc(1, bytes), *b = calloc(1, bytes);
        codec_loops_plain.encode[w](a, all, x);
        codec_loops_v3.encode[w](b, all, x);
        CHECK(memcmp(a, b, bytes) == 0);
        codec_loops_plain.decode[w](p, a, all);
        codec_loops_v3.decode[w](v, a, all);
        CHECK(same_but_nan(p, v, N));
        free(a);
        free(b);
    }
}
#endif

/* What replicas are compared by. */
TEST(the_checksum_sees_every_single_bit)
{
    enum { N = 67 };
    float x[N];

    fill(x, N, test_seed());
    const uint64_t whole = checksum_of(x, N * sizeof *x);
    for (size_t i = 0; i < N; i++)
        for (int bit = 0; bit < 32; bit++) {
            const float kept = x[i];
            x[i] = real_of(bits(x[i]) ^ 1u << bit);
            CHECK(checksum_of(x, N * sizeof *x) != whole);
            x[i] = kept;
        }
    CHECK(checksum_of(x, N * sizeof *x) == whole);
    CHECK(checksum_of(x, (N - 1) * sizeof *x) != whole);
    const float kept = x[0];
    x[0] = x[32]; /* the same lane */
    x[32] = kept;
    CHECK(checksum_of(x, N * sizeof *x) != whole);
}

TEST(what_rounding_loses_is_what_is_missing)
{
    const float x[4] = {1, 2, NAN, INFINITY}, rounded[4] = {0.5f, 2.25f, NAN, INFINITY};
    float lost[4];

    codec_loops()->lost(lost, x, rounded, 4);
    CHECK(lost[0] == 0.5f && lost[1] == -0.25f);
    CHECK(lost[2] == 0 && lost[3] == 0); /* or one bad update would poison all others */
}
