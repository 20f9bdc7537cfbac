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
 * Saved: x and two numbers a row. The sums over rows are taken by slices of columns, so
 * that they do not depend on the number of threads.
 */
#include <math.h>

#include "device/cpu/cpu.h"
#include "device/cpu/hash.h"

enum { LINE = 16 }; /* columns of one slice are whole cache lines */

struct job {
    struct mat x, y, stats, base, f, f_bias, gain, bias;
    struct mat dx, df, dgain, dbias, df_bias, dy, later;
    double epsilon;
    struct drop drop;
};

static void add_residual(const struct job *j, size_t r, real *x)
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

static void normalise(const struct job *j, size_t r, const real *x)
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
    const struct job *j = ctx;
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
    struct job j = {.x = x,
                    .y = y,
                    .stats = stats,
                    .base = base,
                    .f = f,
                    .f_bias = f_bias,
                    .gain = gain,
                    .bias = bias,
                    .epsilon = epsilon,
                    .drop = drop};

    pool_run(d->pool, forward_part, &j);
}

static void backward_row(const struct job *j, size_t r)
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

static void drop_row(const struct job *j, size_t r)
{
    const uint32_t limit = hash_threshold(j->drop.rate);
    const uint32_t row = limit ? hash_drop(&j->drop, r) : 0;
    const real keep = (real)(1 / (1 - j->drop.rate));
    const real *dx = cpu_row(j->dx, r);
    real *df = cpu_row(j->df, r);

    for (size_t c = 0; c < j->dx.cols; c++)
        df[c] = hash_channel(row, (uint32_t)c) >= limit ? dx[c] * keep : 0;
}

static void backward_part(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const struct pool_range rows = pool_split(j->x.rows, part, n_parts);

    for (size_t r = rows.begin; r < rows.end; r++) {
        backward_row(j, r);
        if (j->df.mem)
            drop_row(j, r);
    }
}

static void sums_part(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const size_t D = j->x.cols;
    const struct pool_range lines = pool_split((D + LINE - 1) / LINE, part, n_parts);
    const size_t begin = lines.begin * LINE,
                 end = lines.end * LINE < D ? lines.end * LINE : D;
    real *dgain = cpu_mat(j->dgain), *dbias = cpu_mat(j->dbias);
    real *df_bias = j->df_bias.mem ? cpu_mat(j->df_bias) : NULL;

    for (size_t r = 0; r < j->x.rows; r++) {
        const real *x = cpu_row(j->x, r), *dy = cpu_row(j->dy, r);
        const real mean = cpu_row(j->stats, r)[0], rstd = cpu_row(j->stats, r)[1];
        for (size_t c = begin; c < end; c++) {
            dgain[c] += dy[c] * ((x[c] - mean) * rstd);
            dbias[c] += dy[c];
        }
        if (df_bias) {
            const real *df = cpu_row(j->df, r);
            for (size_t c = begin; c < end; c++)
                df_bias[c] += df[c];
        }
    }
}

void CPU(norm_backward)(struct device *d, struct mat dx, struct mat df, struct mat dgain,
                        struct mat dbias, struct mat df_bias, struct mat dy,
                        struct mat dx_later, struct mat x, struct mat stats,
                        struct mat gain, struct drop drop)
{
    struct job j = {.dx = dx,
                    .df = df,
                    .dgain = dgain,
                    .dbias = dbias,
                    .df_bias = df_bias,
                    .dy = dy,
                    .later = dx_later,
                    .x = x,
                    .stats = stats,
                    .gain = gain,
                    .drop = drop};

    pool_run(d->pool, backward_part, &j);
    pool_run(d->pool, sums_part, &j);
}
