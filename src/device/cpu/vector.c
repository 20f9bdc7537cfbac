/*
 * Element-wise passes, the sum of squares and the largest magnitude.
 *
 * The sum is taken in double over blocks of fixed length, and the blocks are added in
 * order. So it is the same, bit for bit, for every number of threads; and because
 * squares of floats neither overflow nor cancel in double, it is finite exactly when
 * every element is.
 */
#include <math.h>

#include "device/cpu/cpu.h"

enum { BLOCK = 4096, BLOCKS_MAX = 65536 };

static void fill_each(real *const at[], size_t n, void *value)
{
    real *y = at[0];
    const real x = (real) * (const double *)value;

    for (size_t i = 0; i < n; i++)
        y[i] = x;
}

void CPU(fill)(struct device *d, struct mat x, double value)
{
    CPU(each)(d, &x, 1, fill_each, &value);
}

static void scale_each(real *const at[], size_t n, void *how)
{
    real *y = at[0];
    const real by = (real) * (const double *)how;

    for (size_t i = 0; i < n; i++)
        y[i] *= by;
}

void CPU(scale)(struct device *d, struct mat x, double by)
{
    CPU(each)(d, &x, 1, scale_each, &by);
}

static void average_each(real *const at[], size_t n, void *decay)
{
    real *restrict y = at[0];
    const real *restrict x = at[1];
    /* see adam.c on the form of the average */
    const real rest = (real)(1 - *(const double *)decay);

    for (size_t i = 0; i < n; i++)
        y[i] += rest * (x[i] - y[i]);
}

void CPU(average)(struct device *d, struct mat y, struct mat x, double decay)
{
    CPU(each)(d, (struct mat[]){y, x}, 2, average_each, &decay);
}

/* A result for each block of x. */
struct job {
    struct mat x;
    size_t n_blocks, block; /* elements of a block */
    double *results;        /* [n_blocks], each begun at 0 */
    cpu_each_fn *fn;        /* its last argument is the block's result */
};

static void blocks_part(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const struct pool_range blocks = pool_split(j->n_blocks, part, n_parts);
    const size_t n = j->x.rows * j->x.cols;

    for (size_t b = blocks.begin; b < blocks.end; b++) {
        j->results[b] = 0;
        CPU(each_of)
        (&j->x, 1, b * j->block, cpu_smaller((b + 1) * j->block, n), j->fn,
         &j->results[b]);
    }
}

static struct job by_blocks(struct device *d, struct mat x, cpu_each_fn *fn)
{
    const size_t n = x.rows * x.cols, spread = cpu_ceil_div(n, BLOCKS_MAX);
    struct job j = {.x = x, .block = spread > BLOCK ? spread : BLOCK, .fn = fn};

    j.n_blocks = cpu_ceil_div(n, j.block);
    j.results = cpu_scratch(d, 0); /* more than BLOCKS_MAX need */
    pool_run(d->pool, blocks_part, &j);
    return j;
}

static void add_squares(real *const at[], size_t n, void *result)
{
    const real *x = at[0];
    double sum = *(double *)result;

    for (size_t c = 0; c < n; c++)
        sum += (double)x[c] * (double)x[c];
    *(double *)result = sum;
}

void CPU(sumsq)(struct device *d, double *sum, struct mat x)
{
    const struct job j = by_blocks(d, x, add_squares);

    *sum = 0;
    for (size_t b = 0; b < j.n_blocks; b++)
        *sum += j.results[b];
}

/* The largest magnitude; a NaN is larger than anything. */
static double larger(double max, double v)
{
    return v > max || v != v ? v : max;
}

static void find_largest(real *const at[], size_t n, void *result)
{
    const real *x = at[0];
    double max = *(double *)result;

    for (size_t c = 0; c < n; c++)
        max = larger(max, fabs((double)x[c]));
    *(double *)result = max;
}

void CPU(maxabs)(struct device *d, double *max, struct mat x)
{
    const struct job j = by_blocks(d, x, find_largest);

    *max = 0;
    for (size_t b = 0; b < j.n_blocks; b++)
        *max = larger(*max, j.results[b]);
}
