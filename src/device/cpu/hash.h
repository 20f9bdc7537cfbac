/*
 * hash - the dropout mask as a function, the same on every device.
 *
 *   row  = mix32(mix32(key_lo ^ pair * A) ^ key_hi ^ pos * B)
 *   keep = mix32(row + c * C) >= rate * 2^32
 *
 * mix32 is a bijection of 32-bit words with low bias (two rounds of xor-shift and
 * multiply), so that the channels of one row never collide; 32-bit arithmetic only, so
 * that eight channels go into one vector register and every GPU has it.
 */
#pragma once

#include <stdint.h>

#include "device/cpu/cpu.h"

static inline uint32_t hash_mix32(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

static inline uint32_t hash_row(uint64_t key, uint32_t pair, uint32_t pos)
{
    const uint32_t lo = (uint32_t)key, hi = (uint32_t)(key >> 32);

    return hash_mix32(hash_mix32(lo ^ pair * 0x9e3779b1u) ^ hi ^ pos * 0x85ebca77u);
}

/* The hash of row r of a batch. */
static inline uint32_t hash_drop(const struct drop *drop, size_t r)
{
    return hash_row(drop->key, (uint32_t)cpu_ids(drop->pair)[r],
                    (uint32_t)cpu_ids(drop->pos)[r]);
}

static inline uint32_t hash_channel(uint32_t row, uint32_t channel)
{
    return hash_mix32(row + channel * 0xc2b2ae3du);
}

/* Channels whose hash is below this are dropped. rate < 1. */
static inline uint32_t hash_threshold(double rate)
{
    return (uint32_t)(rate * 4294967296.0);
}
