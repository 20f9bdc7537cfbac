/*
 * tile - products of matrices that fit in the cache, inside one thread.
 *
 *   c[m,n] (+)= sum_k a[m,k] b[k,n]
 *
 * The accumulators of a tile of TILE_ROWS x 2 vectors stay in registers; each step of k
 * costs two loads of b and one broadcast of a a row. a may be read along rows or columns
 * (its strides say which), so that transposed products need no copy. The columns of b and
 * c come in multiples of TILE_COLS: callers pad their scratch rows with zeros.
 */
#pragma once

#include <stdbool.h>

#include "device/cpu/cpu.h"

typedef real tile_vec __attribute__((vector_size(32)));
typedef real tile_loose
    __attribute__((vector_size(32), aligned(sizeof(real)), may_alias));

enum { TILE_LANES = 32 / sizeof(real), TILE_COLS = 2 * TILE_LANES, TILE_ROWS = 6 };

#define TILE_INLINE static inline __attribute__((always_inline))

/* n rounded up to whole tiles. */
TILE_INLINE size_t tile_pad(size_t n)
{
    return (n + TILE_COLS - 1) / TILE_COLS * TILE_COLS;
}

struct tile_a {
    const real *at;
    size_t row, col; /* distance between rows and between columns */
};

TILE_INLINE void tile_rows(size_t rows, real *c, size_t ldc, struct tile_a a,
                           const real *b, size_t ldb, size_t K, bool add)
{
    tile_vec acc[TILE_ROWS][2];

#pragma GCC unroll 6
    for (size_t r = 0; r < rows; r++) {
        const tile_loose *from = (const tile_loose *)(c + r * ldc);
        acc[r][0] = acc[r][1] = (tile_vec){0};
        if (add) {
            acc[r][0] = from[0];
            acc[r][1] = from[1];
        }
    }
    for (size_t k = 0; k < K; k++) {
        const tile_loose *bk = (const tile_loose *)(b + k * ldb);
        const tile_vec b0 = bk[0], b1 = bk[1];
#pragma GCC unroll 6
        for (size_t r = 0; r < rows; r++) {
            const real x = a.at[r * a.row + k * a.col];
            acc[r][0] += x * b0;
            acc[r][1] += x * b1;
        }
    }
#pragma GCC unroll 6
    for (size_t r = 0; r < rows; r++) {
        tile_loose *to = (tile_loose *)(c + r * ldc);
        to[0] = acc[r][0];
        to[1] = acc[r][1];
    }
}

/* One column of tiles of at most TILE_ROWS rows. */
TILE_INLINE void tile_some_rows(size_t rows, real *c, size_t ldc, struct tile_a a,
                                const real *b, size_t ldb, size_t K, bool add)
{
    switch (rows) {
    case 1:
        tile_rows(1, c, ldc, a, b, ldb, K, add);
        break;
    case 2:
        tile_rows(2, c, ldc, a, b, ldb, K, add);
        break;
    case 3:
        tile_rows(3, c, ldc, a, b, ldb, K, add);
        break;
    case 4:
        tile_rows(4, c, ldc, a, b, ldb, K, add);
        break;
    case 5:
        tile_rows(5, c, ldc, a, b, ldb, K, add);
        break;
    default:
        tile_rows(6, c, ldc, a, b, ldb, K, add);
    }
}

/* c [M,N] with N a multiple of TILE_COLS; add: onto what is there. */
static inline void tile_multiply(real *c, size_t ldc, struct tile_a a, const real *b,
                                 size_t ldb, size_t M, size_t N, size_t K, bool add)
{
    for (size_t m = 0; m < M; m += TILE_ROWS) {
        const size_t rows = M - m < TILE_ROWS ? M - m : TILE_ROWS;
        const struct tile_a am = {a.at + m * a.row, a.row, a.col};
        for (size_t n = 0; n < N; n += TILE_COLS)
            tile_some_rows(rows, c + m * ldc + n, ldc, am, b + n, ldb, K, add);
    }
}
