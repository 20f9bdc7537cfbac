/*
 * Element-wise passes, the optimizers, the sum of squares and the largest magnitude.
 *
 * The sum is taken in double over blocks of fixed length, and the blocks are added in
 * order. So it is the same, bit for bit, for every number of threads; and because
 * squares of floats neither overflow nor cancel in double, it is finite exactly when
 * every element is.
 */
#include <tgmath.h>

#include "device/cpu/cpu.h"
#include "device/half.h"

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
    /* see adam_each on the form of the average */
    const real rest = (real)(1 - *(const double *)decay);

    for (size_t i = 0; i < n; i++)
        y[i] += rest * (x[i] - y[i]);
}

void CPU(average)(struct device *d, struct mat y, struct mat x, double decay)
{
    CPU(each)(d, (struct mat[]){y, x}, 2, average_each, &decay);
}

static real rounded(real x, enum precision to)
{
    if (to == PRECISION_FP16)
        return (real)half_to(half_from(half_clip((float)x)));
    return to == PRECISION_BF16 ? (real)half_to_b(half_from_b((float)x)) : x;
}

/*
 * y = x in the type of y. A CPU keeps 16-bit numbers in reals, so that a cast rounds: to
 * the device's precision when y is a MAT_HALF, and not at all otherwise. What is too
 * large becomes the largest finite number.
 */
static void cast_each(real *const at[], size_t n, void *how)
{
    const enum precision to = *(const enum precision *)how;

    for (size_t c = 0; c < n; c++)
        at[0][c] = rounded(at[1][c], to);
}

void CPU(cast)(struct device *d, struct mat y, struct mat x)
{
    enum precision to = y.type == MAT_HALF ? d->precision : PRECISION_FP32;

    CPU(each)(d, (struct mat[]){y, x}, 2, cast_each, &to);
}

/*
 * Adam, and AdamW when decay is not 0, in one visit to each element:
 *
 *   g = scale * g
 *   m = beta1 * m + (1 - beta1) * g
 *   v = beta2 * v + (1 - beta2) * g^2
 *   w = w - decay * w - rate * m / (sqrt(v) + epsilon)
 *
 * rate carries the bias correction, decay the learning rate; g is read only. The averages
 * are computed as m += (1 - beta1) * (g - m), because beta and 1 - beta do not add up to
 * 1 after rounding to float.
 */
static void adam_each(real *const at[], size_t n, void *ctx)
{
    const struct adam *how = ctx;
    real *restrict w = at[0], *restrict m = at[1], *restrict v = at[2];
    const real *restrict g = at[3];
    const real rest1 = (real)(1 - how->beta1), rest2 = (real)(1 - how->beta2);
    const real rate = (real)how->rate, epsilon = (real)how->epsilon;
    const real decay = (real)how->decay, scale = (real)how->scale;

    for (size_t i = 0; i < n; i++) {
        const real x = g[i] * scale;
        m[i] += rest1 * (x - m[i]);
        v[i] += rest2 * (x * x - v[i]);
        w[i] -= decay * w[i] + rate * (m[i] / (sqrt(v[i]) + epsilon));
    }
}

/* Threads take blocks, so that vectors begin at the same elements whoever takes them. */
struct adam_job {
    struct mat m[4]; /* w, m, v, g */
    struct adam how;
    struct pool_queue left; /* blocks */
};

static void adam_part(void *ctx, size_t part, size_t n_parts)
{
    enum { LEAST = 16 };
    struct adam_job *j = ctx;
    const size_t n = j->m->rows * j->m->cols;
    struct pool_range r;

    (void)part;
    while (pool_take(&j->left, LEAST, n_parts, &r))
        CPU(each_of)
    (j->m, 4, r.begin * BLOCK, cpu_smaller(r.end * BLOCK, n), adam_each, &j->how);
}

void CPU(adam)(struct device *d, struct mat w, struct mat m, struct mat v, struct mat g,
               struct adam how)
{
    struct adam_job j = {{w, m, v, g}, how, {.n = cpu_ceil_div(w.rows * w.cols, BLOCK)}};

    pool_run(d->pool, adam_part, &j);
}

/*
 * NovoGrad: momentum of the gradient divided by a norm that is kept for each tensor,
 *
 *   u = scale * g + decay * w
 *   m = beta1 * m + average * u
 *   w = w - rate * m
 *
 * scale carries 1 / sqrt(v + epsilon), with v the moving average of the squared norm of
 * the tensor's gradient, which the optimizer keeps; g is read only.
 */
static void novograd_each(real *const at[], size_t n, void *ctx)
{
    const struct novograd *how = ctx;
    real *restrict w = at[0], *restrict m = at[1];
    const real *restrict g = at[2];
    const real rate = (real)how->rate, beta1 = (real)how->beta1;
    const real scale = (real)(how->average * how->scale);
    const real decay = (real)(how->average * how->decay);

    for (size_t i = 0; i < n; i++) {
        m[i] = beta1 * m[i] + (scale * g[i] + decay * w[i]);
        w[i] -= rate * m[i];
    }
}

void CPU(novograd)(struct device *d, struct mat w, struct mat m, struct mat g,
                   struct novograd how)
{
    CPU(each)(d, (struct mat[]){w, m, g}, 3, novograd_each, &how);
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
