#include "device/rounding.h"

#include "base/pool.h"
#include "device/device.h"
#include "device/half.h"

struct job {
    struct mat m;
    enum precision precision;
    size_t real_bytes;
};

static float rounded(float x, enum precision to)
{
    return to == PRECISION_FP16 ? half_to(half_from(x)) : half_to_b(half_from_b(x));
}

static void round_part(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const struct pool_range rows = pool_split(j->m.rows, part, n_parts);

    for (size_t r = rows.begin; r < rows.end; r++)
        for (size_t c = 0; c < j->m.cols; c++) {
            const size_t at = j->m.at + r * j->m.stride + c;
            if (j->real_bytes == sizeof(double)) {
                double *x = (double *)j->m.mem + at;
                *x = (double)rounded((float)*x, j->precision);
            } else {
                float *x = (float *)j->m.mem + at;
                *x = rounded(*x, j->precision);
            }
        }
}

/* Round what a kernel stored, where that is a MAT_HALF. */
static void round_stored(struct device *d, size_t n, const struct mat *stored)
{
    for (size_t i = 0; i < n; i++) {
        struct job j = {stored[i], d->precision, d->real_bytes};
        if (j.m.mem && j.m.type == MAT_HALF)
            pool_run(d->pool, round_part, &j);
    }
}

#define LIST(...) __VA_ARGS__

/* kernel, its parameters as in KERNEL_LIST, the same as arguments, what it stores */
/* clang-format off */
#define STORING_KERNELS(S)                                                               \
    S(gemm, LIST(struct mat c, struct mat a, struct mat b, bool ta, bool tb,             \
                 double alpha, double beta),                                             \
      LIST(c, a, b, ta, tb, alpha, beta), LIST(c))                                       \
    S(gemm_relu, LIST(struct mat h, struct mat a, struct mat b, struct mat bias),        \
      LIST(h, a, b, bias), LIST(h))                                                      \
    S(embed_forward, LIST(struct mat y, struct mat table, struct mat signal,             \
                          struct ids id, double scale, struct drop drop),                \
      LIST(y, table, signal, id, scale, drop), LIST(y))                                  \
    S(norm_backward, LIST(struct mat dx, struct mat df, struct mat dgain,                \
                          struct mat dbias, struct mat df_bias, struct mat dy,           \
                          struct mat dx_later, struct mat x, struct mat stats,           \
                          struct mat gain, struct drop drop),                            \
      LIST(dx, df, dgain, dbias, df_bias, dy, dx_later, x, stats, gain, drop),           \
      LIST(dx, df))                                                                      \
    S(relu_forward, LIST(struct mat h, struct mat bias, struct drop drop),               \
      LIST(h, bias, drop), LIST(h))                                                      \
    S(relu_backward, LIST(struct mat dh, struct mat dbias, struct mat h, double rate),   \
      LIST(dh, dbias, h, rate), LIST(dh))                                                \
    S(activate_forward, LIST(struct mat h, struct mat z, struct mat bias,                \
                             enum activation act, struct drop drop),                     \
      LIST(h, z, bias, act, drop), LIST(h, z))                                           \
    S(activate_backward, LIST(struct mat dz, struct mat dbias, struct mat dh,            \
                              struct mat z, enum activation act, struct drop drop),      \
      LIST(dz, dbias, dh, z, act, drop), LIST(dz))                                       \
    S(bias_forward, LIST(struct mat y, struct mat bias), LIST(y, bias), LIST(y))         \
    S(attention_forward, LIST(struct mat out, struct mat lse, struct mat q,              \
                              struct mat k, struct mat v, struct attend a),              \
      LIST(out, lse, q, k, v, a), LIST(out))                                             \
    S(attention_backward, LIST(struct mat dq, struct mat dk, struct mat dv,              \
                               struct mat dout, struct mat out, struct mat lse,          \
                               struct mat q, struct mat k, struct mat v,                 \
                               struct attend a),                                         \
      LIST(dq, dk, dv, dout, out, lse, q, k, v, a), LIST(dq, dk, dv))                    \
    S(xent, LIST(struct mat loss, struct ids best, struct mat logits, struct ids label,  \
                 struct smoothing smooth, double grad),                                  \
      LIST(loss, best, logits, label, smooth, grad),                                     \
      LIST(grad != 0 ? logits : (struct mat){0}))                                        \
    S(xent_views, LIST(struct mat loss, struct mat gap, struct mat logits,               \
                       struct mat other, struct ids label, struct smoothing smooth,      \
                       struct views views, double grad),                                 \
      LIST(loss, gap, logits, other, label, smooth, views, grad),                        \
      LIST(grad != 0 ? logits : (struct mat){0}, grad != 0 ? other : (struct mat){0}))   \
    S(fill, LIST(struct mat x, double value), LIST(x, value), LIST(x))                   \
    S(scale, LIST(struct mat x, double by), LIST(x, by), LIST(x))                        \
    S(attend_cache, LIST(struct mat out, struct mat q, struct cache cache),              \
      LIST(out, q, cache), LIST(out))                                                    \
    S(attend_memory, LIST(struct mat out, struct mat q, struct mat k, struct mat v,      \
                          struct ids first, struct ids last, size_t heads),              \
      LIST(out, q, k, v, first, last, heads), LIST(out))
/* clang-format on */

#define ROUNDING_KERNEL(name, params, args, stored)                    \
    static void round_##name(struct device *d, params)                 \
    {                                                                  \
        d->exact->name(d, args);                                       \
        const struct mat to_round[] = {stored};                        \
        round_stored(d, sizeof to_round / sizeof *to_round, to_round); \
    }
STORING_KERNELS(ROUNDING_KERNEL)

/* What is normalised is x as it is stored, so that y is the same where a backward pass
 * computes it again from x. */
static void round_norm_forward(struct device *d, struct mat x, struct mat y,
                               struct mat stats, struct mat base, struct mat f,
                               struct mat f_bias, struct mat gain, struct mat bias,
                               double epsilon, struct drop drop)
{
    d->exact->norm_forward(d, x, y, stats, base, f, f_bias, gain, bias, epsilon, drop);
    if (f.mem && x.type == MAT_HALF) {
        const struct mat none = {0};
        round_stored(d, 1, &x);
        d->exact->norm_forward(d, x, y, stats, x, none, none, gain, bias, epsilon, drop);
    }
    round_stored(d, 1, &y);
}

#define PUT_IN_FRONT(name, params, args, stored) d->rounding.name = round_##name;

void rounding_begin(struct device *d)
{
    d->exact = d->k;
    d->rounding = *d->k; /* what stores nothing in 16 bits stays as it is */
    STORING_KERNELS(PUT_IN_FRONT)
    d->rounding.norm_forward = round_norm_forward;
    d->k = &d->rounding;
}
