/*
 * vexp - exp without a branch or a call, so that compilers vectorise the loops around it.
 *
 *   exp(x) = 2^n exp(r) (1 + n e),   n = round(x / ln 2),  r = x - n L,  e = L - ln 2
 *
 * L is ln 2 to 17 bits, so that n L and r are exact, and |n e| < 1.8e-4, so that the
 * square of it is below the last place. (The usual sum of two parts of ln 2 loses up to
 * six bits here, because the kernels are compiled with -fassociative-math.) exp(r) is a
 * polynomial of degree 6 whose relative error, 3.6e-9, is smallest on |r| <= ln 2 / 2.
 * Measured by tests/test_kernel_edges.c: within 2.5 units in the last place of a float. x
 * is kept in [-87, 88]: nothing overflows, and below -87 the result stays 1.6e-38, never
 * a denormal; a NaN stays one. In double it is the C library's.
 */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "device/cpu/cpu.h"

#define VEXP_L 0.693145751953125f /* 90852 / 2^17 */
#define VEXP_E -1.428606820e-06f

static inline float vexp_float(float x)
{
    x = x > 88.0f ? 88.0f : x;
    x = x < -87.0f ? -87.0f : x;
    /* n + 127, above 0; of a NaN the smallest integer, whose difference wraps */
    const int32_t biased = (int32_t)(x * 1.44269504f + 127.5f);
    const float n = (float)(int32_t)((uint32_t)biased - 127u), r = x - n * VEXP_L;
    float p = 1.381453942e-3f;
    p = p * r + 8.368745446e-3f;
    p = p * r + 4.166838899e-2f;
    p = p * r + 1.666652113e-1f;
    p = p * r + 4.999999404e-1f;
    p = p * r * r + r + 1.0f;
    p += p * (n * VEXP_E);
    const uint32_t bits = (uint32_t)biased << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

static inline double vexp_double(double x)
{
    return exp(x);
}

#define vexp(x) _Generic((x), float : vexp_float, double : vexp_double)(x)
