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
 * the cache with tile_multiply(); the columns of its b and c come in multiples of
 * TILE_COLS: callers pad their scratch rows with zeros.
 */
#pragma once

#include <stdbool.h>

#include "device/cpu/cpu.h"

/* Accumulators fill the registers: 32 with AVX-512 (and NEON), 16 otherwise. */
#if defined(__AVX512F__)
enum { TILE_BYTES = 64, TILE_ROWS = 12, TILE_VECS = 1 };
#elif defined(__AVX2__)
enum { TILE_BYTES = 32, TILE_ROWS = 6, TILE_VECS = 2 };
#else
enum { TILE_BYTES = 16, TILE_ROWS = 6, TILE_VECS = 2 };
#endif

typedef real tile_vec __attribute__((vector_size(TILE_BYTES)));
typedef real tile_loose
    __attribute__((vector_size(TILE_BYTES), aligned(sizeof(real)), may_alias));

enum { TILE_LANES = TILE_BYTES / sizeof(real), TILE_COLS = TILE_VECS * TILE_LANES };

#define TILE_INLINE static inline __attribute__((always_inline))
#define TILE_UNROLL _Pragma("GCC unroll 16")

/* n rounded up to whole tiles. */
TILE_INLINE size_t tile_pad(size_t n)
{
    return (n + TILE_COLS - 1) / TILE_COLS * TILE_COLS;
}

struct tile_a {
    const real *at;
    size_t row, col; /* distance between rows and between columns */
};

/* rows and vecs are constants at every call; add: onto what c holds. */
TILE_INLINE void tile_block(size_t rows, size_t vecs, real *c, size_t ldc,
                            struct tile_a a, const real *b, size_t ldb, size_t K,
                            bool add)
{
    tile_vec acc[12][4]; /* as much of it as is used stays in registers */

    TILE_UNROLL
    for (size_t r = 0; r < rows; r++)
        TILE_UNROLL
    for (size_t v = 0; v < vecs; v++)
        acc[r][v] =
            add ? (tile_vec)((const tile_loose *)(c + r * ldc))[v] : (tile_vec){0};
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
        ((tile_loose *)(c + r * ldc))[v] = acc[r][v];
}

/* A tile of 1 to `most` rows. */
TILE_INLINE void tile_rows(size_t rows, size_t most, size_t vecs, real *c, size_t ldc,
                           struct tile_a a, const real *b, size_t ldb, size_t K, bool add)
{
#define TILE_CASE(n)                                    \
    if (n <= most && rows == n) {                       \
        tile_block(n, vecs, c, ldc, a, b, ldb, K, add); \
        return;                                         \
    }
    TILE_CASE(12) /* not reached unless `most` allows it */
    TILE_CASE(11)
    TILE_CASE(10)
    TILE_CASE(9)
    TILE_CASE(8)
    TILE_CASE(7)
    TILE_CASE(6)
    TILE_CASE(5)
    TILE_CASE(4)
    TILE_CASE(3)
    TILE_CASE(2)
    TILE_CASE(1)
#undef TILE_CASE
}

/* c [M,N] with N a multiple of TILE_COLS; add: onto what is there. */
static inline void tile_multiply(real *c, size_t ldc, struct tile_a a, const real *b,
                                 size_t ldb, size_t M, size_t N, size_t K, bool add)
{
    for (size_t m = 0; m < M; m += TILE_ROWS) {
        const size_t rows = M - m < TILE_ROWS ? M - m : TILE_ROWS;
        const struct tile_a am = {a.at + m * a.row, a.row, a.col};
        for (size_t n = 0; n < N; n += TILE_COLS)
            tile_rows(rows, TILE_ROWS, TILE_VECS, c + m * ldc + n, ldc, am, b + n, ldb, K,
                      add);
    }
}
