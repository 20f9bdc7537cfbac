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
#include "device/cpu/cpu.h"

static void update(real *const at[], size_t n, void *ctx)
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
    CPU(each)(d, (struct mat[]){w, m, g}, 3, update, &how);
}
