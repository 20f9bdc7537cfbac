/*
 * One file, compiled once for each instruction set: CODEC_VARIANT is plain or v3. The
 * loops have no branches and fixed trip counts inside a block, so that compilers
 * vectorise them; gcc -fopt-info-vec names every one of them. Halves are converted by
 * F16C where the variant has it, which rounds as device/half.h does.
 */
#include <string.h>
#include <sys/param.h>
#ifdef __F16C__
#include <immintrin.h>
#endif

#include "device/half.h"
#include "dist/exchange/codec.h"

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)

enum { BLOCK = 128 }; /* elements of one int8 scale */

#define INFINITE   0x7F800000u
#define MAGNITUDE  0x7FFFFFFFu
#define NOT_FINITE half_float(0x7FC00000u)

/* ------------------------------------------------------------ one block */

/* The bits of the largest magnitude; a NaN is larger than everything. */
static uint32_t most(const float *x, size_t n)
{
    uint32_t m = 0;

    for (size_t i = 0; i < n; i++) {
        const uint32_t a = half_bits(x[i]) & MAGNITUDE;
        m = a > m ? a : m;
    }
    return m;
}

/* The power of two that an fp16 block is multiplied by when it arrives. */
static float half_scale(uint32_t m)
{
    const uint32_t exponent = m >> 23; /* 127 + floor(log2) */

    if (m >= INFINITE)
        return NOT_FINITE;
    return half_float((exponent > 15 ? exponent - 14 : 1) << 23);
}

/* 2^k to 2^-k, exactly; 2^127 would give a denormal, whose block has no such maximum. */
static float reciprocal(float power)
{
    return half_float((254u << 23) - half_bits(power));
}

/* What an int8 block's values are multiples of. A block too small for its reciprocal to
 * be a number counts as zero; error feedback keeps it. */
static float byte_scale(uint32_t m)
{
    if (m >= INFINITE)
        return NOT_FINITE;
    return m < half_bits(1e-30f) ? 0 : half_float(m) / 127;
}

#ifdef __F16C__

/* Eight at a time; both return how many elements they have converted. */
static size_t encode_eights(uint16_t *to, const float *x, float up, size_t n)
{
    for (size_t i = 0; i + 8 <= n; i += 8) {
        const __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps(x + i), _mm256_set1_ps(up));
        _mm_storeu_si128((__m128i *)(to + i),
                         _mm256_cvtps_ph(scaled, _MM_FROUND_TO_NEAREST_INT));
    }
    return n / 8 * 8;
}

static size_t decode_eights(float *x, const uint16_t *from, float scale, size_t n)
{
    for (size_t i = 0; i + 8 <= n; i += 8) {
        const __m256 h = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i)));
        _mm256_storeu_ps(x + i, _mm256_mul_ps(h, _mm256_set1_ps(scale)));
    }
    return n / 8 * 8;
}

#else
#define encode_eights(to, x, up, n)      0
#define decode_eights(x, from, scale, n) 0
#endif

/* A block with something not finite arrives as NaN throughout, so nothing else is sent.
 */
static void half_encode(uint16_t *restrict to, float *scale, const float *restrict x,
                        size_t n)
{
    *scale = half_scale(most(x, n));
    if (*scale != *scale) {
        memset(to, 0, n * sizeof *to);
        return;
    }
    const float up = reciprocal(*scale);
    for (size_t i = encode_eights(to, x, up, n); i < n; i++)
        to[i] = half_from(x[i] * up);
}

static void half_decode(float *restrict x, const uint16_t *restrict from, float scale,
                        size_t n)
{
    for (size_t i = decode_eights(x, from, scale, n); i < n; i++)
        x[i] = half_to(from[i]) * scale;
}

/* Adding 1.5 * 2^23 leaves the nearest integer, ties to even, in the low bits. */
static void byte_encode(int8_t *to, float *scale, const float *x, size_t n)
{
    *scale = byte_scale(most(x, n));
    const float up = *scale > 0 ? 1 / *scale : 0;
    for (size_t i = 0; i < n; i++)
        to[i] = (int8_t)(half_bits(x[i] * up + 12582912.0f) - half_bits(12582912.0f));
}

static void byte_decode(float *restrict x, const int8_t *restrict from, float scale,
                        size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)from[i] * scale;
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

static void encode_fp32(void *segment, struct codec_range r, const float *x)
{
    memcpy(payload(segment, r, sizeof *x), x, r.n * sizeof *x);
}

static void decode_fp32(float *x, const void *segment, struct codec_range r)
{
    memcpy(x, payload(segment, r, sizeof *x), r.n * sizeof *x);
}

static void encode_bf16(void *segment, struct codec_range r, const float *restrict x)
{
    uint16_t *restrict to = payload(segment, r, sizeof *to);

    for (size_t i = 0; i < r.n; i++)
        to[i] = half_from_b(x[i]);
}

static void decode_bf16(float *restrict x, const void *segment, struct codec_range r)
{
    const uint16_t *restrict from = payload(segment, r, sizeof *from);

    for (size_t i = 0; i < r.n; i++)
        x[i] = half_to_b(from[i]);
}

static void encode_fp16(void *segment, struct codec_range r, const float *x)
{
    uint16_t *to = payload(segment, r, sizeof *to);
    float *scale = scales(segment, WIRE_FP16, r, WIRE_ALIGN);

    for (size_t at = 0; at < r.n; at += WIRE_ALIGN)
        half_encode(to + at, scale++, x + at, MIN(WIRE_ALIGN, r.n - at));
}

static void decode_fp16(float *x, const void *segment, struct codec_range r)
{
    const uint16_t *from = payload(segment, r, sizeof *from);
    const float *scale = scales(segment, WIRE_FP16, r, WIRE_ALIGN);

    for (size_t at = 0; at < r.n; at += WIRE_ALIGN)
        half_decode(x + at, from + at, *scale++, MIN(WIRE_ALIGN, r.n - at));
}

static void encode_int8(void *segment, struct codec_range r, const float *x)
{
    int8_t *to = payload(segment, r, sizeof *to);
    float *scale = scales(segment, WIRE_INT8, r, BLOCK);

    for (size_t at = 0; at < r.n; at += BLOCK)
        byte_encode(to + at, scale++, x + at, MIN(BLOCK, r.n - at));
}

static void decode_int8(float *x, const void *segment, struct codec_range r)
{
    const int8_t *from = payload(segment, r, sizeof *from);
    const float *scale = scales(segment, WIRE_INT8, r, BLOCK);

    for (size_t at = 0; at < r.n; at += BLOCK)
        byte_decode(x + at, from + at, *scale++, MIN(BLOCK, r.n - at));
}

static void sum(float *restrict x, const float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
}

static void lost(float *to, const float *x, const float *restrict rounded, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float gap = x[i] - rounded[i];
        to[i] = (half_bits(gap) & MAGNITUDE) < INFINITE ? gap : 0;
    }
}

#define TABLE PASTE(codec_loops_, CODEC_VARIANT)

extern const struct codec_loops TABLE;
const struct codec_loops TABLE = {
    .encode = {encode_fp32, encode_bf16, encode_fp16, encode_int8},
    .decode = {decode_fp32, decode_bf16, decode_fp16, decode_int8},
    .sum = sum,
    .lost = lost,
};
