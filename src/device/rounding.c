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

static void settle_part(void *ctx, size_t part, size_t n_parts)
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

/* Round what a kernel stored, if it is a MAT_HALF at all. */
static void settle(struct device *d, struct mat m)
{
    struct job j = {m, d->precision, d->real_bytes};

    if (m.mem && m.type == MAT_HALF)
        pool_run(d->pool, settle_part, &j);
}

static void emu_gemm(struct device *d, struct mat c, struct mat a, struct mat b, bool ta,
                     bool tb, double alpha, double beta)
{
    d->exact->gemm(d, c, a, b, ta, tb, alpha, beta);
    settle(d, c);
}

static void emu_gemm_relu(struct device *d, struct mat h, struct mat a, struct mat b,
                          struct mat bias)
{
    d->exact->gemm_relu(d, h, a, b, bias);
    settle(d, h);
}

static void emu_embed_forward(struct device *d, struct mat y, struct mat table,
                              struct mat signal, struct ids id, double scale,
                              struct drop drop)
{
    d->exact->embed_forward(d, y, table, signal, id, scale, drop);
    settle(d, y);
}

static void emu_norm_forward(struct device *d, struct mat x, struct mat y,
                             struct mat stats, struct mat base, struct mat f,
                             struct mat f_bias, struct mat gain, struct mat bias,
                             double epsilon, struct drop drop)
{
    d->exact->norm_forward(d, x, y, stats, base, f, f_bias, gain, bias, epsilon, drop);
    settle(d, x);
    settle(d, y);
}

static void emu_norm_backward(struct device *d, struct mat dx, struct mat df,
                              struct mat dgain, struct mat dbias, struct mat df_bias,
                              struct mat dy, struct mat dx_later, struct mat x,
                              struct mat stats, struct mat gain, struct drop drop)
{
    d->exact->norm_backward(d, dx, df, dgain, dbias, df_bias, dy, dx_later, x, stats,
                            gain, drop);
    settle(d, dx);
    settle(d, df);
}

static void emu_relu_forward(struct device *d, struct mat h, struct mat bias,
                             struct drop drop)
{
    d->exact->relu_forward(d, h, bias, drop);
    settle(d, h);
}

static void emu_relu_backward(struct device *d, struct mat dh, struct mat dbias,
                              struct mat h, double rate)
{
    d->exact->relu_backward(d, dh, dbias, h, rate);
    settle(d, dh);
}

static void emu_attention_forward(struct device *d, struct mat out, struct mat lse,
                                  struct mat q, struct mat k, struct mat v,
                                  struct attend a)
{
    d->exact->attention_forward(d, out, lse, q, k, v, a);
    settle(d, out);
}

static void emu_attention_backward(struct device *d, struct mat dq, struct mat dk,
                                   struct mat dv, struct mat dout, struct mat out,
                                   struct mat lse, struct mat q, struct mat k,
                                   struct mat v, struct attend a)
{
    d->exact->attention_backward(d, dq, dk, dv, dout, out, lse, q, k, v, a);
    settle(d, dq);
    settle(d, dk);
    settle(d, dv);
}

static void emu_xent(struct device *d, struct mat loss, struct ids best,
                     struct mat logits, struct ids label, double smooth, double grad)
{
    d->exact->xent(d, loss, best, logits, label, smooth, grad);
    if (grad != 0)
        settle(d, logits);
}

static void emu_fill(struct device *d, struct mat x, double value)
{
    d->exact->fill(d, x, value);
    settle(d, x);
}

static void emu_scale(struct device *d, struct mat x, double by)
{
    d->exact->scale(d, x, by);
    settle(d, x);
}

static void emu_attend_cache(struct device *d, struct mat out, struct mat q,
                             struct cache cache)
{
    d->exact->attend_cache(d, out, q, cache);
    settle(d, out);
}

static void emu_attend_memory(struct device *d, struct mat out, struct mat q,
                              struct mat k, struct mat v, struct ids first,
                              struct ids last, size_t heads)
{
    d->exact->attend_memory(d, out, q, k, v, first, last, heads);
    settle(d, out);
}

void rounding_begin(struct device *d)
{
    d->exact = d->k;
    d->rounding = *d->k; /* what stores nothing in 16 bits stays as it is */
#define E(name) d->rounding.name = emu_##name;
    E(gemm)
    E(gemm_relu)
    E(embed_forward)
    E(norm_forward)
    E(norm_backward)
    E(relu_forward)
    E(relu_backward)
    E(attention_forward)
    E(attention_backward)
    E(xent)
    E(fill)
    E(scale)
    E(attend_cache)
    E(attend_memory)
#undef E
    d->k = &d->rounding;
}
