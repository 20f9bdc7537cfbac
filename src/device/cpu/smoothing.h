/*
 * smoothing - the target distribution q of cross-entropy, of a row with label t.
 *
 *   alike   q_t = 1 - s,         q_v = low = s / (V - 1)
 *           K   = -((1 - s) ln(1 - s) + s ln(low + 1e-20))
 *   prior   q_t = 1 - s + s u_t, q_v = s u_v
 *           K   = s H(u) - s ln s + s u_t ln(s u_t) - q_t ln q_t
 *
 * K is the entropy of q, the least that -sum q ln p can be. H(u) = -sum u ln u; x ln x
 * is 0 for x = 0.
 */
#pragma once

#include <math.h>

#include "device/cpu/cpu.h"

static inline double smoothing_low(const struct smoothing *s, size_t V)
{
    return s->rate / (double)(V - 1);
}

static inline double smoothing_xlogx(double x)
{
    return x > 0 ? x * log(x) : 0;
}

/* sum_v z_v, or sum_v u_v z_v, before the exponentials replace z. */
static inline double smoothing_sum(const struct smoothing *s, const real *z, size_t V)
{
    real total = 0;

    if (s->prior.mem) {
        const real *u = cpu_row(s->prior, 0);
        for (size_t v = 0; v < V; v++)
            total += u[v] * z[v];
    } else {
        for (size_t v = 0; v < V; v++)
            total += z[v];
    }
    return (double)total;
}

static inline double smoothing_entropy(const struct smoothing *s, size_t t, size_t V)
{
    const double rate = s->rate;

    if (!(rate > 0))
        return 0;
    if (!s->prior.mem)
        return -((1 - rate) * log(1 - rate) + rate * log(smoothing_low(s, V) + 1e-20));
    const double su = rate * (double)cpu_row(s->prior, 0)[t];
    return rate * s->entropy - smoothing_xlogx(rate) + smoothing_xlogx(su) -
           smoothing_xlogx(1 - rate + su);
}

/* -sum_v q_v ln p_v - K of a row whose z_t was `hit`. */
static inline double smoothing_loss(const struct smoothing *s, size_t t, size_t V,
                                    double hit, double sum, double lse)
{
    const double K = smoothing_entropy(s, t, V);

    if (s->prior.mem)
        return lse - (1 - s->rate) * hit - s->rate * sum - K;
    return lse - (1 - s->rate) * hit - smoothing_low(s, V) * (sum - hit) - K;
}

/* z_v = scale z_v - grad q_v */
static inline void smoothing_gradient(const struct smoothing *s, real *restrict z,
                                      size_t t, size_t V, real scale, double grad)
{
    const double low = s->prior.mem ? 0 : smoothing_low(s, V);

    if (s->prior.mem) {
        const real *restrict u = cpu_row(s->prior, 0), share = (real)(grad * s->rate);
        for (size_t v = 0; v < V; v++)
            z[v] = z[v] * scale - share * u[v];
    } else {
        const real less = (real)(grad * low);
        for (size_t v = 0; v < V; v++)
            z[v] = z[v] * scale - less;
    }
    z[t] -= (real)(grad * (1 - s->rate - low));
}
