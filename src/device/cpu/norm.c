/*
 * Residual, dropout and layer normalisation in one visit to each row.
 *
 *   x = base + drop(f + f_bias)
 *   y = gain * (x - mean) * rstd + bias,   rstd = 1 / sqrt(var + epsilon)
 *
 * with the biased variance. Backward, with h = (x - mean) * rstd and g = gain * dy:
 *
 *   dx    = dx_later + rstd * (g - mean(g) - h * mean(g * h))
 *   df    = drop'(dx)
 *   dgain += sum_r dy * h,   dbias += sum_r dy,   df_bias += sum_r df
 *
 * Saved: x and two numbers a row. The sums over rows are taken by blocks of rows while
 * these are in the cache, then over the blocks in their order; the blocks depend on the
 * shape alone, so the sums do not depend on the number of threads.
 */
#include <math.h>

#include "device/cpu/cpu.h"
#include "device/cpu/hash.h"

enum {
    BLOCK_ROWS = 32, /* at least */
    BLOCKS = 64,     /* at most */
    SUMS = 3         /* of a block: for dgain, dbias and df_bias */
};

struct forward {
    struct mat x, y, stats, base, f, f_bias, gain, bias;
    double epsilon;
    struct drop drop;
};

struct backward {
    struct mat dx, df, dgain, dbias, df_bias, dy, later, x, stats, gain;
    struct drop drop;
    real *sums; /* [n_blocks, SUMS, columns] */
    size_t n_blocks;
};

static void add_residual(const struct forward *j, size_t r, real *x)
{
    const uint32_t limit = hash_threshold(j->drop.rate);
    const real keep = (real)(1 / (1 - j->drop.rate));
    const real *base = cpu_row(j->base, r), *f = cpu_row(j->f, r);
    const real *b = j->f_bias.mem ? cpu_mat(j->f_bias) : NULL;
    const size_t D = j->x.cols;

    if (limit) {
        const uint32_t row = hash_drop(&j->drop, r);
        for (size_t c = 0; c < D; c++) {
            const real v = (f[c] + (b ? b[c] : 0)) * keep;
            x[c] = base[c] + (hash_channel(row, (uint32_t)c) >= limit ? v : 0);
        }
    } else {
        for (size_t c = 0; c < D; c++)
            x[c] = base[c] + f[c] + (b ? b[c] : 0);
    }
}

static void normalise(const struct forward *j, size_t r, const real *x)
{
    const real *gain = cpu_mat(j->gain), *bias = cpu_mat(j->bias);
    real *y = cpu_row(j->y, r), *stats = cpu_row(j->stats, r);
    const size_t D = j->x.cols;
    real sum = 0, square = 0;

    for (size_t c = 0; c < D; c++)
        sum += x[c];
    const real mean = sum / (real)D;
    for (size_t c = 0; c < D; c++)
        square += (x[c] - mean) * (x[c] - mean);
    const real rstd = (real)(1 / sqrt((double)square / (double)D + j->epsilon));
    for (size_t c = 0; c < D; c++)
        y[c] = gain[c] * ((x[c] - mean) * rstd) + bias[c];
    stats[0] = mean;
    stats[1] = rstd;
}

static void forward_part(void *ctx, size_t part, size_t n_parts)
{
    const struct forward *j = ctx;
    const struct pool_range rows = pool_split(j->x.rows, part, n_parts);

    for (size_t r = rows.begin; r < rows.end; r++) {
        real *x = cpu_row(j->x, r);
        if (j->f.mem)
            add_residual(j, r, x);
        normalise(j, r, x);
    }
}

void CPU(norm_forward)(struct device *d, struct mat x, struct mat y, struct mat stats,
                       struct mat base, struct mat f, struct mat f_bias, struct mat gain,
                       struct mat bias, double epsilon, struct drop drop)
{
    struct forward j = {x, y, stats, base, f, f_bias, gain, bias, epsilon, drop};

    pool_run(d->pool, forward_part, &j);
}

static void backward_row(const struct backward *j, size_t r)
{
    const real *x = cpu_row(j->x, r), *dy = cpu_row(j->dy, r), *gain = cpu_mat(j->gain);
    const real *later = j->later.mem ? cpu_row(j->later, r) : NULL;
    const real mean = cpu_row(j->stats, r)[0], rstd = cpu_row(j->stats, r)[1];
    real *dx = cpu_row(j->dx, r);
    const size_t D = j->x.cols;
    real g_sum = 0, gh_sum = 0;

    for (size_t c = 0; c < D; c++) {
        const real g = gain[c] * dy[c];
        g_sum += g;
        gh_sum += g * ((x[c] - mean) * rstd);
    }
    const real g_mean = g_sum / (real)D, gh_mean = gh_sum / (real)D;
    for (size_t c = 0; c < D; c++) {
        const real h = (x[c] - mean) * rstd;
        dx[c] = (later ? later[c] : 0) + rstd * (gain[c] * dy[c] - g_mean - h * gh_mean);
    }
}

static void drop_row(const struct backward *j, size_t r)
{
    const uint32_t limit = hash_threshold(j->drop.rate);
    const uint32_t row = limit ? hash_drop(&j->drop, r) : 0;
    const real keep = (real)(1 / (1 - j->drop.rate));
    const real *dx = cpu_row(j->dx, r);
    real *df = cpu_row(j->df, r);

    for (size_t c = 0; c < j->dx.cols; c++)
        df[c] = hash_channel(row, (uint32_t)c) >= limit ? dx[c] * keep : 0;
}

static void add_row(const struct backward *j, size_t r, real *restrict sums)
{
    const real *x = cpu_row(j->x, r), *dy = cpu_row(j->dy, r);
    const real mean = cpu_row(j->stats, r)[0], rstd = cpu_row(j->stats, r)[1];
    const size_t D = j->x.cols;

    for (size_t c = 0; c < D; c++) {
        sums[c] += dy[c] * ((x[c] - mean) * rstd);
        sums[D + c] += dy[c];
    }
    if (j->df_bias.mem) {
        const real *df = cpu_row(j->df, r);
        for (size_t c = 0; c < D; c++)
            sums[2 * D + c] += df[c];
    }
}

static void backward_part(void *ctx, size_t part, size_t n_parts)
{
    const struct backward *j = ctx;
    const struct pool_range blocks = pool_split(j->n_blocks, part, n_parts);

    for (size_t b = blocks.begin; b < blocks.end; b++) {
        const struct pool_range rows = pool_split(j->x.rows, b, j->n_blocks);
        real *sums = j->sums + b * SUMS * j->x.cols;
        memset(sums, 0, SUMS * j->x.cols * sizeof *sums);
        for (size_t r = rows.begin; r < rows.end; r++) {
            backward_row(j, r);
            if (j->df.mem)
                drop_row(j, r);
            add_row(j, r, sums);
        }
    }
}

/* The i-th sum of every block onto `to`, for a slice of the columns. */
static void add_blocks(const struct backward *j, size_t i, struct mat to,
                       struct pool_range cols)
{
    const size_t D = j->x.cols;

    for (size_t b = 0; to.mem && b < j->n_blocks; b++)
        for (size_t c = cols.begin; c < cols.end; c++)
            cpu_mat(to)[c] += j->sums[(b * SUMS + i) * D + c];
}

static void sums_part(void *ctx, size_t part, size_t n_parts)
{
    const struct backward *j = ctx;
    const struct pool_range cols = cpu_columns(j->x.cols, part, n_parts);

    add_blocks(j, 0, j->dgain, cols);
    add_blocks(j, 1, j->dbias, cols);
    add_blocks(j, 2, j->df_bias, cols);
}

/* As many as are worth it and fit in the scratch of one thread. */
static size_t blocks_of(struct mat x)
{
    const size_t fit = DEVICE_SCRATCH_BYTES / (SUMS * x.cols * sizeof(real));

    return cpu_smaller(cpu_ceil_div(x.rows, BLOCK_ROWS), cpu_smaller(fit, BLOCKS));
}

void CPU(norm_backward)(struct device *d, struct mat dx, struct mat df, struct mat dgain,
                        struct mat dbias, struct mat df_bias, struct mat dy,
                        struct mat dx_later, struct mat x, struct mat stats,
                        struct mat gain, struct drop drop)
{
    struct backward j = {dx,          df, dgain, dbias, df_bias, dy,
                         dx_later,    x,  stats, gain,  drop,    cpu_scratch(d, 0),
                         blocks_of(x)};

    pool_run(d->pool, backward_part, &j);
    pool_run(d->pool, sums_part, &j);
}
