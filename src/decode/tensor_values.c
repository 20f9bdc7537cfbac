#include "decode/tensor_values.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "format/le.h"
#include "format/tf/tensor_dtype.h"

bool tensor_values_known(int dtype)
{
    return dtype == TENSOR_FLOAT || dtype == TENSOR_DOUBLE || dtype == TENSOR_HALF ||
           dtype == TENSOR_BFLOAT16;
}

static float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* IEEE half: 1 sign, 5 exponent (bias 15), 10 fraction bits. */
static double half_of(uint32_t bits)
{
    const int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
    double size;

    if (exponent == 31)
        size = fraction ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        size = ldexp(fraction, -24);
    else
        size = ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 ? -size : size;
}

static double value_at(const unsigned char *bytes, int dtype, size_t i)
{
    const unsigned char *two = bytes + 2 * i;

    if (dtype == TENSOR_FLOAT)
        return (double)float_of(le_get32(bytes + 4 * i));
    if (dtype == TENSOR_DOUBLE) {
        const uint64_t bits = le_get64(bytes + 8 * i);
        double x;
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    const uint32_t bits = (uint32_t)two[0] | (uint32_t)two[1] << 8;
    return dtype == TENSOR_HALF ? half_of(bits) : (double)float_of(bits << 16);
}

void tensor_values_float(float *out, const unsigned char *bytes, int dtype, size_t first,
                         size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (float)value_at(bytes, dtype, first + i);
}

void tensor_values_add(double *out, const unsigned char *bytes, int dtype, size_t first,
                       size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] += value_at(bytes, dtype, first + i);
}
