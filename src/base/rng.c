/*
 * rng_hash mixes key + i * golden ratio through the finalizer of SplitMix64, whose
 * output passes BigCrush when i counts upward; the key is itself such an output.
 */
#include "base/rng.h"

#include <math.h>

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t rng_key(uint64_t seed, const char *name)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a of the name */

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    return mix(mix(seed + 0x9e3779b97f4a7c15u) ^ h);
}

uint64_t rng_hash(uint64_t key, uint64_t i)
{
    return mix(key + (i + 1) * 0x9e3779b97f4a7c15u);
}

struct rng rng_open(uint64_t key)
{
    return (struct rng){.key = key};
}

uint64_t rng_u64(struct rng *r)
{
    return rng_hash(r->key, r->next++);
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    const uint64_t cut = -n % n; /* 2^64 mod n: draws below it would be one too many */
    uint64_t x;

    do
        x = rng_u64(r);
    while (x < cut);
    return x % n;
}

double rng_unit(struct rng *r)
{
    return (double)(rng_u64(r) >> 11) * 0x1p-53;
}

double rng_normal(struct rng *r)
{
    const double u = 1 - rng_unit(r), v = rng_unit(r); /* u in (0, 1]: log is finite */

    return sqrt(-2 * log(u)) * cos(6.283185307179586476925286766559 * v);
}

void rng_shuffle(struct rng *r, uint32_t *items, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        const size_t j = (size_t)rng_below(r, i);
        const uint32_t keep = items[i - 1];
        items[i - 1] = items[j];
        items[j] = keep;
    }
}
