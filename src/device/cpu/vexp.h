/*
 * vexp - exp without a branch or a call, so that compilers vectorise the loops around it.
 *
 *   exp(x) = 2^n exp(r),  n = round(x / ln 2),  r = x - n ln 2,  |r| <= ln 2 / 2
 *
 * ln 2 is split in two so that r is exact to the last bit; exp(r) is a polynomial of
 * degree 6, within 2 units in the last place of a float over the whole range. Below
 * -87 the result is about 1e-38, never a denormal. In double it is the C library's.
 */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "device/cpu/cpu.h"

static inline float vexp_float(float x)
{
    x = x > 88.0f ? 88.0f : x;
    x = x < -87.0f ? -87.0f : x;
    const float t = x * 1.44269504f;
    const int32_t n = (int32_t)(t + (t < 0 ? -0.5f : 0.5f));
    const float r = (x - (float)n * 0.693359375f) + (float)n * 2.12194440e-4f;
    float p = 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    const uint32_t bits = (uint32_t)(n + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

static inline double vexp_double(double x)
{
    return exp(x);
}

#define vexp(x) _Generic((x), float : vexp_float, double : vexp_double)(x)
