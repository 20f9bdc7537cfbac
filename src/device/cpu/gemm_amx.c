/*
 * c = alpha op(a) op(b) + beta c on the matrix unit of newer Xeons (AMX), which
 * multiplies bf16 and adds float, 16 times as many elements in a cycle as AVX-512. A
 * float is the sum of three bf16 of 8 bits each, to the last of its 24 bits:
 *
 *   x = h + m + l,    h = bf16(x),    m = bf16(x - h),    l = x - h - m
 *
 *   x x' = l h' + m h' + m m' + h m' + h l' + h h'   (+ m l' + l m' + l l')
 *
 * What is in brackets is below 2^-23 of the product and left out; the six others are
 * exact and are added in this order. So a product is at least as precise as one of floats
 * (tests/test_gemm_precision.c), in 6/16 of its time. A part below 2^-126 becomes 0, and
 * where x is infinite the product is a NaN.
 *
 * Both operands are copied as tiles of such parts, panels of SIDE rows of op(a) or
 * columns of op(b). The smaller one is copied whole and shared; threads take panels of
 * the other from what is left:
 *
 *     for the smaller side of c, SHARED at a time
 *       for the inner dimension, DEPTH at a time       copy it, all threads
 *         for panels of the other side, GROUP at a time      copy them
 *           for each panel of the smaller side, for each of the group: SIDE x SIDE of c
 *
 * An element of c is summed in an order that depends on the inner dimension alone.
 */
#include "device/cpu/cpu.h"

#if !defined(__AMX_BF16__)

bool CPU(gemm_amx)(struct device *d, const struct cpu_gemm *g)
{
    (void)d, (void)g;
    return false;
}

#else

#include <immintrin.h>

#include "device/cpu/tile.h"

enum {
    HALF = 16,                /* rows of a tile, and columns of c in one */
    SIDE = 2 * HALF,          /* rows or columns of a panel */
    STEP = 32,                /* inner dimension of a tile */
    PARTS = 3,                /* h, m, l */
    TILE = 1024,              /* bytes of a tile: 16 x 32 bf16 or 16 x 16 float */
    BLOCK = PARTS * 2 * TILE, /* a panel's bytes for one STEP: [part][half] */
    DEPTH = 512,
    PANEL = DEPTH / STEP * BLOCK,
    GROUP = 4,     /* panels: they stay in the second-level cache */
    SHARED = 1024, /* rows or columns */
    LEAST = 64     /* of each dimension; below, the copies cost more than they gain */
};

_Static_assert(PANEL *(GROUP + SHARED / SIDE) <= DEVICE_SCRATCH_BYTES,
               "the scratch of a thread holds its group and what is shared");

/* One slice of the inner dimension. */
struct sweep {
    const struct cpu_gemm *g;
    const struct device *device;
    size_t k0, depth;
    bool takes_rows; /* of c; op(b) is shared. Otherwise columns, and op(a) is */
    size_t first, n; /* of the shared rows or columns */
    struct pool_queue uncopied, left; /* panels: of the shared side, and the other */
};

/* ---- copies ---- */

TILE_INLINE __m512 widen(__m256i half)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

/* The next part of x and y, which it is taken from. */
TILE_INLINE __m512i take_part(__m512 *x, __m512 *y)
{
    const __m512i part = (__m512i)_mm512_cvtne2ps_pbh(*y, *x);

    *x = _mm512_sub_ps(*x, widen(_mm512_castsi512_si256(part)));
    *y = _mm512_sub_ps(*y, widen(_mm512_extracti64x4_epi64(part, 1)));
    return part;
}

/*
 * One row of three tiles: a row of op(a), STEP elements x y; or two rows of op(b), HALF
 * elements each, whose elements lie in pairs, x0 y0 x1 y1 ...
 */
TILE_INLINE void put_row(char *to, __m512 x, __m512 y, bool in_pairs)
{
    const __m512i pairs =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23,
                         7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);

    TILE_UNROLL
    for (size_t p = 0; p < PARTS; p++) {
        const __m512i part = take_part(&x, &y);
        _mm512_store_si512(to + p * 2 * TILE,
                           in_pairs ? _mm512_permutexvar_epi16(pairs, part) : part);
    }
}

/*
 * The tiles of STEP of the inner dimension, HALF rows of op(a) or columns of op(b). Lines
 * of the chunk that follows are asked for, because short pieces of far rows end before
 * the processor sees where they lead.
 */
TILE_INLINE void copy_half(char *to, const float *from, size_t stride, bool of_b,
                           bool transposed, float alpha, const float *next)
{
    tile_vec x[STEP], square[HALF];

    for (size_t j = 0; transposed && j < 2; j++) {
        tile_load_transposed(square, from + j * HALF * (of_b ? 1 : stride), stride);
        TILE_UNROLL
        for (size_t i = 0; i < HALF; i++)
            x[of_b ? j * HALF + i : 2 * i + j] = square[i];
    }
    TILE_UNROLL_SOME
    for (size_t i = 0; i < HALF; i++) {
        const float *at = from + (of_b ? 2 * i : i) * stride;
        if (!transposed) {
            x[2 * i] = *(const tile_loose *)at;
            x[2 * i + 1] = *(const tile_loose *)(at + (of_b ? stride : HALF));
        }
        __builtin_prefetch(next + i * stride);
        __builtin_prefetch(next + i * stride + HALF);
        put_row(to + i * STEP * 2, (__m512)(x[2 * i] * alpha),
                (__m512)(x[2 * i + 1] * alpha), of_b);
    }
}

/* A chunk at the edge, with zeros beyond. */
static void pad_chunk(float whole[SIDE * STEP], const float *from, size_t stride,
                      size_t rows, size_t cols)
{
    memset(whole, 0, SIDE * STEP * sizeof *whole);
    for (size_t r = 0; r < rows; r++)
        memcpy(whole + r * STEP, from + r * stride, cols * sizeof *whole);
}

/* The panel of n rows of op(a) or columns of op(b), whose slice of the inner dimension
 * begins at from. */
TILE_INLINE void copy_chunks(char *to, const float *from, size_t stride, size_t n,
                             size_t depth, bool of_b, bool transposed, float alpha)
{
    const bool inner_is_rows = of_b != transposed; /* as it is stored */
    const size_t ahead = inner_is_rows ? STEP * stride : STEP;
    float whole[SIDE * STEP];

    for (size_t k = 0; k < depth; k += STEP, to += BLOCK, from += ahead) {
        const size_t deep = cpu_smaller(STEP, depth - k);
        const bool at_edge = n < SIDE || deep < STEP;
        const float *chunk = at_edge ? whole : from;
        const size_t apart = at_edge ? STEP : stride;
        if (at_edge)
            pad_chunk(whole, from, stride, inner_is_rows ? deep : n,
                      inner_is_rows ? n : deep);
        for (size_t i = 0; i < 2; i++)
            copy_half(to + i * TILE, chunk + i * HALF * (inner_is_rows ? 1 : apart),
                      apart, of_b, transposed, alpha, from + ahead + i * HALF * stride);
    }
}

/* The panel that begins with a row of op(a), or a column of op(b). */
static void copy_panel(char *to, const struct sweep *w, bool of_b, size_t first)
{
    const struct cpu_gemm *g = w->g;
    const struct mat m = of_b ? g->b : g->a;
    const bool transposed = of_b ? g->tb : g->ta, inner_is_rows = of_b != transposed;
    const size_t n = cpu_smaller(SIDE, (of_b ? g->c.cols : g->c.rows) - first);
    const float *from =
        inner_is_rows ? cpu_row(m, w->k0) + first : cpu_row(m, first) + w->k0;

    /* four loops, so that each has its directions as constants */
    if (of_b && transposed)
        copy_chunks(to, from, m.stride, n, w->depth, true, true, (float)g->alpha);
    else if (of_b)
        copy_chunks(to, from, m.stride, n, w->depth, true, false, (float)g->alpha);
    else if (transposed)
        copy_chunks(to, from, m.stride, n, w->depth, false, true, 1);
    else
        copy_chunks(to, from, m.stride, n, w->depth, false, false, 1);
}

static char *shared_panels(const struct sweep *w)
{
    return (char *)cpu_scratch(w->device, 0) + GROUP * PANEL;
}

static void copy_shared(void *ctx, size_t part, size_t n_parts)
{
    struct sweep *w = ctx;
    struct pool_range r;

    (void)part;
    while (pool_take(&w->uncopied, 1, n_parts, &r))
        for (size_t i = r.begin; i < r.end; i++)
            copy_panel(shared_panels(w) + i * PANEL, w, w->takes_rows,
                       w->first + i * SIDE);
}

/* ---- products ---- */

/* Tiles 0 to 3 hold c, 4 and 5 a part of two halves of op(a), 6 and 7 one of op(b). */
static void open_tiles(void)
{
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};

    for (size_t i = 0; i < 8; i++) {
        config.bytes[i] = 64;
        config.rows[i] = HALF;
    }
    _tile_loadconfig(&config);
}

/* The intrinsics do not tell the compiler that they read and write memory. */
TILE_INLINE void settle_memory(void)
{
    __asm__ volatile("" ::: "memory");
}

TILE_INLINE void load_a(const char *block, size_t part)
{
    _tile_loadd(4, block + part * 2 * TILE, 64);
    _tile_loadd(5, block + part * 2 * TILE + TILE, 64);
}

TILE_INLINE void load_b(const char *block, size_t part)
{
    _tile_loadd(6, block + part * 2 * TILE, 64);
    _tile_loadd(7, block + part * 2 * TILE + TILE, 64);
}

/* One of the six products, and a few of the lines that are read next: more at once would
 * hold up the tiles. */
TILE_INLINE void multiply_parts(const char **next)
{
    enum { BYTES = BLOCK / GROUP / 6 };

    for (const char *end = *next + BYTES; *next < end; *next += 64)
        __builtin_prefetch(*next, 0, 2);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
}

/* A panel of op(a), one of op(b), and the shared one that comes next: another thread may
 * have copied it, and its lines are in the cache of that one's core. */
struct pair {
    const char *a, *b, *next;
};

/* SIDE x SIDE of c = the product of two panels. */
static void multiply_panels(float *c, size_t ldc, struct pair p, size_t depth)
{
    const size_t stride = ldc * sizeof *c;
    float *below = c + HALF * ldc;

    settle_memory();
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t at = 0; at < cpu_ceil_div(depth, STEP) * BLOCK; at += BLOCK) {
        enum { H, M, L };
        const char *next = p.next + at;

        load_a(p.a + at, L);
        load_b(p.b + at, H);
        multiply_parts(&next);
        load_a(p.a + at, M);
        multiply_parts(&next);
        load_b(p.b + at, M);
        multiply_parts(&next);
        load_a(p.a + at, H);
        multiply_parts(&next);
        load_b(p.b + at, L);
        multiply_parts(&next);
        load_b(p.b + at, H);
        multiply_parts(&next);
    }
    _tile_stored(0, c, stride);
    _tile_stored(1, c + HALF, stride);
    _tile_stored(2, below, stride);
    _tile_stored(3, below + HALF, stride);
    settle_memory();
}

/*
 * The same at the edge of c, or onto what it holds: which is added last, not with every
 * step, so that an error is one of the sum and not of each of its terms.
 */
static void multiply_aside(float *c, size_t ldc, size_t rows, size_t cols, struct pair p,
                           size_t depth, bool add)
{
    float whole[SIDE * SIDE] __attribute__((aligned(64)));

    multiply_panels(whole, SIDE, p, depth);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < cols; i++)
            c[r * ldc + i] = whole[r * SIDE + i] + (add ? c[r * ldc + i] : 0);
}

/* The lines of c come while its products are summed. */
static void fetch(const float *c, size_t ldc, size_t rows)
{
    for (size_t r = 0; r < rows; r++) {
        __builtin_prefetch(c + r * ldc, 1);
        __builtin_prefetch(c + r * ldc + HALF, 1);
    }
}

static void multiply_at(const struct sweep *w, size_t row, size_t col, struct pair p)
{
    const struct mat c = w->g->c;
    const bool add = w->k0 > 0 || w->g->beta != 0;
    const size_t rows = cpu_smaller(SIDE, c.rows - row),
                 cols = cpu_smaller(SIDE, c.cols - col);
    float *at = cpu_row(c, row) + col;

    fetch(at, c.stride, rows);
    if (add || rows < SIDE || cols < SIDE)
        multiply_aside(at, c.stride, rows, cols, p, w->depth, add);
    else
        multiply_panels(at, c.stride, p, w->depth);
}

/* A group of panels, from panel `first` on, with everything that is shared. */
static void multiply_group(const struct sweep *w, char *own, size_t first, size_t n)
{
    const char *shared = shared_panels(w);

    for (size_t i = 0; i < n; i++)
        copy_panel(own + i * PANEL, w, !w->takes_rows, (first + i) * SIDE);
    for (size_t s = 0; s < w->n; s += SIDE, shared += PANEL)
        for (size_t i = 0; i < n; i++) {
            const size_t at = (first + i) * SIDE;
            const char *mine = own + i * PANEL,
                       *next = shared + PANEL + i * BLOCK / GROUP;
            if (w->takes_rows)
                multiply_at(w, at, w->first + s, (struct pair){mine, shared, next});
            else
                multiply_at(w, w->first + s, at, (struct pair){shared, mine, next});
        }
}

static void take_panels(void *ctx, size_t part, size_t n_parts)
{
    struct sweep *w = ctx;
    struct pool_range taken;

    open_tiles();
    while (pool_take(&w->left, 2, n_parts, &taken))
        for (size_t i = taken.begin; i < taken.end; i += GROUP)
            multiply_group(w, cpu_scratch(w->device, part), i,
                           cpu_smaller(GROUP, taken.end - i));
    _tile_release();
}

bool CPU(gemm_amx)(struct device *d, const struct cpu_gemm *g)
{
    const size_t inner = g->ta ? g->a.rows : g->a.cols;
    const bool takes_rows = g->c.cols <= g->c.rows;
    const size_t n_shared = takes_rows ? g->c.cols : g->c.rows;
    const size_t n_taken = takes_rows ? g->c.rows : g->c.cols;

    if (n_shared < LEAST || inner < LEAST)
        return false;
    if (g->beta != 0 && g->beta != 1)
        cpu_scale(g->c, (real)g->beta);
    for (size_t at = 0; at < n_shared; at += SHARED)
        for (size_t k0 = 0; k0 < inner; k0 += DEPTH) {
            struct sweep w = {.g = g,
                              .device = d,
                              .k0 = k0,
                              .depth = cpu_smaller(DEPTH, inner - k0),
                              .takes_rows = takes_rows,
                              .first = at,
                              .n = cpu_smaller(SHARED, n_shared - at),
                              .left = {.n = cpu_ceil_div(n_taken, SIDE)}};
            w.uncopied.n = cpu_ceil_div(w.n, SIDE);
            pool_run(d->pool, copy_shared, &w);
            pool_run(d->pool, take_panels, &w);
        }
    return true;
}

#endif
