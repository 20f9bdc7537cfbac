#include "score/pcg.h"

#include <stddef.h>

/* ---- SeedSequence ---- */

enum { POOL = 4, STATE = 8 /* words of 32 bits */ };

/* Multiplies by a constant that changes from call to call. */
static uint32_t hashed(uint32_t x, uint32_t *constant, uint32_t factor)
{
    x ^= *constant;
    *constant *= factor;
    x *= *constant;
    return x ^ x >> 16;
}

static uint32_t mixed(uint32_t x, uint32_t y)
{
    const uint32_t z = x * 0xCA01F9DDU - y * 0x4973F715U;

    return z ^ z >> 16;
}

static void spread(uint64_t state[STATE / 2], uint64_t seed)
{
    const uint32_t entropy[POOL] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t pool[POOL], constant = 0x43B0D7E5U;

    for (size_t i = 0; i < POOL; i++)
        pool[i] = hashed(entropy[i], &constant, 0x931E8875U);
    for (size_t from = 0; from < POOL; from++)
        for (size_t to = 0; to < POOL; to++)
            if (to != from)
                pool[to] = mixed(pool[to], hashed(pool[from], &constant, 0x931E8875U));
    constant = 0x8B51F9DDU;
    for (size_t i = 0; i < STATE; i += 2) {
        const uint32_t low = hashed(pool[i % POOL], &constant, 0x58F38DEDU);
        const uint32_t high = hashed(pool[(i + 1) % POOL], &constant, 0x58F38DEDU);
        state[i / 2] = (uint64_t)high << 32 | low;
    }
}

/* ---- PCG64 ---- */

static unsigned __int128 wide(uint64_t high, uint64_t low)
{
    return (unsigned __int128)high << 64 | low;
}

static void advance(struct pcg *g)
{
    g->state = g->state * wide(2549297995355413924U, 4865540595714422341U) + g->step;
}

struct pcg pcg_open(uint64_t seed)
{
    uint64_t s[STATE / 2];

    spread(s, seed);
    struct pcg g = {.step = wide(s[2], s[3]) << 1 | 1};
    advance(&g);
    g.state += wide(s[0], s[1]);
    advance(&g);
    return g;
}

uint64_t pcg_u64(struct pcg *g)
{
    advance(g);
    const uint64_t x = (uint64_t)(g->state >> 64) ^ (uint64_t)g->state;
    const unsigned turn = (unsigned)(g->state >> 122);
    return x >> turn | x << (-turn & 63);
}

uint32_t pcg_u32(struct pcg *g)
{
    if (g->has_half) {
        g->has_half = false;
        return g->half;
    }
    const uint64_t x = pcg_u64(g);
    g->half = (uint32_t)(x >> 32);
    g->has_half = true;
    return (uint32_t)x;
}

uint32_t pcg_below(struct pcg *g, uint32_t n)
{
    if (n == 1)
        return 0; /* nothing is drawn */
    uint64_t product = (uint64_t)pcg_u32(g) * n;
    if ((uint32_t)product < n) {
        const uint32_t uneven = -n % n; /* Lemire: numbers too many for equal shares */
        while ((uint32_t)product < uneven)
            product = (uint64_t)pcg_u32(g) * n;
    }
    return (uint32_t)(product >> 32);
}

bool pcg_bit(struct pcg *g, struct pcg_bits *b)
{
    if (b->n_left == 0)
        *b = (struct pcg_bits){pcg_u32(g), 32};
    const bool bit = b->word & 1;
    b->word >>= 1;
    b->n_left--;
    return bit;
}
