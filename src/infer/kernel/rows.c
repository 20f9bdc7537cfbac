/*
 * What happens to one row between two products: residual, normalisation, rounding to
 * bytes; and the row of a token.
 */
#include <math.h>

#include "infer/kernel/dot.h"
#include "infer/kernel/kernel.h"

/* The largest magnitude of n floats in whole lanes, of which the padding is zero. Without
 * their sign floats are ordered as the integers of their bits, and what is not a number
 * comes last: it is not passed over. */
static float top_magnitude(const float *x, size_t n)
{
    struct dot_sum top = {0};
    int32_t bits[LANES];

    for (size_t i = 0; i < n; i += LANES) {
        const struct dot_sum next = dot_load(x + i);
        LANES_UNROLL
        for (int v = 0; v < LANES_VECS; v++)
            top.v[v] = dot_larger(next.v[v] & 0x7fffffff, top.v[v]);
    }
    for (size_t v = 0; v < LANES_VECS; v++)
        *(dot_loose *)(bits + v * LANES_EACH) = top.v[v];
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            bits[l] = bits[l + half] > bits[l] ? bits[l + half] : bits[l];
    float largest;
    memcpy(&largest, bits, sizeof largest);
    return largest;
}

/*
 * Sixteen bytes round(x by) + DOT_OFFSET. Beyond 2^23 floats have no digits behind the
 * point: adding 1.5 * 2^23 rounds to the nearest integer, of two equally near to the even
 * one, and leaves it in the low bits of the sum.
 */
LANES_INLINE void put_bytes(uint8_t *byte, const float *x, float by)
{
    const struct lanes shift = lanes_all(12582912.0f + DOT_OFFSET);
    const struct lanes sum = lanes_add(lanes_mul(lanes_load(x), lanes_all(by)), shift);

#if defined(__AVX512F__)
    _mm_storeu_si128((__m128i *)byte, _mm512_cvtepi32_epi8((__m512i)sum.v[0]));
#else
    uint32_t bits[LANES];
    memcpy(bits, &sum, sizeof bits);
    for (int i = 0; i < LANES; i++)
        byte[i] = (uint8_t)bits[i];
#endif
}

/* byte = round(127 x / top) + offset, scale = top / 127; padding as zero. Where 127 / top
 * is not finite, the row counts as zero: so small are its numbers, or they are none. */
static void quantise_row(const struct kernels_input *a, size_t row)
{
    const float *restrict x = a->real + row * a->stride;
    uint8_t *restrict byte = a->byte + row * a->byte_stride;
    const float top = top_magnitude(x, a->n);
    const float by = isfinite(127 / top) ? 127 / top : 0;

    a->scale[row] = isfinite(top) ? top / 127 : NAN;
    for (size_t i = 0; i < lanes_round(a->n); i += LANES)
        put_bytes(byte + i, x + i, by);
    for (size_t i = lanes_round(a->n); i < a->byte_stride; i++)
        byte[i] = DOT_OFFSET;
}

void KERNEL(quantise)(const struct kernels_input *a, size_t first, size_t n)
{
    for (size_t row = first; row < first + n; row++)
        quantise_row(a, row);
}

static void add_row(float *restrict x, const float *restrict f, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] += f[i];
}

/* Sum of (x - mean)^2; the padding, which is zero and not the mean, is left out. */
static float sum_of_squares(const float *x, float mean, size_t n)
{
    struct lanes sum = lanes_all(0);
    float end[LANES] = {0};
    size_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        const struct lanes d = lanes_sub(lanes_load(x + i), lanes_all(mean));
        sum = lanes_add(sum, lanes_mul(d, d));
    }
    for (size_t l = 0; i + l < n; l++)
        end[l] = x[i + l] - mean;
    const struct lanes d = lanes_load(end);
    return lanes_sum(lanes_add(sum, lanes_mul(d, d)));
}

static void norm_row(const struct kernels_input *y, const struct kernels_norm *how,
                     unsigned forms, size_t row)
{
    float *restrict x = how->x + row * how->stride, *restrict to =
                                                        y->real + row * y->stride;
    const float *restrict gain = how->gain, *restrict bias = how->bias;
    const size_t n = y->n;

    if (how->f)
        add_row(x, how->f + row * how->stride, lanes_round(n));
    const float mean = lanes_sum_of(x, n) / (float)n;
    const float var = sum_of_squares(x, mean, n) / (float)n;
    const float by = 1 / sqrtf(var + how->epsilon);
    for (size_t i = 0; i < lanes_round(n); i++)
        to[i] = (x[i] - mean) * by * gain[i] + bias[i];
    if (forms & KERNELS_BYTE)
        quantise_row(y, row);
}

void KERNEL(norm)(const struct kernels_input *y, const struct kernels_norm *how,
                  unsigned forms, size_t first, size_t n)
{
    for (size_t row = first; row < first + n; row++)
        norm_row(y, how, forms, row);
}

static void embed_int8(float *restrict x, const struct linear *table, size_t id,
                       const float *restrict signal, float scale)
{
    const size_t D = table->n_in;
    const int8_t *q = (const int8_t *)table->panel +
                      id / LINEAR_PANEL * linear_panel_bytes(LINEAR_INT8, D) +
                      id % LINEAR_PANEL * 4;
    const float by = table->scale[id];

    for (size_t k = 0; k < D; k++) {
        const size_t at = k / 4 * 64 + k % 4;
        x[k] = scale * ((float)q[at] * by) + signal[k];
    }
}

static void embed_float(float *restrict x, const struct linear *table, size_t id,
                        const float *restrict signal, float scale)
{
    const float *e = (const float *)table->panel +
                     id / LINEAR_PANEL * table->n_in * LINEAR_PANEL + id % LINEAR_PANEL;

    for (size_t k = 0; k < table->n_in; k++)
        x[k] = scale * e[k * LINEAR_PANEL] + signal[k];
}

void KERNEL(embed)(float *x, const struct linear *table, int32_t id, const float *signal,
                   float scale)
{
    const size_t D = table->n_in;

    if (id < 0)
        memcpy(x, signal, D * sizeof *x);
    else if (table->type == LINEAR_INT8)
        embed_int8(x, table, (size_t)id, signal, scale);
    else
        embed_float(x, table, (size_t)id, signal, scale);
    for (size_t k = D; k < lanes_round(D); k++)
        x[k] = 0;
}
