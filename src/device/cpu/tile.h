/*
 * tile - the innermost product, in registers.
 *
 *   c[m,n] (+)= sum_k a[m,k] b[k,n]
 *
 * The accumulators of a tile of `rows` x `vecs` vectors stay in registers; each step of k
 * costs `vecs` loads of b and one broadcast of a a row. a may be read along rows or
 * columns (its strides say which), so that transposed products need no copy.
 *
 * gemm.c blocks large products around it. attention.c multiplies matrices that fit in
 * the cache with tile_multiply(); the columns of its b and c come in whole vectors:
 * callers pad their scratch rows with zeros.
 */
#pragma once

#include <stdbool.h>

#include "device/cpu/cpu.h"

/* Bytes of a vector, and the vectors side by side with which six rows of accumulators
 * still fit in the registers. */
#if defined(__AVX512F__)
enum { TILE_BYTES = 64, TILE_VECS = 4 };
#elif defined(__AVX2__)
enum { TILE_BYTES = 32, TILE_VECS = 2 };
#elif defined(__aarch64__)
enum { TILE_BYTES = 16, TILE_VECS = 4 };
#else
enum { TILE_BYTES = 16, TILE_VECS = 2 };
#endif

typedef real tile_vec __attribute__((vector_size(TILE_BYTES)));
typedef real tile_loose
    __attribute__((vector_size(TILE_BYTES), aligned(sizeof(real)), may_alias));

enum { TILE_LANES = TILE_BYTES / sizeof(real), TILE_ROWS = 6 };

/* Integers of the size of a real: where to shuffle from, what a comparison gives. */
typedef __typeof__(_Generic((real)0, float : (int32_t)0, double : (int64_t)0)) tile_lane;
typedef tile_lane tile_lanes __attribute__((vector_size(TILE_BYTES)));

#ifndef TILE_CHECKED
#define TILE_INLINE      static inline __attribute__((always_inline))
#define TILE_UNROLL      _Pragma("GCC unroll 16")
#define TILE_UNROLL_SOME _Pragma("GCC unroll 4")
#else /* by a sanitizer: its checks of every unrolled access take a minute to compile */
#define TILE_INLINE static inline
#define TILE_UNROLL
#define TILE_UNROLL_SOME
#endif

/* n rounded up to whole vectors. */
TILE_INLINE size_t tile_pad(size_t n)
{
    return (n + TILE_LANES - 1) / TILE_LANES * TILE_LANES;
}

struct tile_a {
    const real *at;
    size_t row, col; /* distance between rows and between columns */
};

/*
 * rows and vecs are constants at every call; add: onto what c holds, which is read last,
 * so that no product waits for it. Several steps of k a turn: 20 instead of 23
 * instructions for 12 products, which tells when another machine's thread shares the
 * core, and when the loop lies across lines of the cache.
 */
TILE_INLINE void tile_block(size_t rows, size_t vecs, real *c, size_t ldc,
                            struct tile_a a, const real *b, size_t ldb, size_t K,
                            bool add)
{
    tile_vec acc[TILE_ROWS][4]; /* as much of it as is used stays in registers */

    TILE_UNROLL
    for (size_t r = 0; r < rows; r++)
        TILE_UNROLL
    for (size_t v = 0; v < vecs; v++)
        acc[r][v] = (tile_vec){0};
    TILE_UNROLL_SOME
    for (size_t k = 0; k < K; k++) {
        const tile_loose *bk = (const tile_loose *)(b + k * ldb);
        TILE_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const real x = a.at[r * a.row + k * a.col];
            TILE_UNROLL
            for (size_t v = 0; v < vecs; v++)
                acc[r][v] += x * bk[v];
        }
    }
    TILE_UNROLL
    for (size_t r = 0; r < rows; r++)
        TILE_UNROLL
    for (size_t v = 0; v < vecs; v++)
        ((tile_loose *)(c + r * ldc))[v] =
            add ? acc[r][v] + ((const tile_loose *)(c + r * ldc))[v] : acc[r][v];
}

/* A tile of 1 to `most` rows, and no more than TILE_ROWS. */
TILE_INLINE void tile_rows(size_t rows, size_t most, size_t vecs, real *c, size_t ldc,
                           struct tile_a a, const real *b, size_t ldb, size_t K, bool add)
{
#define TILE_CASE(n)                                    \
    if (n <= most && rows == n) {                       \
        tile_block(n, vecs, c, ldc, a, b, ldb, K, add); \
        return;                                         \
    }
    TILE_CASE(6)
    TILE_CASE(5)
    TILE_CASE(4)
    TILE_CASE(3)
    TILE_CASE(2)
    TILE_CASE(1)
#undef TILE_CASE
}

/* c [M,N] with N whole vectors; add: onto what is there. */
static inline void tile_multiply(real *c, size_t ldc, struct tile_a a, const real *b,
                                 size_t ldb, size_t M, size_t N, size_t K, bool add)
{
    for (size_t m = 0; m < M; m += TILE_ROWS) {
        const size_t rows = M - m < TILE_ROWS ? M - m : TILE_ROWS;
        const struct tile_a am = {a.at + m * a.row, a.row, a.col};
        size_t n = 0;
#define TILE_WIDTH(vecs)                                            \
    for (; vecs <= TILE_VECS && n + (size_t)vecs * TILE_LANES <= N; \
         n += (size_t)vecs * TILE_LANES)                            \
        tile_rows(rows, TILE_ROWS, vecs, c + m * ldc + n, ldc, am, b + n, ldb, K, add);
        TILE_WIDTH(4)
        TILE_WIDTH(2)
        TILE_WIDTH(1)
#undef TILE_WIDTH
    }
}

/* x0 y0 x1 y1 ... of the lower or upper halves of two vectors. */
TILE_INLINE tile_vec tile_interleave(tile_vec x, tile_vec y, int first)
{
#ifdef __clang__ /* sees the permutation by itself */
    tile_vec out;
    TILE_UNROLL
    for (int i = 0; i < TILE_LANES / 2; i++) {
        out[2 * i] = x[first + i];
        out[2 * i + 1] = y[first + i];
    }
    return out;
#else
    tile_lanes index;

    TILE_UNROLL
    for (int i = 0; i < TILE_LANES / 2; i++) {
        index[2 * i] = first + i;
        index[2 * i + 1] = TILE_LANES + first + i;
    }
    return __builtin_shuffle(x, y, index);
#endif
}

/*
 * As many rows as lanes, transposed in registers: interleaving row i with row
 * i + LANES / 2, log2 LANES times, is a transposition.
 */
TILE_INLINE void tile_transpose(tile_vec row[TILE_LANES])
{
    tile_vec next[TILE_LANES];

    TILE_UNROLL
    for (int done = 1; done < TILE_LANES; done *= 2) {
        TILE_UNROLL
        for (size_t i = 0; i < TILE_LANES / 2; i++) {
            next[2 * i] = tile_interleave(row[i], row[i + TILE_LANES / 2], 0);
            next[2 * i + 1] =
                tile_interleave(row[i], row[i + TILE_LANES / 2], TILE_LANES / 2);
        }
        TILE_UNROLL
        for (int i = 0; i < TILE_LANES; i++)
            row[i] = next[i];
    }
}

/* As many rows and columns as lanes, transposed. */
TILE_INLINE void tile_load_transposed(tile_vec row[TILE_LANES], const real *from,
                                      size_t stride)
{
    TILE_UNROLL
    for (size_t i = 0; i < TILE_LANES; i++)
        row[i] = *(const tile_loose *)(from + i * stride);
    tile_transpose(row);
}
