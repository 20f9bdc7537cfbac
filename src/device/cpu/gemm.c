/*
 * c = alpha op(a) op(b) + beta c.
 *
 * Blocks of op(b) of DEPTH x WIDTH are copied into panels of COLS columns that stay in
 * the second-level cache, and each tile of ROWS x COLS of c is multiplied in registers
 * (tile.h). op(a) is read where it lies when it is not transposed; otherwise it is copied
 * too, in panels of ROWS, because its columns would fall on few sets of the cache. Few
 * rows of c are not worth the copies.
 *
 *     for rows of c, HEIGHT at a time       (all of them when op(a) is read in place)
 *       for the inner dimension, DEPTH at a time      copy op(a)
 *         for columns of c, WIDTH at a time           copy op(b)
 *           for tiles of ROWS x COLS                  multiply
 *
 * Threads take columns from what is left, fewer towards the end, so that one that is held
 * up by other work on its core holds up nobody else; rows when a is transposed and c is
 * tall. An element of c is summed in an order that depends on the inner
 * dimension alone: the result depends neither on the number of threads nor on who took
 * what. docs/performance.md has what this gains over a BLAS.
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
    TALL = 4,                    /* rows of c, in HEIGHTs: enough to share them */
    FEWEST_STRIPS = 4,           /* that a thread takes: each copies all of op(b) */
    FEW_ROWS = 4 * ROWS,
    NARROW = 256, /* reals of a row of a */
    LINE = 64 / sizeof(real),
    AHEAD = 16, /* rows that a copy asks the cache for before it reads them */
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
    bool copied; /* a is read from panels */
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

/* One visit of all threads to an area of c, for a slice of the inner dimension. */
struct sweep {
    const struct job *job;
    struct area all;
    struct slice slice;
    real *a_panels;         /* of the whole area, of all threads; NULL: each its own */
    size_t n_groups;        /* of rows, when columns are taken */
    struct pool_queue left; /* units of COLS columns or STRIP rows */
};

/* ---- copies ---- */

/* Short pieces of far rows end before the processor sees where they lead: it is told. */
TILE_INLINE void fetch(const real *from, size_t n)
{
    for (size_t i = 0; i < n; i += LINE)
        __builtin_prefetch(from + i);
}

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

static void transpose_square(real *to, const real *from, size_t stride)
{
    tile_vec row[TILE_LANES];

    tile_load_transposed(row, from, stride);
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
                            s->depth, cpu_smaller(COLS, at.n1 - n));
    else
        for (size_t k = 0; k < s->depth; k++) {
            const real *from = cpu_row(j->b, s->k0 + k);
            if (k + AHEAD < s->depth)
                fetch(from + AHEAD * stride + at.n0, at.n1 - at.n0);
            for (size_t n = at.n0; n < at.n1; n += COLS)
                copy_cols(to + (n - at.n0) * s->depth + k * COLS, from + n,
                          cpu_smaller(COLS, at.n1 - n));
        }
    if (j->alpha != 1)
        for (size_t i = 0; i < n_panels * COLS * s->depth; i++)
            to[i] *= j->alpha;
}

/* The slice's rows of a, which is transposed: columns of the area, as panels. */
static void copy_a(real *to, const struct job *j, const struct slice *s, struct area at)
{
    for (size_t strip = at.m0; strip < at.m1; strip += STRIP) {
        const size_t end = cpu_smaller(at.m1, strip + STRIP);
        for (size_t k = 0; k < s->depth; k++) {
            const real *from = cpu_row(j->a, s->k0 + k);
            if (k + AHEAD < s->depth)
                fetch(from + AHEAD * j->a.stride + strip, end - strip);
            for (size_t m = strip; m < end; m += ROWS) {
                real *panel = to + (m - at.m0) / ROWS * A_PANEL + k * ROWS;
                if (m + ROWS <= at.m1)
                    memcpy(panel, from + m, ROWS * sizeof *panel);
                else
                    memcpy(panel, from + m, (at.m1 - m) * sizeof *panel);
            }
        }
    }
}

/* ---- products ---- */

/* A tile at the right edge of c has fewer vectors, and goes through memory of its own if
 * the last one is not whole. */
TILE_INLINE void edge_tile(real *c, size_t ldc, size_t rows, size_t cols, struct tile_a a,
                           const real *b, size_t depth, bool add)
{
    enum { TWO = 2 * TILE_LANES };
    const size_t width = cols <= TILE_LANES ? TILE_LANES : cols <= TWO ? TWO : COLS;
    const bool fits = cols == width, onto = fits && add;
    real own[ROWS * COLS], *to = fits ? c : own;
    const size_t stride = fits ? ldc : COLS;

    if (width == TILE_LANES)
        tile_rows(rows, ROWS, 1, to, stride, a, b, COLS, depth, onto);
    else if (width == TWO)
        tile_rows(rows, ROWS, 2, to, stride, a, b, COLS, depth, onto);
    else
        tile_rows(rows, ROWS, VECS, to, stride, a, b, COLS, depth, onto);
    for (size_t r = 0; !fits && r < rows; r++)
        for (size_t k = 0; k < cols; k++)
            c[r * ldc + k] = own[r * COLS + k] + (add ? c[r * ldc + k] : 0);
}

/* The lines of a tile come while its products are summed. */
TILE_INLINE void fetch_tile(const real *c, size_t ldc, size_t rows)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < COLS; i += LINE)
            __builtin_prefetch(c + r * ldc + i, 1);
}

/* Tiles side by side: columns [n0, n1) of c, whose copied panels of op(b) begin at b. */
TILE_INLINE void tiles(real *c, size_t ldc, size_t rows, size_t n0, size_t n1,
                       struct tile_a a, const real *b, size_t depth, bool add)
{
    for (size_t n = n0; n < n1; n += COLS) {
        const real *panel = b + (n - n0) * depth;
        if (n + COLS <= n1) {
            fetch_tile(c + n, ldc, rows);
            tile_rows(rows, ROWS, VECS, c + n, ldc, a, panel, COLS, depth, add);
        } else
            edge_tile(c + n, ldc, rows, n1 - n, a, panel, depth, add);
    }
}

/* Three loops, so that each has the strides of a as constants. */
static void rows_in_place(const struct job *j, struct area at, const struct slice *s,
                          const real *b)
{
    for (size_t m = at.m0; m < at.m1; m += ROWS) {
        const struct tile_a a = {cpu_row(j->a, m) + s->k0, j->a.stride, 1};
        tiles(cpu_row(j->c, m), j->c.stride, cpu_smaller(ROWS, at.m1 - m), at.n0, at.n1,
              a, b, s->depth, s->add);
    }
}

static void rows_copied(const struct job *j, struct area at, const struct slice *s,
                        const real *panels, const real *b)
{
    for (size_t m = at.m0; m < at.m1; m += ROWS) {
        const struct tile_a a = {panels + (m - at.m0) / ROWS * A_PANEL, 1, ROWS};
        tiles(cpu_row(j->c, m), j->c.stride, cpu_smaller(ROWS, at.m1 - m), at.n0, at.n1,
              a, b, s->depth, s->add);
    }
}

static void columns_in_place(const struct job *j, struct area at, const struct slice *s,
                             const real *b)
{
    for (size_t m = at.m0; m < at.m1; m += ROWS) {
        const struct tile_a a = {cpu_row(j->a, s->k0) + m, 1, j->a.stride};
        tiles(cpu_row(j->c, m), j->c.stride, cpu_smaller(ROWS, at.m1 - m), at.n0, at.n1,
              a, b, s->depth, s->add);
    }
}

/* At most HEIGHT rows when a is copied: to a_panels, which begin with the first. */
static void multiply_slice(const struct job *j, struct area at, const struct slice *s,
                           const real *a_panels, real *b_panels)
{
    for (size_t n0 = at.n0; n0 < at.n1; n0 += WIDTH) {
        const struct area block = {at.m0, at.m1, n0, cpu_smaller(at.n1, n0 + WIDTH)};
        copy_b(b_panels, j, s, block);
        if (j->copied)
            rows_copied(j, block, s, a_panels, b_panels);
        else if (j->ta)
            columns_in_place(j, block, s, b_panels);
        else
            rows_in_place(j, block, s, b_panels);
    }
}

/* Few rows use each element of b a few times: it is read in place, but for the edge. */
static void multiply_few_rows(const struct job *j, struct area at, const struct slice *s,
                              real *b_panels)
{
    const size_t whole = at.n0 + (at.n1 - at.n0) / COLS * COLS;

    for (size_t n = at.n0; n < whole; n += COLS)
        for (size_t m = at.m0; m < at.m1; m += ROWS)
            tile_rows(cpu_smaller(ROWS, at.m1 - m), ROWS, VECS, cpu_row(j->c, m) + n,
                      j->c.stride,
                      (struct tile_a){cpu_row(j->a, m) + s->k0, j->a.stride, 1},
                      cpu_row(j->b, s->k0) + n, j->b.stride, s->depth, s->add);
    at.n0 = whole;
    multiply_slice(j, at, s, NULL, b_panels);
}

static bool few_rows(const struct job *j)
{
    return !j->ta && !j->tb && j->alpha == 1 && j->c.rows <= FEW_ROWS;
}

/* ---- threads ---- */

/* Whole ROWS of part `part` of n_parts of the area. */
static struct area rows_of_part(struct area all, size_t part, size_t n_parts)
{
    const struct pool_range r =
        pool_split(cpu_ceil_div(all.m1 - all.m0, ROWS), part, n_parts);

    return (struct area){all.m0 + r.begin * ROWS,
                         cpu_smaller(all.m1, all.m0 + r.end * ROWS), all.n0, all.n1};
}

/* Where the shared panels of row m begin. */
static real *panels_of_row(const struct sweep *w, size_t m)
{
    return w->a_panels + (m - w->all.m0) / ROWS * A_PANEL;
}

static void copy_a_part(void *ctx, size_t part, size_t n_parts)
{
    const struct sweep *w = ctx;
    const struct area at = rows_of_part(w->all, part, n_parts);

    copy_a(panels_of_row(w, at.m0), w->job, &w->slice, at);
}

/* The sweep's slice of an area, with the scratch of one thread. */
static void multiply(const struct sweep *w, struct area at, real *b_panels)
{
    const struct job *j = w->job;
    const size_t end = w->slice.k0 + w->slice.depth;
    real *own = b_panels + (size_t)DEPTH * WIDTH;
    const real *a_panels = w->a_panels ? panels_of_row(w, at.m0) : own;

    if (w->slice.k0 == 0 && ((j->beta != 0 && j->beta != 1) || j->inner == 0))
        cpu_scale(mat_cols(mat_rows(j->c, at.m0, at.m1 - at.m0), at.n0, at.n1 - at.n0),
                  j->beta);
    for (size_t k0 = w->slice.k0; k0 < end; k0 += DEPTH) {
        const struct slice s = {k0, cpu_smaller(DEPTH, end - k0), k0 > 0 || j->beta != 0};
        if (j->copied && !w->a_panels)
            copy_a(own, j, &s, at);
        if (few_rows(j))
            multiply_few_rows(j, at, &s, b_panels);
        else
            multiply_slice(j, at, &s, a_panels, b_panels);
    }
}

/* The units are columns of the first group of rows, then of the second, and so on. */
static void take_columns(void *ctx, size_t part, size_t n_parts)
{
    struct sweep *w = ctx;
    real *b_panels = cpu_scratch(w->job->device, part);
    const size_t n_units = w->left.n / w->n_groups;
    struct pool_range taken;

    while (pool_take(&w->left, 1, n_parts, &taken))
        while (taken.begin < taken.end) {
            const size_t first = taken.begin % n_units;
            const size_t n = cpu_smaller(taken.end - taken.begin, n_units - first);
            struct area at = rows_of_part(w->all, taken.begin / n_units, w->n_groups);
            at.n1 = cpu_smaller(at.n1, at.n0 + (first + n) * COLS);
            at.n0 += first * COLS;
            multiply(w, at, b_panels);
            taken.begin += n;
        }
}

/*
 * Each group of rows copies all of op(b) once more, but narrow matrices have too few
 * units for every thread to get the same number. The thread that gets most has
 * ceil(units of all groups / threads) of them; the number of groups that makes its work
 * least is taken.
 */
static size_t groups_of_rows(size_t n_rows, size_t n_units, size_t n_threads)
{
    size_t best = 1;
    double least = 0;

    for (size_t n = 1; n <= n_threads; n++) {
        const double rows = (double)(cpu_ceil_div(cpu_ceil_div(n_rows, ROWS), n) * ROWS);
        const double cost =
            (double)cpu_ceil_div(n_units * n, n_threads) * (rows + COPY_COST);
        if (n == 1 || cost < least) {
            best = n;
            least = cost;
        }
    }
    return best;
}

/* fn on all threads; on this one alone when the work is not worth waking others. */
static void run(const struct job *j, pool_fn *fn, struct sweep *w)
{
    if (j->c.rows * j->c.cols * j->inner < SMALL)
        fn(w, 0, 1);
    else
        pool_run(j->device->pool, fn, w);
}

static void sweep_columns(const struct job *j, struct area all, struct slice s)
{
    const size_t n_units = cpu_ceil_div(all.n1 - all.n0, COLS);
    const size_t n_groups =
        groups_of_rows(all.m1 - all.m0, n_units, pool_size(j->device->pool));
    struct sweep w = {.job = j,
                      .all = all,
                      .slice = s,
                      .n_groups = n_groups,
                      .left = {.n = n_groups * n_units}};

    if (j->copied) {
        w.a_panels = (real *)cpu_scratch(j->device, 0) + (size_t)DEPTH * WIDTH;
        run(j, copy_a_part, &w);
    }
    run(j, take_columns, &w);
}

/* Threads share the columns of c; what they read of a stays in the caches meanwhile. */
static void by_columns(const struct job *j)
{
    const size_t height = j->copied ? HEIGHT : j->c.rows;
    const size_t depth = few_rows(j) ? j->inner : DEPTH;

    for (size_t m0 = 0; m0 < j->c.rows; m0 += height) {
        const struct area all = {m0, cpu_smaller(j->c.rows, m0 + height), 0, j->c.cols};
        size_t k0 = 0;
        do { /* once at least: an empty product is zero */
            sweep_columns(
                j, all,
                (struct slice){.k0 = k0, .depth = cpu_smaller(depth, j->inner - k0)});
            k0 += depth;
        } while (k0 < j->inner);
    }
}

static void take_rows(void *ctx, size_t part, size_t n_parts)
{
    struct sweep *w = ctx;
    struct pool_range taken;

    while (pool_take(&w->left, FEWEST_STRIPS, n_parts, &taken)) {
        const size_t end = cpu_smaller(taken.end * STRIP, w->all.m1);
        for (size_t m0 = taken.begin * STRIP; m0 < end; m0 += HEIGHT)
            multiply(
                w, (struct area){m0, cpu_smaller(end, m0 + HEIGHT), w->all.n0, w->all.n1},
                cpu_scratch(w->job->device, part));
    }
}

/* Threads share the rows of c, each with copies of its own. */
static void by_rows(const struct job *j)
{
    struct sweep w = {.job = j,
                      .all = {0, j->c.rows, 0, j->c.cols},
                      .slice = {.depth = j->inner},
                      .left = {.n = cpu_ceil_div(j->c.rows, STRIP)}};

    run(j, take_rows, &w);
}

void CPU(gemm)(struct device *d, struct mat c, struct mat a, struct mat b, bool ta,
               bool tb, double alpha, double beta)
{
    const struct cpu_gemm g = {c, a, b, ta, tb, alpha, beta};
    const size_t inner = ta ? a.rows : a.cols;
    /* short rows of a transposed a spread over the cache well enough, and a copy is not
     * worth it for few columns of c */
    const bool copied = ta && (a.stride > NARROW || c.cols > NARROW / 2);
    const struct job j = {d, c, a, b, ta, tb, inner, (real)alpha, (real)beta, copied};

    if (CPU(gemm_amx)(d, &g))
        return;
    if (j.copied && c.rows > (size_t)TALL * HEIGHT)
        by_rows(&j);
    else
        by_columns(&j);
}
