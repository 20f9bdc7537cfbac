/*
 * half - 16-bit floating-point numbers on the host: IEEE half and bfloat16.
 *
 * Rounded to the nearest, ties to even, as every device does; half_from_b and half_to_b
 * are of bfloat16. The one converter of the host: mixed precision on a CPU, gradients on
 * the wire and weights in checkpoints all use it. GPUs have device/gpu/numbers.h.
 */
#pragma once

#include <stdint.h>
#include <string.h>

static inline uint32_t half_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float half_float(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* IEEE half; what is too large becomes infinite. Selections instead of branches, so that
 * compilers vectorise loops over it. Adding 1/2 rounds a denormal at its last bit. */
static inline uint16_t half_from(float x)
{
    const uint32_t bits = half_bits(x), sign = bits >> 16 & 0x8000u;
    const uint32_t size = bits & 0x7fffffffu;
    const uint32_t denormal = half_bits(half_float(size) + 0.5f) - 0x3f000000u;
    const uint32_t normal = (size + 0xc8000fffu + (size >> 13 & 1u)) >> 13;
    const uint32_t finite = size < 0x38800000u ? denormal : normal;
    const uint32_t large = size > 0x7f800000u ? 0x7e00u : 0x7c00u; /* NaN, infinity */

    return (uint16_t)(sign | (size < 0x477ff000u ? finite : large));
}

static inline float half_to(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    const uint32_t rest = (uint32_t)(h & 0x7fffu) << 13;
    const uint32_t top = rest >= 0x0f800000u ? 0x7f800000u : 0u; /* infinity, NaN */

    return half_float(sign | top | half_bits(half_float(rest) * 5.192296858534828e33f));
}

static inline uint16_t half_from_b(float x)
{
    const uint32_t bits = half_bits(x);

    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static inline float half_to_b(uint16_t h)
{
    return half_float((uint32_t)h << 16);
}

/* The largest finite half: weights are kept within it. */
#define HALF_MAX 65504.0f

static inline float half_clip(float x)
{
    return x > HALF_MAX ? HALF_MAX : x < -HALF_MAX ? -HALF_MAX : x;
}
