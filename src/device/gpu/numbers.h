/*
 * numbers - what kernels store, and functions of theirs that must agree everywhere.
 *
 * STORAGE chooses the type of activations and of the weights that products read: 0 float,
 * 1 half, 2 bfloat16, the latter two as 16-bit integers that are converted here, with
 * rounding to the nearest even. Arithmetic is in float. Dropout's hash and the
 * exponential are those of device/cpu/hash.h and vexp.h, operation by operation.
 */
#pragma once

#include "device/gpu/args.h"

#ifndef STORAGE
#define STORAGE 0
#endif

#if STORAGE == 0

typedef float stored;
#define LOAD(p, i)     ((p)[i])
#define STORE(p, i, x) ((p)[i] = (x))

#else

typedef unsigned short stored;
#define LOAD(p, i)     from_stored((p)[i])
#define STORE(p, i, x) ((p)[i] = to_stored(x))

#if STORAGE == 1 && defined(__CUDACC__)

FN float from_stored(stored h)
{
    float x;

    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return x;
}

FN stored to_stored(float x)
{
    stored h;

    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}

#elif STORAGE == 1

/* A denormal of half is a normal float and is made of its integer: a device may take
 * denormal floats for 0. */
FN float from_stored(stored h)
{
    const u32 sign = (u32)(h & 0x8000u) << 16, size = h & 0x7fffu;
    const u32 more = size >= 0x7c00u ? 0x70000000u : 0x38000000u; /* infinity, NaN */

    if (size < 0x400u)
        return FLOAT_OF(sign | BITS_OF((float)size * 5.9604644775390625e-8f));
    return FLOAT_OF(sign | ((size << 13) + more));
}

FN stored to_stored(float x)
{
    const u32 bits = BITS_OF(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;

    if (size > 0x7f800000u)
        return (stored)(sign | 0x7e00u);
    if (size >= 0x477ff000u)
        return (stored)(sign | 0x7c00u);
    if (size < 0x38800000u) /* denormal: adding 1/2 rounds at its last bit */
        return (stored)(sign | (BITS_OF(FLOAT_OF(size) + 0.5f) - 0x3f000000u));
    return (stored)(sign | (size + 0xc8000fffu + (size >> 13 & 1u)) >> 13);
}

#else

FN float from_stored(stored h)
{
    return FLOAT_OF((u32)h << 16);
}

FN stored to_stored(float x)
{
    const u32 bits = BITS_OF(x);

    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (stored)(bits >> 16 | 0x40u);
    return (stored)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#endif
#endif

/* A number kept among the finite ones of what is stored: of masters to weights. */
FN float to_finite(float x)
{
#if STORAGE == 1
    return x > 65504.0f ? 65504.0f : x < -65504.0f ? -65504.0f : x;
#else
    return x;
#endif
}

FN u32 mix32(u32 x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

FN u32 hash_token(struct gdrop d, u32 pair, u32 pos)
{
    return mix32(mix32(d.key_lo ^ pair * 0x9e3779b1u) ^ d.key_hi ^ pos * 0x85ebca77u);
}

/* The hash of row r of a batch; without dropout neither list is read. */
FN u32 hash_of_row(struct gdrop d, GLOBAL const i32 *pair, GLOBAL const i32 *pos, u32 r)
{
    return d.limit ? hash_token(d, (u32)pair[d.pair + r], (u32)pos[d.pos + r]) : 0;
}

/* x as dropout leaves it. */
FN float dropped(struct gdrop d, u32 row, u32 channel, float x)
{
    return mix32(row + channel * 0xc2b2ae3du) >= d.limit ? x * d.keep : 0.0f;
}

FN float power_of_e(float x)
{
    x = x > 88.0f ? 88.0f : x;
    x = x < -87.0f ? -87.0f : x;
    const i32 biased = (i32)(x * 1.44269504f + 127.5f);
    const float n = (float)(i32)((u32)biased - 127u), r = x - n * 0.693145751953125f;
    float p = 1.381453942e-3f;
    p = p * r + 8.368745446e-3f;
    p = p * r + 4.166838899e-2f;
    p = p * r + 1.666652113e-1f;
    p = p * r + 4.999999404e-1f;
    p = p * r * r + r + 1.0f;
    p += p * (n * -1.428606820e-06f);
    return x != x ? x : p * FLOAT_OF((u32)biased << 23);
}
