/*
 * amx_tile - the registers of the matrix unit (AMX), as multiply_amx.c uses them.
 *
 * Tiles 0 to 3 hold sums, 4 and 5 rows of a, 6 and 7 columns of b: sixteen rows of 64
 * bytes each, those of sums and of a cut to as many rows as there are. With b[k] the row
 * that holds four inputs of sixteen columns, AMX_MULTIPLY adds
 *
 *   c[m][n] += sum_{k < 16} sum_{i < 4} a[m][4k+i] b[k][4n+i],   a unsigned, b signed
 *
 * Registers are named by literals. With INFER_AMX_EMULATED they are memory and plain C
 * does what the unit does, so that machines without one run the loops around it.
 *
 * The unit belongs to a thread, between amx_open() and amx_close().
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { AMX_ROWS = 16, AMX_BYTES = 64, AMX_TILES = 8, AMX_FIRST_B = 6 };

/* The intrinsics do not tell the compiler that they read and write memory. */
#define AMX_SETTLE_MEMORY() __asm__ volatile("" ::: "memory")

#if defined(INFER_AMX_EMULATED)

#include <string.h>

struct amx_unit {
    size_t n_rows[AMX_TILES];
    uint8_t tile[AMX_TILES][AMX_ROWS][AMX_BYTES];
};

static inline void amx_open(struct amx_unit *u, size_t n_rows)
{
    *u = (struct amx_unit){0};
    for (size_t i = 0; i < AMX_TILES; i++)
        u->n_rows[i] = i < AMX_FIRST_B ? n_rows : AMX_ROWS;
}

static inline void amx_load(struct amx_unit *u, int t, const void *from, size_t stride)
{
    for (size_t r = 0; r < u->n_rows[t]; r++)
        memcpy(u->tile[t][r], (const char *)from + r * stride, AMX_BYTES);
}

static inline void amx_store(const struct amx_unit *u, int t, void *to, size_t stride)
{
    for (size_t r = 0; r < u->n_rows[t]; r++)
        memcpy((char *)to + r * stride, u->tile[t][r], AMX_BYTES);
}

static inline void amx_multiply(struct amx_unit *u, int c, int a, int b)
{
    for (size_t m = 0; m < u->n_rows[a]; m++)
        for (size_t n = 0; n < AMX_ROWS; n++) {
            int32_t sum;
            memcpy(&sum, &u->tile[c][m][4 * n], sizeof sum);
            for (size_t k = 0; k < AMX_BYTES; k++)
                sum += u->tile[a][m][k] * (int8_t)u->tile[b][k / 4][4 * n + k % 4];
            memcpy(&u->tile[c][m][4 * n], &sum, sizeof sum);
        }
}

#define AMX_ZERO(u, t)               memset((u)->tile[t], 0, sizeof(u)->tile[t])
#define AMX_LOAD(u, t, from, stride) amx_load(u, t, from, stride)
#define AMX_MULTIPLY(u, c, a, b)     amx_multiply(u, c, a, b)
#define AMX_STORE(u, t, to, stride)  amx_store(u, t, to, stride)
#define amx_close(u)                 ((void)(u))

#elif defined(__AMX_INT8__)

#include <immintrin.h>

/* What LDTILECFG reads. */
struct amx_unit {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
};

static inline void amx_open(struct amx_unit *u, size_t n_rows)
{
    *u = (struct amx_unit){.palette = 1};
    for (size_t i = 0; i < AMX_TILES; i++) {
        u->bytes[i] = AMX_BYTES;
        u->rows[i] = (uint8_t)(i < AMX_FIRST_B ? n_rows : AMX_ROWS);
    }
    _tile_loadconfig(u);
}

#define AMX_ZERO(u, t)               _tile_zero(t)
#define AMX_LOAD(u, t, from, stride) _tile_loadd(t, from, stride)
#define AMX_MULTIPLY(u, c, a, b)     _tile_dpbusd(c, a, b)
#define AMX_STORE(u, t, to, stride)  _tile_stored(t, to, stride)
#define amx_close(u)                 _tile_release()

#endif
