/*
 * One file, compiled once for each instruction set: CODEC_VARIANT is plain or v3. The
 * loops have no branches and fixed trip counts inside a block, so that compilers turn
 * them into vector code; gcc -fopt-info-vec names every one of them.
 *
 * Rounding to nearest even by integers: adding half of the last kept bit, less one, plus
 * the kept bit itself, carries exactly when the rest is above half, or is half and the
 * kept bit is odd.
 *
 * Halves are made and read by F16C where the variant has it, which rounds in the same
 * way.
 */
#include <string.h>
#ifdef __F16C__
#include <immintrin.h>
#endif

#include "base/rng.h"
#include "dist/exchange/codec.h"

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)

enum { BLOCK = 128 }; /* elements worked on at once; int8's reach */

static uint32_t bits_of(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

static float float_of(uint32_t u)
{
    float x;

    memcpy(&x, &u, sizeof x);
    return x;
}

#define INFINITE  0x7F800000u
#define MAGNITUDE 0x7FFFFFFFu

/* ------------------------------------------------------------ one element */

static uint16_t bf16_of(float x)
{
    const uint32_t u = bits_of(x), magnitude = u & MAGNITUDE;
    const uint32_t rounded = (u + 0x7FFF + ((u >> 16) & 1)) >> 16;
    const uint32_t quiet = (u >> 16) | 0x40; /* a NaN must not round to infinity */

    return (uint16_t)(magnitude > INFINITE ? quiet : rounded);
}

static float of_bf16(uint16_t h)
{
    return float_of((uint32_t)h << 16);
}

/* |x| < 65504. Below 2^-14 the halves are multiples of 2^-24: adding 1/2, whose last bit
 * is worth just that, rounds to them. */
static uint16_t half_of(float x)
{
    const uint32_t u = bits_of(x), sign = (u >> 16) & 0x8000, a = u & MAGNITUDE;
    const uint32_t normal = (a - (112u << 23) + 0xFFF + ((a >> 13) & 1)) >> 13;
    const uint32_t small = bits_of(float_of(a) + 0.5f) - bits_of(0.5f);

    return (uint16_t)(sign | (a < (113u << 23) ? small : normal));
}

static float of_half(uint16_t h)
{
    const uint32_t a = ((uint32_t)h & 0x7FFF) << 13, sign = ((uint32_t)h & 0x8000) << 16;
    const float normal = float_of(a + (112u << 23));
    const float small = float_of(a + (113u << 23)) - float_of(113u << 23);

    return float_of(bits_of(a < (1u << 23) ? small : normal) | sign);
}

/* ------------------------------------------------------------ one block */

/* The bits of the largest magnitude; a NaN is larger than everything. */
static uint32_t most(const float *x, size_t n)
{
    uint32_t m = 0;

    for (size_t i = 0; i < n; i++) {
        const uint32_t a = bits_of(x[i]) & MAGNITUDE;
        m = a > m ? a : m;
    }
    return m;
}

#define NOT_FINITE float_of(0x7FC00000u)

/* The power of two that an fp16 block is multiplied by when it arrives. */
static float half_scale(uint32_t m)
{
    const uint32_t exponent = m >> 23; /* 127 + floor(log2) */

    if (m >= INFINITE)
        return NOT_FINITE;
    return float_of((exponent > 15 ? exponent - 14 : 1) << 23);
}

/* 2^k to 2^-k, exactly; 2^127 would give a denormal, whose block has no such maximum. */
static float reciprocal(float power)
{
    return float_of((254u << 23) - bits_of(power));
}

/* What an int8 block's values are multiples of. A block too small for its reciprocal to
 * be a number counts as zero; error feedback keeps it. */
static float byte_scale(uint32_t m)
{
    if (m >= INFINITE)
        return NOT_FINITE;
    return m < bits_of(1e-30f) ? 0 : float_of(m) / 127;
}

#ifdef __F16C__

enum { AT_ONCE = 8 };

static void put_halves(uint16_t *to, const float *x, float up)
{
    const __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps(x), _mm256_set1_ps(up));

    _mm_storeu_si128((__m128i *)to, _mm256_cvtps_ph(scaled, _MM_FROUND_TO_NEAREST_INT));
}

static __m256 get_halves(const uint16_t *from, float scale)
{
    return _mm256_mul_ps(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from)),
                         _mm256_set1_ps(scale));
}

/* Each returns how many elements it has done. */
static size_t encode_halves(uint16_t *to, const float *x, float up, size_t n)
{
    size_t i = 0;

    for (; i + AT_ONCE <= n; i += AT_ONCE)
        put_halves(to + i, x + i, up);
    return i;
}

static size_t decode_halves(float *x, const uint16_t *from, float scale, size_t n)
{
    size_t i = 0;

    for (; i + AT_ONCE <= n; i += AT_ONCE)
        _mm256_storeu_ps(x + i, get_halves(from + i, scale));
    return i;
}

static size_t add_halves(float *x, const uint16_t *from, float scale, size_t n)
{
    size_t i = 0;

    for (; i + AT_ONCE <= n; i += AT_ONCE)
        _mm256_storeu_ps(
            x + i, _mm256_add_ps(_mm256_loadu_ps(x + i), get_halves(from + i, scale)));
    return i;
}

#else
#define encode_halves(to, x, up, n)      0
#define decode_halves(x, from, scale, n) 0
#define add_halves(x, from, scale, n)    0
#endif

/* A block that arrives as NaN whatever is in it carries nothing else. */
static void half_encode(uint16_t *restrict to, float *scale, const float *restrict x,
                        size_t n)
{
    *scale = half_scale(most(x, n));
    if (*scale != *scale) {
        memset(to, 0, n * sizeof *to);
        return;
    }
    const float up = reciprocal(*scale);
    for (size_t i = encode_halves(to, x, up, n); i < n; i++)
        to[i] = half_of(x[i] * up);
}

static void half_decode(float *restrict x, const uint16_t *restrict from, float scale,
                        size_t n)
{
    for (size_t i = decode_halves(x, from, scale, n); i < n; i++)
        x[i] = of_half(from[i]) * scale;
}

static void half_add(float *restrict x, const uint16_t *restrict from, float scale,
                     size_t n)
{
    for (size_t i = add_halves(x, from, scale, n); i < n; i++)
        x[i] += of_half(from[i]) * scale;
}

/* Adding 1.5 * 2^23 leaves the nearest integer, ties to even, in the low bits. */
static void byte_encode(int8_t *to, float *scale, const float *x, size_t n)
{
    *scale = byte_scale(most(x, n));
    const float up = *scale > 0 ? 1 / *scale : 0;
    for (size_t i = 0; i < n; i++)
        to[i] = (int8_t)(bits_of(x[i] * up + 12582912.0f) - bits_of(12582912.0f));
}

/* ------------------------------------------------------------ ranges */

static void *payload(const void *segment, struct codec_range r, size_t width)
{
    return (char *)segment + r.first * width;
}

static float *scales(const void *segment, enum wire w, struct codec_range r, size_t reach)
{
    return (float *)((char *)segment + wire_scales_at(w, r.n_segment)) + r.first / reach;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void encode_fp32(void *segment, struct codec_range r, const float *x)
{
    memcpy(payload(segment, r, sizeof *x), x, r.n * sizeof *x);
}

static void decode_fp32(float *x, const void *segment, struct codec_range r)
{
    memcpy(x, payload(segment, r, sizeof *x), r.n * sizeof *x);
}

static void sum(float *restrict x, const float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
}

static void add_fp32(float *x, const void *segment, struct codec_range r)
{
    sum(x, payload(segment, r, sizeof *x), r.n);
}

static void encode_bf16(void *segment, struct codec_range r, const float *restrict x)
{
    uint16_t *restrict to = payload(segment, r, sizeof *to);

    for (size_t i = 0; i < r.n; i++)
        to[i] = bf16_of(x[i]);
}

static void decode_bf16(float *restrict x, const void *segment, struct codec_range r)
{
    const uint16_t *restrict from = payload(segment, r, sizeof *from);

    for (size_t i = 0; i < r.n; i++)
        x[i] = of_bf16(from[i]);
}

static void add_bf16(float *restrict x, const void *segment, struct codec_range r)
{
    const uint16_t *restrict from = payload(segment, r, sizeof *from);

    for (size_t i = 0; i < r.n; i++)
        x[i] += of_bf16(from[i]);
}

static void encode_fp16(void *segment, struct codec_range r, const float *x)
{
    uint16_t *to = payload(segment, r, sizeof *to);
    float *scale = scales(segment, WIRE_FP16, r, WIRE_ALIGN);

    for (size_t at = 0; at < r.n; at += WIRE_ALIGN)
        half_encode(to + at, scale++, x + at, least(WIRE_ALIGN, r.n - at));
}

static void decode_fp16(float *restrict x, const void *segment, struct codec_range r)
{
    const uint16_t *restrict from = payload(segment, r, sizeof *from);
    const float *scale = scales(segment, WIRE_FP16, r, WIRE_ALIGN);

    for (size_t at = 0; at < r.n; at += WIRE_ALIGN)
        half_decode(x + at, from + at, *scale++, least(WIRE_ALIGN, r.n - at));
}

static void add_fp16(float *restrict x, const void *segment, struct codec_range r)
{
    const uint16_t *restrict from = payload(segment, r, sizeof *from);
    const float *scale = scales(segment, WIRE_FP16, r, WIRE_ALIGN);

    for (size_t at = 0; at < r.n; at += WIRE_ALIGN)
        half_add(x + at, from + at, *scale++, least(WIRE_ALIGN, r.n - at));
}

static void encode_int8(void *segment, struct codec_range r, const float *x)
{
    int8_t *to = payload(segment, r, sizeof *to);
    float *scale = scales(segment, WIRE_INT8, r, BLOCK);

    for (size_t at = 0; at < r.n; at += BLOCK)
        byte_encode(to + at, scale++, x + at, least(BLOCK, r.n - at));
}

static void decode_int8(float *restrict x, const void *segment, struct codec_range r)
{
    const int8_t *restrict from = payload(segment, r, sizeof *from);
    const float *scale = scales(segment, WIRE_INT8, r, BLOCK);

    for (size_t at = 0; at < r.n; at += BLOCK, scale++)
        for (size_t i = at; i < least(at + BLOCK, r.n); i++)
            x[i] = (float)from[i] * *scale;
}

static void add_int8(float *restrict x, const void *segment, struct codec_range r)
{
    const int8_t *restrict from = payload(segment, r, sizeof *from);
    const float *scale = scales(segment, WIRE_INT8, r, BLOCK);

    for (size_t at = 0; at < r.n; at += BLOCK, scale++)
        for (size_t i = at; i < least(at + BLOCK, r.n); i++)
            x[i] += (float)from[i] * *scale;
}

static void lost(float *to, const float *x, const float *restrict rounded, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float gap = x[i] - rounded[i];
        to[i] = (bits_of(gap) & MAGNITUDE) < INFINITE ? gap : 0;
    }
}

/* ------------------------------------------------------------ hash */

enum { LANES = 32 };

/* Every step is one-to-one in the lane's state and in the element, so one changed
 * element always changes the result. */
static void hash_row(uint32_t lane[LANES], const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t mixed = (lane[i] ^ bits_of(x[i])) * 0x9E3779B1u;
        lane[i] = mixed ^ (mixed >> 15);
    }
}

static uint64_t hash(const float *x, size_t n)
{
    uint32_t lane[LANES];
    uint64_t whole = rng_hash(0x6661726577656C6Cu, n);
    size_t at = 0;

    for (uint32_t i = 0; i < LANES; i++)
        lane[i] = i * 0x85EBCA6Bu + 1;
    for (; at + LANES <= n; at += LANES)
        hash_row(lane, x + at, LANES);
    hash_row(lane, x + at, n - at);
    for (size_t i = 0; i < LANES; i++)
        whole = rng_hash(whole, lane[i]);
    return whole;
}

#define TABLE PASTE(codec_loops_, CODEC_VARIANT)

extern const struct codec_loops TABLE;
const struct codec_loops TABLE = {
    .encode = {encode_fp32, encode_bf16, encode_fp16, encode_int8},
    .decode = {decode_fp32, decode_bf16, decode_fp16, decode_int8},
    .add = {add_fp32, add_bf16, add_fp16, add_int8},
    .sum = sum,
    .lost = lost,
    .hash = hash,
};
