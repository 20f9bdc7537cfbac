/*
 * dot - sums of products of bytes, in registers: the tile of multiply_int8.c.
 *
 *   acc[r][n] = sum_k a[r,k] b[k,n],   R rows, P panels of sixteen columns
 *
 * Every version sums exactly in 32 bits. DOT_OFFSET is what is added to the bytes of a
 * before they are stored: VPDPBUSD and the matrix unit multiply unsigned by signed bytes.
 *
 * x86 without dot products of four bytes multiplies numbers of 16 bits and adds them in
 * pairs (PMADDWD). Bytes 0 and 2 of four are such a pair, and 1 and 3: two shifts each
 * give b's. Rows of a are copied before, in this order (dot_widen), because their shifts
 * would be needed again for every panel.
 *
 * One row alone does not pay for the shifts of b. VPMADDUBSW multiplies bytes and adds
 * two products in 16 bits, which overflow at 2 * 255 * 127; with |a| <= 127 and the sign
 * of a moved to b they cannot: 2 * 127 * 127 = 32258 (dot_bytes).
 */
#pragma once

#include "infer/kernel/kernel.h"

typedef int32_t dot_vec __attribute__((vector_size(LANES_BYTES)));
typedef uint32_t dot_bits __attribute__((vector_size(LANES_BYTES)));
typedef int32_t dot_loose
    __attribute__((vector_size(LANES_BYTES), aligned(4), may_alias));

struct dot_sum {
    dot_vec v[LANES_VECS]; /* sixteen columns */
};

/* Sixteen columns of b, four bytes each, or sixteen sums. */
LANES_INLINE struct dot_sum dot_load(const void *from)
{
    struct dot_sum x;

    LANES_UNROLL
    for (int i = 0; i < LANES_VECS; i++)
        x.v[i] = ((const dot_loose *)from)[i];
    return x;
}

LANES_INLINE void dot_store(void *to, struct dot_sum x)
{
    LANES_UNROLL
    for (int i = 0; i < LANES_VECS; i++)
        ((dot_loose *)to)[i] = x.v[i];
}

/* Of each two numbers the larger. */
LANES_INLINE dot_vec dot_larger(dot_vec a, dot_vec b)
{
#if defined(__AVX512F__)
    return (dot_vec)_mm512_max_epi32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (dot_vec)_mm256_max_epi32((__m256i)a, (__m256i)b);
#else
    const dot_vec is_larger = a > b;
    return (a & is_larger) | (b & ~is_larger);
#endif
}

/* DOT_DEEP bytes of a row are four inputs; DOT_ROWS and DOT_PANELS are the whole tile. */

/* The four bytes at a in every lane. */
LANES_INLINE dot_vec dot_spread(const char *a)
{
    int32_t four;

    memcpy(&four, a, sizeof four);
    return (dot_vec){0} + four;
}

/* Four inputs more of R rows, lda bytes apart, and P panels, ldb bytes apart. */
#define DOT_STEP                                                                     \
    LANES_INLINE void dot_step(size_t R, size_t P, struct dot_sum acc[][DOT_PANELS], \
                               const char *a, size_t lda, const int8_t *b, size_t ldb)

#if defined(__AVX512VNNI__)
enum { DOT_ROWS = 6, DOT_PANELS = 4, DOT_DEEP = 4, DOT_OFFSET = 128 };
#define DOT_IS_FOUR 1

/* Four products added to each sum. By name: of the intrinsic, gcc 12 makes a copy of each
 * accumulator in memory. */
LANES_INLINE dot_vec dot_four(dot_vec sum, dot_vec x, dot_vec y)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y));
    return sum;
}

DOT_STEP
{
    dot_vec y[DOT_PANELS];

    LANES_UNROLL
    for (size_t p = 0; p < P; p++)
        y[p] = dot_load(b + p * ldb).v[0];
    LANES_UNROLL
    for (size_t r = 0; r < R; r++) {
        const dot_vec x = dot_spread(a + r * lda);
        LANES_UNROLL
        for (size_t p = 0; p < P; p++)
            acc[r][p].v[0] = dot_four(acc[r][p].v[0], x, y[p]);
    }
}

#elif defined(__SSE2__)
#define DOT_IS_WIDE 1
#if defined(__AVX512BW__)
enum { DOT_ROWS = 8, DOT_PANELS = 2, DOT_DEEP = 8, DOT_OFFSET = 0 };
#elif defined(__AVX2__)
enum { DOT_ROWS = 4, DOT_PANELS = 1, DOT_DEEP = 8, DOT_OFFSET = 0 };
#else
enum { DOT_ROWS = 2, DOT_PANELS = 1, DOT_DEEP = 8, DOT_OFFSET = 0 };
#endif

typedef int16_t dot_half __attribute__((vector_size(LANES_BYTES)));

/* Sums of neighbouring products of 16-bit numbers. */
LANES_INLINE dot_vec dot_pairs(dot_half x, dot_half y)
{
#if defined(__AVX512BW__)
    return (dot_vec)_mm512_madd_epi16((__m512i)x, (__m512i)y);
#elif defined(__AVX2__)
    return (dot_vec)_mm256_madd_epi16((__m256i)x, (__m256i)y);
#else
    return (dot_vec)_mm_madd_epi16((__m128i)x, (__m128i)y);
#endif
}

/* Two vectors of b at a time: with the sums of a tile that is what registers hold. */
DOT_STEP
{
    const size_t n = P * LANES_VECS;

    LANES_UNROLL
    for (size_t first = 0; first < n; first += 2) {
        const size_t n_some = kernel_smaller(2, n - first);
        dot_half low[2], high[2];
        LANES_UNROLL
        for (size_t i = 0; i < n_some; i++) {
            const size_t p = (first + i) / LANES_VECS, v = (first + i) % LANES_VECS;
            const dot_half y = (dot_half)((const dot_loose *)(b + p * ldb))[v];
            low[i] = (y << 8) >> 8;
            high[i] = y >> 8;
        }
        LANES_UNROLL
        for (size_t r = 0; r < R; r++) {
            const dot_half x = (dot_half)dot_spread(a + r * lda);
            const dot_half z = (dot_half)dot_spread(a + r * lda + 4);
            LANES_UNROLL
            for (size_t i = 0; i < n_some; i++)
                acc[r][(first + i) / LANES_VECS].v[(first + i) % LANES_VECS] +=
                    dot_pairs(x, low[i]) + dot_pairs(z, high[i]);
        }
    }
}

#if defined(__AVX2__)
#define DOT_IS_BYTE 1
enum { DOT_BYTE_PANELS = LANES_VECS == 1 ? 4 : 1 };

/* Sums of four products of signed bytes. */
LANES_INLINE dot_vec dot_signed(dot_vec x, dot_vec y)
{
#if defined(__AVX512BW__)
    const __m512i a = (__m512i)x, b = (__m512i)y;
    const __m512i signed_b =
        _mm512_mask_sub_epi8(b, _mm512_movepi8_mask(a), _mm512_setzero_si512(), b);
    const __m512i two = _mm512_maddubs_epi16(_mm512_abs_epi8(a), signed_b);
    return (dot_vec)_mm512_madd_epi16(two, _mm512_set1_epi16(1));
#else
    const __m256i a = (__m256i)x, signed_b = _mm256_sign_epi8((__m256i)y, a);
    const __m256i two = _mm256_maddubs_epi16(_mm256_abs_epi8(a), signed_b);
    return (dot_vec)_mm256_madd_epi16(two, _mm256_set1_epi16(1));
#endif
}

/* Four inputs more of one row, as bytes, and P panels. */
LANES_INLINE void dot_bytes(struct dot_sum acc[], size_t P, const char *a,
                            const int8_t *b, size_t ldb)
{
    const dot_vec x = dot_spread(a);

    LANES_UNROLL
    for (size_t p = 0; p < P; p++) {
        const struct dot_sum y = dot_load(b + p * ldb);
        LANES_UNROLL
        for (int v = 0; v < LANES_VECS; v++)
            acc[p].v[v] += dot_signed(x, y.v[v]);
    }
}
#endif

/* Bytes 0 2 1 3 of every four as numbers of 16 bits; n is a multiple of 16. */
static inline void dot_widen(int16_t *to, const uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        const __m128i x = _mm_loadl_epi64((const __m128i *)(from + i));
        const __m128i wide = _mm_srai_epi16(_mm_unpacklo_epi8(x, x), 8);
        const __m128i half = _mm_shufflelo_epi16(wide, 0xd8);
        _mm_storeu_si128((__m128i *)(to + i), _mm_shufflehi_epi16(half, 0xd8));
    }
}

#elif defined(__ARM_FEATURE_DOTPROD)
enum { DOT_ROWS = 6, DOT_PANELS = 1, DOT_DEEP = 4, DOT_OFFSET = 0 };
#define DOT_IS_FOUR 1

LANES_INLINE dot_vec dot_four(dot_vec sum, dot_vec x, dot_vec y)
{
    return (dot_vec)vdotq_s32((int32x4_t)sum, vreinterpretq_s8_s32((int32x4_t)y),
                              vreinterpretq_s8_s32((int32x4_t)x));
}

DOT_STEP
{
    (void)P, (void)ldb;
    LANES_UNROLL
    for (size_t v = 0; v < LANES_VECS; v++) {
        const dot_vec y = dot_load(b).v[v];
        LANES_UNROLL
        for (size_t r = 0; r < R; r++)
            acc[r][0].v[v] = dot_four(acc[r][0].v[v], dot_spread(a + r * lda), y);
    }
}

#else
enum { DOT_ROWS = 4, DOT_PANELS = 1, DOT_DEEP = 4, DOT_OFFSET = 0 };

DOT_STEP
{
    (void)P, (void)ldb;
    for (size_t r = 0; r < R; r++) {
        int8_t x[4];
        memcpy(x, a + r * lda, sizeof x);
        for (size_t c = 0; c < LANES; c++)
            acc[r][0].v[c / LANES_EACH][c % LANES_EACH] +=
                x[0] * b[4 * c] + x[1] * b[4 * c + 1] + x[2] * b[4 * c + 2] +
                x[3] * b[4 * c + 3];
    }
}
#endif

#if !defined(DOT_IS_WIDE)
#define DOT_IS_WIDE 0
#endif
#if !defined(DOT_IS_BYTE)
#define DOT_IS_BYTE 0
#endif
