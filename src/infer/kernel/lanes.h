/*
 * lanes - sixteen floats at a time, in the same order on every machine.
 *
 * A sum over many numbers is sixteen running sums, number i going to sum i mod 16, which
 * are added at the end as a tree: i and i+8, i and i+4, i and i+2, i and i+1. Wider and
 * narrower registers hold more or fewer of the sixteen; the arithmetic is the same, and
 * these files are compiled without contraction to fused multiply-adds, so that an int8
 * translation has the same bytes with AVX2, AVX-512, on ARM64 and without vectors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
enum { LANES_BYTES = 64 };
#elif defined(__AVX2__)
#include <immintrin.h>
enum { LANES_BYTES = 32 };
#else
enum { LANES_BYTES = 16 };
#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
#endif

#ifndef LANES_CHECKED
#define LANES_INLINE static inline __attribute__((always_inline))
#define LANES_UNROLL _Pragma("GCC unroll 16")
#else /* by a sanitizer: its checks of every unrolled access take long to compile */
#define LANES_INLINE static inline
#define LANES_UNROLL
#endif

typedef float lanes_vec __attribute__((vector_size(LANES_BYTES)));
typedef float lanes_loose
    __attribute__((vector_size(LANES_BYTES), aligned(sizeof(float)), may_alias));

enum { LANES = 16, LANES_VECS = 64 / LANES_BYTES, LANES_EACH = LANES_BYTES / 4 };

struct lanes {
    lanes_vec v[LANES_VECS];
};

LANES_INLINE struct lanes lanes_load(const float *x)
{
    struct lanes a;

    LANES_UNROLL
    for (size_t i = 0; i < LANES_VECS; i++)
        a.v[i] = *(const lanes_loose *)(x + i * LANES_EACH);
    return a;
}

LANES_INLINE void lanes_store(float *x, struct lanes a)
{
    LANES_UNROLL
    for (size_t i = 0; i < LANES_VECS; i++)
        *(lanes_loose *)(x + i * LANES_EACH) = a.v[i];
}

/* The first n of the sixteen, zeros behind them. */
LANES_INLINE struct lanes lanes_load_first(const float *x, size_t n)
{
    float whole[LANES] = {0};

    if (n >= LANES)
        return lanes_load(x);
    memcpy(whole, x, n * sizeof *x);
    return lanes_load(whole);
}

LANES_INLINE void lanes_store_first(float *x, struct lanes a, size_t n)
{
    if (n >= LANES)
        lanes_store(x, a);
    else
        memcpy(x, &a, n * sizeof *x);
}

LANES_INLINE struct lanes lanes_all(float x)
{
    struct lanes a;

    LANES_UNROLL
    for (int i = 0; i < LANES_VECS; i++)
        a.v[i] = (lanes_vec){0} + x;
    return a;
}

#define LANES_OPERATOR(name, op)                                   \
    LANES_INLINE struct lanes name(struct lanes a, struct lanes b) \
    {                                                              \
        LANES_UNROLL                                               \
        for (int i = 0; i < LANES_VECS; i++)                       \
            a.v[i] = a.v[i] op b.v[i];                             \
        return a;                                                  \
    }
LANES_OPERATOR(lanes_add, +)
LANES_OPERATOR(lanes_sub, -)
LANES_OPERATOR(lanes_mul, *)

/* Of each two numbers the larger; b where one of them is not a number. */
LANES_INLINE lanes_vec lanes_larger(lanes_vec a, lanes_vec b)
{
#if defined(__AVX512F__)
    return (lanes_vec)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (lanes_vec)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (lanes_vec)_mm_max_ps((__m128)a, (__m128)b);
#else
    for (int i = 0; i < LANES_EACH; i++)
        b[i] = a[i] > b[i] ? a[i] : b[i];
    return b;
#endif
}

LANES_INLINE struct lanes lanes_max(struct lanes a, struct lanes b)
{
    LANES_UNROLL
    for (int i = 0; i < LANES_VECS; i++)
        a.v[i] = lanes_larger(a.v[i], b.v[i]);
    return a;
}

/* The sixteen in one number, as a tree. */
LANES_INLINE float lanes_sum(struct lanes a)
{
#if defined(__AVX512F__)
    const __m512 x = (__m512)a.v[0];
    const __m256 eight =
        _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
#elif defined(__AVX2__)
    const __m256 eight = _mm256_add_ps((__m256)a.v[0], (__m256)a.v[1]);
#endif
#if defined(__AVX2__)
    const __m128 four =
        _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
#else
    const lanes_vec four = (a.v[0] + a.v[2]) + (a.v[1] + a.v[3]);
    return (four[0] + four[2]) + (four[1] + four[3]);
#endif
}

LANES_INLINE float lanes_top(struct lanes a)
{
#if defined(__AVX512F__)
    const __m512 x = (__m512)a.v[0];
    const __m256 eight =
        _mm256_max_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
#elif defined(__AVX2__)
    const __m256 eight = _mm256_max_ps((__m256)a.v[0], (__m256)a.v[1]);
#endif
#if defined(__AVX2__)
    const __m128 four =
        _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
#else
    const lanes_vec four =
        lanes_larger(lanes_larger(a.v[0], a.v[1]), lanes_larger(a.v[2], a.v[3]));
    const float x = four[0] > four[1] ? four[0] : four[1];
    const float y = four[2] > four[3] ? four[2] : four[3];
    return x > y ? x : y;
#endif
}

/* n rounded up to whole lanes. */
LANES_INLINE size_t lanes_round(size_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

/* The largest of n numbers, which stand in whole lanes; what follows them must be no
 * larger than one of them. */
LANES_INLINE float lanes_top_of(const float *x, size_t n)
{
    struct lanes top = lanes_load(x);

    for (size_t i = LANES; i < n; i += LANES)
        top = lanes_max(lanes_load(x + i), top);
    return lanes_top(top);
}

/* Whether one of n numbers, which fill whole lanes, is larger than x or not a number. */
LANES_INLINE bool lanes_any_above(const float *z, size_t n, float x)
{
#if defined(__AVX512F__)
    __mmask16 above = 0;

    for (size_t i = 0; i < n; i += LANES)
        above |=
            _mm512_cmp_ps_mask(_mm512_loadu_ps(z + i), _mm512_set1_ps(x), _CMP_NLE_UQ);
    return above;
#else
    typedef int32_t ints __attribute__((vector_size(LANES_BYTES)));
    ints below = (ints){0} - 1;

    for (size_t i = 0; i < n; i += LANES_EACH)
        below &= *(const lanes_loose *)(z + i) <= (lanes_vec){0} + x;
    int32_t all = -1;
    for (int i = 0; i < LANES_EACH; i++)
        all &= below[i];
    return !all;
#endif
}

/* The sum of n numbers, which stand in whole lanes and are followed by zeros. */
LANES_INLINE float lanes_sum_of(const float *x, size_t n)
{
    struct lanes sum = lanes_all(0);

    for (size_t i = 0; i < n; i += LANES)
        sum = lanes_add(sum, lanes_load(x + i));
    return lanes_sum(sum);
}

/*
 * exp(x) for x <= 0, as softmax needs it:
 *
 *   exp(x) = 2^n 2^f,   n = round(x / ln 2),  f = x / ln 2 - n
 *
 * Adding 1.5 * 2^23 rounds to n and leaves it in the low bits; 2^f is a polynomial of
 * degree 5 on |f| <= 1/2, exact at 0, with a relative error of 9.1e-8. The product
 * x / ln 2 is rounded once, so that the error grows to 1.1e-6 at x = -20, where the
 * result is 2e-9 of the largest. Below -87 it stays 1.6e-38; a NaN stays one.
 */
LANES_INLINE struct lanes lanes_exp(struct lanes x)
{
    typedef int32_t bits __attribute__((vector_size(LANES_BYTES)));
    const float shift = 12582912.0f;

    LANES_UNROLL
    for (int i = 0; i < LANES_VECS; i++) {
        const lanes_vec least = (lanes_vec){0} - 87.0f;
        const lanes_vec y = lanes_larger(least, x.v[i]) * 1.44269504f;
        const lanes_vec shifted = y + shift;
        const lanes_vec f = y - (shifted - shift);
        lanes_vec p = f * 1.326472731e-03f + 9.671512991e-03f;
        p = p * f + 5.550733581e-02f;
        p = p * f + 2.402224243e-01f;
        p = p * f + 6.931470037e-01f;
        p = p * f + 1.0f;
        x.v[i] = (lanes_vec)((bits)p + ((bits)shifted << 23));
    }
    return x;
}

/* x[0, n) = exp(x - top), and zero up to whole lanes; the sum, added up by lanes. */
LANES_INLINE float lanes_exp_sum(float *x, float top, size_t n)
{
    const struct lanes less = lanes_all(top);
    struct lanes sum = lanes_all(0);
    size_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        const struct lanes e = lanes_exp(lanes_sub(lanes_load(x + i), less));
        lanes_store(x + i, e);
        sum = lanes_add(sum, e);
    }
    if (i < n) {
        lanes_store(x + i, lanes_exp(lanes_sub(lanes_load(x + i), less)));
        for (size_t k = n; k < i + LANES; k++)
            x[k] = 0;
        sum = lanes_add(sum, lanes_load(x + i));
    }
    return lanes_sum(sum);
}
