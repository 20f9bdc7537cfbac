/* tensor_values - the numbers in a checkpoint's tensors, whatever their width. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* float32, float64, float16 or bfloat16 */
bool tensor_values_known(int dtype);

/* Elements [first, first + n) of little-endian bytes of a known type. */
void tensor_values_float(float *out, const unsigned char *bytes, int dtype, size_t first,
                         size_t n);
/* out[i] += the element: for sums over several tensors. */
void tensor_values_add(double *out, const unsigned char *bytes, int dtype, size_t first,
                       size_t n);
