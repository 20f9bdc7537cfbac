/*
 * Bias, ReLU and dropout in place:
 *
 *   h  = drop(max(h + bias, 0))
 *   dh = dh / (1 - rate) where h > 0, else 0;   dbias += sum_r dh
 *
 * A channel that was dropped and one that was negative are both 0 afterwards and have
 * no gradient, so h itself is the mask. A NaN passes: it must reach the loss.
 */
#include "device/cpu/cpu.h"
#include "device/cpu/hash.h"

struct job {
    struct mat h, bias, dh;
    struct drop drop;
};

static void forward_part(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const struct pool_range rows = pool_split(j->h.rows, part, n_parts);
    const uint32_t limit = hash_threshold(j->drop.rate);
    const real keep = (real)(1 / (1 - j->drop.rate));
    const real *bias = cpu_mat(j->bias);

    for (size_t r = rows.begin; r < rows.end; r++) {
        real *h = cpu_row(j->h, r);
        for (size_t c = 0; c < j->h.cols; c++) {
            const real v = h[c] + bias[c];
            h[c] = v < 0 ? 0 : v * keep;
        }
        if (!limit)
            continue;
        const uint32_t row = hash_drop(&j->drop, r);
        for (size_t c = 0; c < j->h.cols; c++)
            h[c] = hash_channel(row, (uint32_t)c) >= limit ? h[c] : 0;
    }
}

void CPU(relu_forward)(struct device *d, struct mat h, struct mat bias, struct drop drop)
{
    struct job j = {.h = h, .bias = bias, .drop = drop};

    pool_run(d->pool, forward_part, &j);
}

/* A product and what follows it where no gradient is wanted. Here one after the other;
 * some libraries do both in one pass. */
void CPU(gemm_relu)(struct device *d, struct mat h, struct mat a, struct mat b,
                    struct mat bias)
{
    CPU(gemm)(d, h, a, b, false, false, 1, 0);
    CPU(relu_forward)(d, h, bias, (struct drop){0});
}

static void backward_part(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const struct pool_range cols = cpu_columns(j->h.cols, part, n_parts);
    const real keep = (real)(1 / (1 - j->drop.rate));
    real *dbias = cpu_mat(j->bias);

    for (size_t r = 0; r < j->h.rows; r++) {
        const real *h = cpu_row(j->h, r);
        real *dh = cpu_row(j->dh, r);
        for (size_t c = cols.begin; c < cols.end; c++) {
            dh[c] = h[c] > 0 ? dh[c] * keep : 0;
            dbias[c] += dh[c];
        }
    }
}

void CPU(relu_backward)(struct device *d, struct mat dh, struct mat dbias, struct mat h,
                        double rate)
{
    struct job j = {.h = h, .bias = dbias, .dh = dh, .drop = {.rate = rate}};

    pool_run(d->pool, backward_part, &j);
}
