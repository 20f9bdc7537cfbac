#include "decode/tensor_values.h"

#include <stdint.h>
#include <string.h>

#include "device/half.h"
#include "format/le.h"
#include "format/tf/tensor_dtype.h"

bool tensor_values_known(int dtype)
{
    return dtype == TENSOR_FLOAT || dtype == TENSOR_DOUBLE || dtype == TENSOR_HALF ||
           dtype == TENSOR_BFLOAT16;
}

static double value_at(const unsigned char *bytes, int dtype, size_t i)
{
    const unsigned char *two = bytes + 2 * i;

    if (dtype == TENSOR_FLOAT)
        return (double)half_float(le_get32(bytes + 4 * i));
    if (dtype == TENSOR_DOUBLE) {
        const uint64_t bits = le_get64(bytes + 8 * i);
        double x;
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    const uint16_t bits = (uint16_t)(two[0] | two[1] << 8);
    return (double)(dtype == TENSOR_HALF ? half_to(bits) : half_to_b(bits));
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
