/*
 * The bias of a product, where no other kernel adds it:
 *
 *   y[r] += bias,   dbias += sum_r dy[r]
 *
 * Backward gives each thread a slice of columns and all rows, so that the sums do not
 * depend on the number of threads.
 */
#include "device/cpu/cpu.h"

struct job {
    struct mat y, bias;
};

static void forward_part(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const struct pool_range rows = pool_split(j->y.rows, part, n_parts);
    const real *bias = cpu_mat(j->bias);

    for (size_t r = rows.begin; r < rows.end; r++) {
        real *y = cpu_row(j->y, r);
        for (size_t c = 0; c < j->y.cols; c++)
            y[c] += bias[c];
    }
}

void CPU(bias_forward)(struct device *d, struct mat y, struct mat bias)
{
    struct job j = {y, bias};

    pool_run(d->pool, forward_part, &j);
}

static void backward_part(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const struct pool_range cols = cpu_columns(j->y.cols, part, n_parts);
    real *dbias = cpu_mat(j->bias);

    for (size_t r = 0; r < j->y.rows; r++) {
        const real *dy = cpu_row(j->y, r);
        for (size_t c = cols.begin; c < cols.end; c++)
            dbias[c] += dy[c];
    }
}

void CPU(bias_backward)(struct device *d, struct mat dbias, struct mat dy)
{
    struct job j = {dy, dbias};

    pool_run(d->pool, backward_part, &j);
}
