/*
 * Bias, activation, gate and dropout between the two products of a feed-forward layer
 * (base/activation.h has a and its derivative):
 *
 *   z += bias,  h = drop(a(z))                 or, where z = u|v has twice the columns,
 *               h = drop(a(u) * v)
 *
 *   dz = m dh a'(z)                            du = m dh a'(u) v,  dv = m dh a(u)
 *   dbias += sum_r dz
 *
 * with the mask m of dropout, which is computed again. ReLU without a gate has kernels of
 * its own (relu.c), which keep h alone. A NaN passes: it must reach the loss. Backward
 * gives each thread a slice of columns and all rows, so that its sums have one order.
 */
#include "device/cpu/cpu.h"
#include "device/cpu/hash.h"
#include "device/cpu/vexp.h"

enum { SOME = 64 }; /* columns at a time */

struct job {
    struct mat h, z, bias, dz; /* h: dh in backward, bias: dbias */
    enum activation act;
    struct drop drop;
};

/* a(x) and a'(x) */
struct value {
    real a, slope;
};

/* e is exp(-x^2/2), which the density of the normal distribution has too. */
static inline float erf_float(float x, float e)
{
    const float t = 1 / (1 + 0.3275911f * 0.70710678f * (x < 0 ? -x : x));
    float p = 1.061405429f * t - 1.453152027f;

    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    p = 1 - p * t * e;
    return x < 0 ? -p : p;
}

static inline double erf_double(double x, double e)
{
    (void)e;
    return erf(x * 0.70710678118654752440);
}

/* erf(x / sqrt(2)) */
#define ERF(x, e) _Generic((x), float : erf_float, double : erf_double)(x, e)

static inline struct value normal(real x)
{
    const real e = vexp(-x * x / 2);
    const real p = (1 + ERF(x, e)) / 2;

    return (struct value){x * p, p + x * e * (real)0.39894228040143267794};
}

/* x s(y), y' given */
static inline struct value logistic(real x, real y, real slope)
{
    const real s = 1 / (1 + vexp(-y));

    return (struct value){x * s, s + x * s * (1 - s) * slope};
}

static inline struct value value_of(real x, enum activation act)
{
    const real k = (real)1.59576912160573071176; /* 2 sqrt(2 / pi) */
    const real c = (real)0.044715;

    switch (act) {
    case ACTIVATION_SWISH:
        return logistic(x, x, 1);
    case ACTIVATION_GELU:
        return normal(x);
    case ACTIVATION_GELU_TANH:
        return logistic(x, k * (x + c * x * x * x), k * (1 + 3 * c * x * x));
    case ACTIVATION_GELU_SIGMOID:
        return logistic(x, (real)1.702 * x, (real)1.702);
    default:
        return (struct value){x < 0 ? 0 : x, x > 0};
    }
}

/* `act` is a constant where this is expanded, so that compilers vectorise one loop for
 * each activation. */
static inline void forward_row(const struct job *j, size_t r, enum activation act)
{
    const size_t F = j->h.cols;
    const real keep = (real)(1 / (1 - j->drop.rate));
    const real *bias = cpu_mat(j->bias);
    real *z = cpu_row(j->z, r), *h = cpu_row(j->h, r);

    for (size_t c = 0; c < j->z.cols; c++)
        z[c] += bias[c];
    if (j->z.cols > F)
        for (size_t c = 0; c < F; c++)
            h[c] = value_of(z[c], act).a * z[F + c] * keep;
    else
        for (size_t c = 0; c < F; c++)
            h[c] = value_of(z[c], act).a * keep;
}

/* x goes to `to`, and onto a sum. */
static inline void put(real *to, real *restrict sum, const real *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = x[i];
        sum[i] += x[i];
    }
}

/* Columns [from, from + n): dz may be z, so what is read of z is copied first. */
static inline void backward_some(const struct job *j, size_t r, size_t from, size_t n,
                                 enum activation act)
{
    const size_t F = j->h.cols;
    const bool has_gate = j->z.cols > F;
    const uint32_t limit = hash_threshold(j->drop.rate);
    const uint32_t row = limit ? hash_drop(&j->drop, r) : 0;
    const real keep = (real)(1 / (1 - j->drop.rate));
    const real *dh = cpu_row(j->h, r) + from, *z = cpu_row(j->z, r) + from;
    real *dz = cpu_row(j->dz, r) + from, *dbias = cpu_mat(j->bias) + from;
    real d[SOME], u[SOME], v[SOME];

    for (size_t i = 0; i < n; i++)
        d[i] = hash_channel(row, (uint32_t)(from + i)) >= limit ? dh[i] * keep : 0;
    for (size_t i = 0; i < n; i++) {
        const struct value x = value_of(z[i], act);
        u[i] = d[i] * x.slope;
        v[i] = d[i] * x.a;
    }
    for (size_t i = 0; has_gate && i < n; i++)
        u[i] *= z[F + i];
    put(dz, dbias, u, n);
    if (has_gate)
        put(dz + F, dbias + F, v, n);
}

static inline void backward_row(const struct job *j, size_t r, struct pool_range cols,
                                enum activation act)
{
    for (size_t c = cols.begin; c < cols.end; c += SOME)
        backward_some(j, r, c, cpu_smaller(SOME, cols.end - c), act);
}

#define WITH(act, call)         \
    case ACTIVATION_##act:      \
        call(ACTIVATION_##act); \
        break;
#define FOR_ACTIVATION(act, call) \
    switch (act) {                \
        WITH(RELU, call)          \
        WITH(SWISH, call)         \
        WITH(GELU, call)          \
        WITH(GELU_TANH, call)     \
        WITH(GELU_SIGMOID, call)  \
    }

static void drop_row(const struct job *j, size_t r, uint32_t limit)
{
    const uint32_t row = hash_drop(&j->drop, r);
    real *h = cpu_row(j->h, r);

    for (size_t c = 0; c < j->h.cols; c++)
        h[c] = hash_channel(row, (uint32_t)c) >= limit ? h[c] : 0;
}

static void forward_part(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const struct pool_range rows = pool_split(j->h.rows, part, n_parts);
    const uint32_t limit = hash_threshold(j->drop.rate);

    for (size_t r = rows.begin; r < rows.end; r++) {
#define FORWARD(act) forward_row(j, r, act)
        FOR_ACTIVATION(j->act, FORWARD)
        if (limit)
            drop_row(j, r, limit);
    }
}

void CPU(activate_forward)(struct device *d, struct mat h, struct mat z, struct mat bias,
                           enum activation act, struct drop drop)
{
    struct job j = {.h = h, .z = z, .bias = bias, .act = act, .drop = drop};

    pool_run(d->pool, forward_part, &j);
}

static void backward_part(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const struct pool_range cols = cpu_columns(j->h.cols, part, n_parts);

    for (size_t r = 0; r < j->h.rows; r++) {
#define BACKWARD(act) backward_row(j, r, cols, act)
        FOR_ACTIVATION(j->act, BACKWARD)
    }
}

void CPU(activate_backward)(struct device *d, struct mat dz, struct mat dbias,
                            struct mat dh, struct mat z, enum activation act,
                            struct drop drop)
{
    struct job j = {.h = dh, .z = z, .bias = dbias, .dz = dz, .act = act, .drop = drop};

    pool_run(d->pool, backward_part, &j);
}
