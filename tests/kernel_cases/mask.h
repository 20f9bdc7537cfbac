/*
 * mask - dropout as docs/gradients.md states it, for references: 64-bit arithmetic that
 * is cut to 32 bits, one element at a time.
 */
#pragma once

#include "kernel_cases/case.h"

static inline uint64_t mask_mix(uint64_t x)
{
    const uint64_t low = 0xffffffffu;

    x ^= x >> 16;
    x = x * 0x7feb352du & low;
    x ^= x >> 15;
    x = x * 0x846ca68bu & low;
    return x ^ x >> 16;
}

/* Is this channel of this token kept? */
static inline bool mask_keeps(uint64_t key, double rate, int pair, int pos,
                              size_t channel)
{
    const uint64_t low = 0xffffffffu;
    const uint64_t by_pair = (uint64_t)pair * 0x9e3779b1u & low;
    const uint64_t by_pos = (uint64_t)pos * 0x85ebca77u & low;
    const uint64_t row = mask_mix(mask_mix((key & low) ^ by_pair) ^ key >> 32 ^ by_pos);
    const uint64_t word = mask_mix((row + channel * 0xc2b2ae3du) & low);

    return (double)word >= floor(rate * 4294967296.0);
}

/* The factor of a channel of row r: 0 or 1 / (1 - rate). */
static inline double mask(struct drop drop, size_t r, size_t channel)
{
    const int pair = *id_at(drop.pair, r), pos = *id_at(drop.pos, r);

    return mask_keeps(drop.key, drop.rate, pair, pos, channel) ? 1 / (1 - drop.rate) : 0;
}
