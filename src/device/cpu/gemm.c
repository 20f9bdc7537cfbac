/*
 * c = alpha op(a) op(b) + beta c.
 *
 * Every thread computes a rectangle of c. Inside it, blocks of op(b) of DEPTH x WIDTH are
 * copied into panels of COLS columns that stay in the second-level cache, and each tile
 * of ROWS x COLS of c is multiplied in registers (tile.h). op(a) is read where it lies
 * when it is not transposed; otherwise it is copied too, in panels of ROWS, because its
 * columns would fall on few sets of the cache. Few rows of c are not worth the copies.
 *
 *     for rows of c, HEIGHT at a time       (all of them when op(a) is read in place)
 *       for the inner dimension, DEPTH at a time      copy op(a)
 *         for columns of c, WIDTH at a time           copy op(b)
 *           for tiles of ROWS x COLS                  multiply
 *
 * An element of c is summed in an order that depends on the inner dimension alone, so
 * the result does not depend on the number of threads. docs/performance.md has what this
 * gains over a BLAS.
 */
#include "device/cpu/cpu.h"
#include "device/cpu/tile.h"

/* As many accumulators as there are registers: 32 on the first two, 16 elsewhere. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { ROWS = 6, VECS = 4 };
#else
enum { ROWS = 4, VECS = 3 };
#endif

enum {
    COLS = VECS * TILE_LANES,
    DEPTH = 512,
    WIDTH = 4 * COLS,
    HEIGHT = 1024 / ROWS * ROWS,
    STRIP = 16 * ROWS,           /* columns of a copied at a time: whole cache lines */
    A_PANEL = DEPTH * ROWS + 16, /* 16: panels must not share sets of the cache */
    FEW_ROWS = 4 * ROWS,
    NARROW = 256, /* reals of a row of a */
    SMALL = 64 * 64 * 64,
    COPY_COST = 32 /* a copied element costs as much as so many multiplications */
};

_Static_assert((DEPTH * WIDTH + HEIGHT / ROWS * A_PANEL) * sizeof(real) <=
                   DEVICE_SCRATCH_BYTES,
               "the scratch of a thread holds both copies");

struct job {
    const struct device *device;
    struct mat c, a, b;
    bool ta, tb;
    size_t inner;
    real alpha, beta;
    size_t n_across; /* threads side by side along a row of c */
};

/* Rows [m0, m1) and columns [n0, n1) of c. */
struct area {
    size_t m0, m1, n0, n1;
};

/* A part of the inner dimension; add: onto what c holds. */
struct slice {
    size_t k0, depth;
    bool add;
};

/* Where a thread keeps its copies. */
struct copies {
    real *a; /* [HEIGHT / ROWS] panels [depth][ROWS] */
    real *b; /* [WIDTH / COLS] panels [depth][COLS] */
};

static size_t smaller(size_t x, size_t y)
{
    return x < y ? x : y;
}

/* ---- copies ---- */

/* n <= COLS elements, and zeros up to COLS. */
TILE_INLINE void copy_cols(real *restrict to, const real *restrict from, size_t n)
{
    if (n == COLS) {
        TILE_UNROLL
        for (size_t v = 0; v < VECS; v++)
            ((tile_loose *)to)[v] = ((const tile_loose *)from)[v];
        return;
    }
    for (size_t c = 0; c < n; c++)
        to[c] = from[c];
    for (size_t c = n; c < COLS; c++)
        to[c] = 0;
}

/* x0 y0 x1 y1 ... of the lower or upper halves of two vectors. */
TILE_INLINE tile_vec interleave(tile_vec x, tile_vec y, int first)
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
    typedef __typeof__(_Generic((real)0, float : (int32_t)0, double : (int64_t)0)) lane;
    lane index __attribute__((vector_size(TILE_BYTES)));

    TILE_UNROLL
    for (int i = 0; i < TILE_LANES / 2; i++) {
        index[2 * i] = first + i;
        index[2 * i + 1] = TILE_LANES + first + i;
    }
    return __builtin_shuffle(x, y, index);
#endif
}

/*
 * TILE_LANES rows and columns transposed in registers: interleaving row i with row
 * i + LANES / 2, log2 LANES times, is a transposition.
 */
static void transpose_square(real *to, const real *from, size_t stride)
{
    tile_vec row[TILE_LANES], next[TILE_LANES];

    TILE_UNROLL
    for (int i = 0; i < TILE_LANES; i++)
        row[i] = *(const tile_loose *)(from + (size_t)i * stride);
    TILE_UNROLL
    for (int done = 1; done < TILE_LANES; done *= 2) {
        TILE_UNROLL
        for (int i = 0; i < TILE_LANES / 2; i++) {
            next[2 * i] = interleave(row[i], row[i + TILE_LANES / 2], 0);
            next[2 * i + 1] = interleave(row[i], row[i + TILE_LANES / 2], TILE_LANES / 2);
        }
        TILE_UNROLL
        for (int i = 0; i < TILE_LANES; i++)
            row[i] = next[i];
    }
    TILE_UNROLL
    for (int i = 0; i < TILE_LANES; i++)
        *(tile_loose *)(to + (size_t)i * COLS) = row[i];
}

/* One panel of a transposed b: n <= COLS of its rows become columns. */
static void copy_transposed(real *to, const real *b, size_t stride, size_t depth,
                            size_t n)
{
    size_t k = 0;

    if (n == COLS)
        for (; k + TILE_LANES <= depth; k += TILE_LANES)
            for (size_t c = 0; c < COLS; c += TILE_LANES)
                transpose_square(to + k * COLS + c, b + c * stride + k, stride);
    for (; k < depth; k++) {
        for (size_t c = 0; c < n; c++)
            to[k * COLS + c] = b[c * stride + k];
        for (size_t c = n; c < COLS; c++)
            to[k * COLS + c] = 0;
    }
}

/* The slice's rows of alpha op(b), columns of the area. */
static void copy_b(real *to, const struct job *j, const struct slice *s, struct area at)
{
    const size_t stride = j->b.stride, n_panels = (at.n1 - at.n0 + COLS - 1) / COLS;

    if (j->tb)
        for (size_t n = at.n0; n < at.n1; n += COLS)
            copy_transposed(to + (n - at.n0) * s->depth, cpu_row(j->b, n) + s->k0, stride,
                            s->depth, smaller(COLS, at.n1 - n));
    else
        for (size_t k = 0; k < s->depth; k++)
            for (size_t n = at.n0; n < at.n1; n += COLS)
                copy_cols(to + (n - at.n0) * s->depth + k * COLS,
                          cpu_row(j->b, s->k0 + k) + n, smaller(COLS, at.n1 - n));
    if (j->alpha != 1)
        for (size_t i = 0; i < n_panels * COLS * s->depth; i++)
            to[i] *= j->alpha;
}

/* The slice's rows of a, which is transposed: columns of the area, as panels. */
static void copy_a(real *to, const struct job *j, const struct slice *s, struct area at)
{
    for (size_t strip = at.m0; strip < at.m1; strip += STRIP)
        for (size_t k = 0; k < s->depth; k++) {
            const real *from = cpu_row(j->a, s->k0 + k);
            for (size_t m = strip; m < smaller(at.m1, strip + STRIP); m += ROWS) {
                real *panel = to + (m - at.m0) / ROWS * A_PANEL + k * ROWS;
                if (m + ROWS <= at.m1)
                    memcpy(panel, from + m, ROWS * sizeof *panel);
                else
                    memcpy(panel, from + m, (at.m1 - m) * sizeof *panel);
            }
        }
}

/* ---- products ---- */

/* A tile at the right edge of c goes through a whole one. */
TILE_INLINE void edge_tile(real *c, size_t ldc, size_t rows, size_t cols, struct tile_a a,
                           const real *b, size_t depth, bool add)
{
    real whole[ROWS * COLS];

    tile_rows(rows, ROWS, VECS, whole, COLS, a, b, COLS, depth, false);
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < cols; k++)
            c[r * ldc + k] = whole[r * COLS + k] + (add ? c[r * ldc + k] : 0);
}

/* Tiles side by side: columns [n0, n1) of c, whose copied panels of op(b) begin at b. */
TILE_INLINE void tiles(real *c, size_t ldc, size_t rows, size_t n0, size_t n1,
                       struct tile_a a, const real *b, size_t depth, bool add)
{
    for (size_t n = n0; n < n1; n += COLS) {
        const real *panel = b + (n - n0) * depth;
        if (n + COLS <= n1)
            tile_rows(rows, ROWS, VECS, c + n, ldc, a, panel, COLS, depth, add);
        else
            edge_tile(c + n, ldc, rows, n1 - n, a, panel, depth, add);
    }
}

/* Three loops, so that each has the strides of a as constants. */
static void rows_in_place(const struct job *j, struct area at, const struct slice *s,
                          const real *b)
{
    for (size_t m = at.m0; m < at.m1; m += ROWS) {
        const struct tile_a a = {cpu_row(j->a, m) + s->k0, j->a.stride, 1};
        tiles(cpu_row(j->c, m), j->c.stride, smaller(ROWS, at.m1 - m), at.n0, at.n1, a, b,
              s->depth, s->add);
    }
}

static void rows_copied(const struct job *j, struct area at, const struct slice *s,
                        const real *panels, const real *b)
{
    for (size_t m = at.m0; m < at.m1; m += ROWS) {
        const struct tile_a a = {panels + (m - at.m0) / ROWS * A_PANEL, 1, ROWS};
        tiles(cpu_row(j->c, m), j->c.stride, smaller(ROWS, at.m1 - m), at.n0, at.n1, a, b,
              s->depth, s->add);
    }
}

static void columns_in_place(const struct job *j, struct area at, const struct slice *s,
                             const real *b)
{
    for (size_t m = at.m0; m < at.m1; m += ROWS) {
        const struct tile_a a = {cpu_row(j->a, s->k0) + m, 1, j->a.stride};
        tiles(cpu_row(j->c, m), j->c.stride, smaller(ROWS, at.m1 - m), at.n0, at.n1, a, b,
              s->depth, s->add);
    }
}

/* Short rows of a transposed a spread over the cache well enough, and a copy is not
 * worth it for few columns of c. */
static bool copies_a(const struct job *j, struct area at)
{
    return j->ta && (j->a.stride > NARROW || at.n1 - at.n0 > NARROW / 2);
}

static void multiply_slice(const struct job *j, struct area at, struct copies copy,
                           const struct slice *s)
{
    const bool copied = copies_a(j, at);

    if (copied)
        copy_a(copy.a, j, s, at);
    for (size_t n0 = at.n0; n0 < at.n1; n0 += WIDTH) {
        const struct area block = {at.m0, at.m1, n0, smaller(at.n1, n0 + WIDTH)};
        copy_b(copy.b, j, s, block);
        if (copied)
            rows_copied(j, block, s, copy.a, copy.b);
        else if (j->ta)
            columns_in_place(j, block, s, copy.b);
        else
            rows_in_place(j, block, s, copy.b);
    }
}

/* Few rows use each element of b a few times: it is read in place, but for the edge. */
static void multiply_few_rows(const struct job *j, struct area at, struct copies copy,
                              const struct slice *s)
{
    const size_t whole = at.n0 + (at.n1 - at.n0) / COLS * COLS;

    for (size_t n = at.n0; n < whole; n += COLS)
        for (size_t m = at.m0; m < at.m1; m += ROWS)
            tile_rows(smaller(ROWS, at.m1 - m), ROWS, VECS, cpu_row(j->c, m) + n,
                      j->c.stride,
                      (struct tile_a){cpu_row(j->a, m) + s->k0, j->a.stride, 1},
                      cpu_row(j->b, s->k0) + n, j->b.stride, s->depth, s->add);
    at.n0 = whole;
    multiply_slice(j, at, copy, s);
}

static void scale_area(const struct job *j, struct area at)
{
    for (size_t m = at.m0; m < at.m1; m++)
        for (size_t n = at.n0; n < at.n1; n++)
            cpu_row(j->c, m)[n] = j->beta != 0 ? j->beta * cpu_row(j->c, m)[n] : 0;
}

static void multiply(const struct job *j, struct area all, struct copies copy)
{
    const bool few = !j->ta && !j->tb && j->alpha == 1 && all.m1 - all.m0 <= FEW_ROWS;

    if ((j->beta != 0 && j->beta != 1) || j->inner == 0)
        scale_area(j, all);
    for (size_t m0 = all.m0; m0 < all.m1; m0 += j->ta ? HEIGHT : all.m1 - all.m0) {
        const size_t m1 = j->ta ? smaller(all.m1, m0 + HEIGHT) : all.m1;
        const struct area at = {m0, m1, all.n0, all.n1};
        for (size_t k0 = 0; k0 < j->inner; k0 += DEPTH) {
            const struct slice s = {k0, smaller(DEPTH, j->inner - k0),
                                    k0 > 0 || j->beta != 0};
            (few ? multiply_few_rows : multiply_slice)(j, at, copy, &s);
        }
    }
}

/* ---- threads ---- */

/* Part `part` of n when `unit`s of it are divided among n_parts. */
static struct pool_range units(size_t n, size_t unit, size_t part, size_t n_parts)
{
    const struct pool_range r = pool_split((n + unit - 1) / unit, part, n_parts);

    return (struct pool_range){smaller(n, r.begin * unit), smaller(n, r.end * unit)};
}

static void part_of(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const size_t n_down = n_parts / j->n_across;
    const struct pool_range rows = units(j->c.rows, ROWS, part / j->n_across, n_down);
    const struct pool_range cols =
        units(j->c.cols, COLS, part % j->n_across, j->n_across);
    real *scratch = cpu_scratch(j->device, part);

    if (rows.begin < rows.end && cols.begin < cols.end)
        multiply(j, (struct area){rows.begin, rows.end, cols.begin, cols.end},
                 (struct copies){scratch + DEPTH * WIDTH, scratch});
}

/*
 * Threads stand in a grid over c. A thread multiplies its rectangle and copies its
 * columns of op(b), and its rows of op(a) when that is transposed: the grid whose largest
 * rectangle costs least is taken.
 */
static size_t threads_across(const struct job *j, size_t n_threads)
{
    size_t best = 1;
    double least = 0;

    for (size_t n = 1; n <= n_threads; n++) {
        if (n_threads % n)
            continue;
        const double cols = (double)(((j->c.cols + COLS - 1) / COLS + n - 1) / n * COLS);
        const size_t down = n_threads / n;
        const double rows =
            (double)(((j->c.rows + ROWS - 1) / ROWS + down - 1) / down * ROWS);
        const double cost = rows * cols + COPY_COST * (cols + (j->ta ? rows : 0));
        if (n == 1 || cost <= least) {
            best = n;
            least = cost;
        }
    }
    return best;
}

void CPU(gemm)(struct device *d, struct mat c, struct mat a, struct mat b, bool ta,
               bool tb, double alpha, double beta)
{
    struct job j = {.device = d,
                    .c = c,
                    .a = a,
                    .b = b,
                    .ta = ta,
                    .tb = tb,
                    .inner = ta ? a.rows : a.cols,
                    .alpha = (real)alpha,
                    .beta = (real)beta,
                    .n_across = 1};

    if (c.rows * c.cols * j.inner < SMALL) {
        part_of(&j, 0, 1);
        return;
    }
    j.n_across = threads_across(&j, pool_size(d->pool));
    pool_run(d->pool, part_of, &j);
}
