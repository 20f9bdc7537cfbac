/*
 * c = alpha op(a) op(b) + beta c, by the BLAS: each thread multiplies its own block of
 * rows (or of columns, when there are more of those) with a single-threaded call. Blocks
 * are multiples of 16 so that the BLAS's micro-kernels see full tiles.
 */
#include <cblas.h>

#include "device/cpu/cpu.h"

enum { TILE = 16, SMALL = 64 * 64 * 64 };

struct job {
    struct mat c, a, b;
    bool ta, tb, by_rows;
    size_t inner;
    real alpha, beta;
};

static void multiply(const struct job *j, struct mat c, const real *a, const real *b)
{
    const CBLAS_TRANSPOSE ta = j->ta ? CblasTrans : CblasNoTrans;
    const CBLAS_TRANSPOSE tb = j->tb ? CblasTrans : CblasNoTrans;

    _Generic((real)0, float
             : cblas_sgemm, double
             : cblas_dgemm)(CblasRowMajor, ta, tb, (int)c.rows, (int)c.cols,
                            (int)j->inner, j->alpha, a, (int)j->a.stride, b,
                            (int)j->b.stride, j->beta, cpu_mat(c), (int)c.stride);
}

static void part_of(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const size_t n = j->by_rows ? j->c.rows : j->c.cols;
    const struct pool_range tiles = pool_split((n + TILE - 1) / TILE, part, n_parts);
    const size_t begin = tiles.begin * TILE;
    const size_t end = tiles.end * TILE < n ? tiles.end * TILE : n;

    if (begin >= end)
        return;
    if (j->by_rows)
        multiply(j, mat_rows(j->c, begin, end - begin),
                 cpu_mat(j->a) + (j->ta ? begin : begin * j->a.stride), cpu_mat(j->b));
    else
        multiply(j, mat_cols(j->c, begin, end - begin), cpu_mat(j->a),
                 cpu_mat(j->b) + (j->tb ? begin * j->b.stride : begin));
}

void CPU(gemm)(struct device *d, struct mat c, struct mat a, struct mat b, bool ta,
               bool tb, double alpha, double beta)
{
    struct job j = {.c = c,
                    .a = a,
                    .b = b,
                    .ta = ta,
                    .tb = tb,
                    .by_rows = c.rows >= c.cols,
                    .inner = ta ? a.rows : a.cols,
                    .alpha = (real)alpha,
                    .beta = (real)beta};

    if (c.rows * c.cols * j.inner < SMALL)
        part_of(&j, 0, 1);
    else
        pool_run(d->pool, part_of, &j);
}
