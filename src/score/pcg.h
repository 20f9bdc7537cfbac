/*
 * pcg - the random numbers of NumPy's default_rng(seed).
 *
 * The generator PCG64 (O'Neill: 128 bits of state, XSL-RR), seeded by NumPy's
 * SeedSequence, and the ways in which its Generator makes indices and booleans of it. A
 * resampled corpus must be that of sacreBLEU; for anything else there is base/rng.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pcg {
    unsigned __int128 state, step;
    uint32_t half; /* upper half of the last number, if it waits to be used */
    bool has_half;
};

struct pcg pcg_open(uint64_t seed);

uint64_t pcg_u64(struct pcg *g);
uint32_t pcg_u32(struct pcg *g);

/* Uniform in [0, n), 1 <= n < 2^32, as choice(n) and integers(n) draw it. */
uint32_t pcg_below(struct pcg *g, uint32_t n);

/* The booleans of one call of integers(2, dtype=bool). Zeroed = none drawn yet. */
struct pcg_bits {
    uint32_t word;
    unsigned n_left;
};

bool pcg_bit(struct pcg *g, struct pcg_bits *b);
