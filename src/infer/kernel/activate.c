/*
 * Activations of feed-forward layers (base/activation.h) that are not ReLU, which
 * products know; and all of them where a gate follows. All but ReLU and GELU are x
 * s(y(x)) with the logistic function s, in numbers that are never positive, for which exp
 * is made:
 *
 *   s(y) = 1 / (1 + e) for y >= 0, e / (1 + e) for y < 0,  e = exp(-|y|)
 */
#include <math.h>

#include "infer/kernel/kernel.h"

/* e[i] = exp(-|y[i]|) for sixteen numbers. */
LANES_INLINE void exp_of(float *e, const float *y)
{
    float less[LANES];

    for (int i = 0; i < LANES; i++)
        less[i] = -fabsf(y[i]);
    lanes_store(e, lanes_exp(lanes_load(less)));
}

/* x s(y) for sixteen numbers. */
LANES_INLINE void gate(float *x, const float *y)
{
    float e[LANES];

    exp_of(e, y);
    for (int i = 0; i < LANES; i++)
        x[i] *= (y[i] < 0 ? e[i] : 1) / (1 + e[i]);
}

LANES_INLINE void gelu(float *x)
{
    float square[LANES], e[LANES];

    for (int i = 0; i < LANES; i++)
        square[i] = x[i] * x[i] * 0.5f;
    exp_of(e, square);
    for (int i = 0; i < LANES; i++) {
        const float t = 1 / (1 + 0.3275911f * 0.70710678f * fabsf(x[i]));
        float p = 1.061405429f * t - 1.453152027f;
        p = p * t + 1.421413741f;
        p = p * t - 0.284496736f;
        p = p * t + 0.254829592f;
        const float tail = p * t * e[i]; /* 1 - erf of the magnitude */
        x[i] *= 0.5f * (x[i] < 0 ? tail : 2 - tail);
    }
}

LANES_INLINE void activate_some(float *x, enum activation kind)
{
    float y[LANES];

    for (int i = 0; i < LANES; i++)
        switch (kind) {
        case ACTIVATION_GELU_TANH:
            y[i] = 1.59576912f * (x[i] + 0.044715f * x[i] * x[i] * x[i]);
            break;
        case ACTIVATION_GELU_SIGMOID:
            y[i] = 1.702f * x[i];
            break;
        default:
            y[i] = x[i];
        }
    gate(x, y);
}

LANES_INLINE void relu(float *x)
{
    for (int i = 0; i < LANES; i++)
        x[i] = x[i] < 0 ? 0 : x[i];
}

LANES_INLINE void activate_any(float *x, enum activation kind)
{
    if (kind == ACTIVATION_RELU)
        relu(x);
    else if (kind == ACTIVATION_GELU)
        gelu(x);
    else
        activate_some(x, kind);
}

void KERNEL(activate)(const struct kernels_input *a, enum activation kind, size_t first,
                      size_t n)
{
    for (size_t row = first; row < first + n; row++) {
        float *x = a->real + row * a->stride;
        for (size_t i = 0; i < lanes_round(a->n); i += LANES)
            activate_any(x + i, kind);
    }
}

void KERNEL(gate)(const struct kernels_input *h, const float *up, size_t up_stride,
                  enum activation kind, size_t first, size_t n)
{
    for (size_t row = first; row < first + n; row++) {
        const float *u = up + row * up_stride, *v = u + h->n;
        float *to = h->real + row * h->stride;
        for (size_t i = 0; i < h->n; i += LANES) {
            const size_t left = h->n - i;
            float x[LANES], by[LANES];
            lanes_store(x, lanes_load_first(u + i, left));
            lanes_store(by, lanes_load_first(v + i, left));
            activate_any(x, kind);
            for (int k = 0; k < LANES; k++)
                x[k] *= by[k]; /* zero behind the last, as padding is */
            lanes_store(to + i, lanes_load(x));
        }
    }
}
