/* text_hash - a quick 64-bit hash of short strings; not for bytes on disk. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t text_hash_mix(uint64_t a, uint64_t b)
{
    const unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Up to 7 bytes in one number, each of them in some place. */
static inline uint64_t text_hash_short(const char *s, size_t n)
{
    uint32_t a = 0, b = 0;

    if (n >= 4) {
        memcpy(&a, s, 4);
        memcpy(&b, s + n - 4, 4);
        return (uint64_t)a << 32 | b;
    }
    if (n == 0)
        return 0;
    return (uint64_t)(unsigned char)s[0] << 16 | (uint64_t)(unsigned char)s[n / 2] << 8 |
           (unsigned char)s[n - 1];
}

/* Reads 8 bytes at a time, the last ones twice if need be, never past the end. */
static inline uint64_t text_hash(const char *s, size_t n)
{
    const uint64_t k = 0x9E3779B97F4A7C15u;
    uint64_t h = n * k, v = 0;
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        memcpy(&v, s + i, 8);
        h = text_hash_mix(h ^ v, k);
    }
    if (n >= 8)
        memcpy(&v, s + n - 8, 8);
    else
        v = text_hash_short(s, n);
    return text_hash_mix(h ^ v, 0xD6E8FEB86659FD93u);
}
