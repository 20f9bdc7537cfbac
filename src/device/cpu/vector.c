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
#include "device/cpu/span.h"

enum { BLOCK = 4096, BLOCKS_MAX = 65536 };

struct job {
    struct mat y, x;
    double by;
    size_t n_blocks, block; /* elements of a block */
    double *sums;           /* [n_blocks] */
};

/* One span of y, and of x where the kernel has one. */
typedef void span_fn(const struct job *j, real *y, const real *x, size_t n);

static inline void walk(const struct job *j, size_t part, size_t n_parts, span_fn *fn)
{
    const struct pool_range range = pool_split(j->y.rows * j->y.cols, part, n_parts);

    for (size_t i = range.begin; i < range.end;) {
        const struct span s = span_at(j->y.cols, i, range.end);
        fn(j, (real *)j->y.mem + span_offset(j->y, s),
           (const real *)j->x.mem + span_offset(j->x, s), s.n);
        i += s.n;
    }
}

static void fill_span(const struct job *j, real *y, const real *x, size_t n)
{
    const real value = (real)j->by;

    (void)x;
    for (size_t i = 0; i < n; i++)
        y[i] = value;
}

static void fill_part(void *job, size_t part, size_t n_parts)
{
    walk(job, part, n_parts, fill_span);
}

void CPU(fill)(struct device *d, struct mat x, double value)
{
    struct job j = {.y = x, .x = x, .by = value};

    pool_run(d->pool, fill_part, &j);
}

static void scale_span(const struct job *j, real *y, const real *x, size_t n)
{
    const real by = (real)j->by;

    (void)x;
    for (size_t i = 0; i < n; i++)
        y[i] *= by;
}

static void scale_part(void *job, size_t part, size_t n_parts)
{
    walk(job, part, n_parts, scale_span);
}

void CPU(scale)(struct device *d, struct mat x, double by)
{
    struct job j = {.y = x, .x = x, .by = by};

    pool_run(d->pool, scale_part, &j);
}

static void average_span(const struct job *j, real *restrict y, const real *restrict x,
                         size_t n)
{
    const real rest = (real)(1 - j->by); /* see adam.c on the form of the average */

    for (size_t i = 0; i < n; i++)
        y[i] += rest * (x[i] - y[i]);
}

static void average_part(void *job, size_t part, size_t n_parts)
{
    walk(job, part, n_parts, average_span);
}

void CPU(average)(struct device *d, struct mat y, struct mat x, double decay)
{
    struct job j = {.y = y, .x = x, .by = decay};

    pool_run(d->pool, average_part, &j);
}

static double block_sum(const struct job *j, size_t begin, size_t end)
{
    double sum = 0;

    for (size_t i = begin; i < end;) {
        const struct span s = span_at(j->x.cols, i, end);
        const real *x = (real *)j->x.mem + span_offset(j->x, s);
        for (size_t c = 0; c < s.n; c++)
            sum += (double)x[c] * (double)x[c];
        i += s.n;
    }
    return sum;
}

static void sumsq_part(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const struct pool_range blocks = pool_split(j->n_blocks, part, n_parts);
    const size_t n = j->x.rows * j->x.cols;

    for (size_t b = blocks.begin; b < blocks.end; b++) {
        const size_t begin = b * j->block, end = begin + j->block;
        j->sums[b] = block_sum(j, begin, end < n ? end : n);
    }
}

static struct job blocks_of(const struct device *d, struct mat x)
{
    const size_t n = x.rows * x.cols, spread = (n + BLOCKS_MAX - 1) / BLOCKS_MAX;
    struct job j = {.x = x, .block = spread > BLOCK ? spread : BLOCK};

    j.n_blocks = (n + j.block - 1) / j.block;
    j.sums = cpu_scratch(d, 0); /* more than BLOCKS_MAX sums need */
    return j;
}

void CPU(sumsq)(struct device *d, double *sum, struct mat x)
{
    struct job j = blocks_of(d, x);

    pool_run(d->pool, sumsq_part, &j);
    *sum = 0;
    for (size_t b = 0; b < j.n_blocks; b++)
        *sum += j.sums[b];
}

/* The largest magnitude of a block; a NaN is larger than anything. */
static double block_max(const struct job *j, size_t begin, size_t end)
{
    double max = 0;

    for (size_t i = begin; i < end;) {
        const struct span s = span_at(j->x.cols, i, end);
        const real *x = (real *)j->x.mem + span_offset(j->x, s);
        for (size_t c = 0; c < s.n; c++) {
            const double v = fabs((double)x[c]);
            max = v > max || v != v ? v : max;
        }
        if (max != max)
            return max;
        i += s.n;
    }
    return max;
}

static void maxabs_part(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const struct pool_range blocks = pool_split(j->n_blocks, part, n_parts);
    const size_t n = j->x.rows * j->x.cols;

    for (size_t b = blocks.begin; b < blocks.end; b++) {
        const size_t begin = b * j->block, end = begin + j->block;
        j->sums[b] = block_max(j, begin, end < n ? end : n);
    }
}

void CPU(maxabs)(struct device *d, double *max, struct mat x)
{
    struct job j = blocks_of(d, x);

    pool_run(d->pool, maxabs_part, &j);
    *max = 0;
    for (size_t b = 0; b < j.n_blocks; b++)
        *max = j.sums[b] > *max || j.sums[b] != j.sums[b] ? j.sums[b] : *max;
}
