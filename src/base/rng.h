/*
 * rng - random numbers as functions of a counter.
 *
 * rng_hash(key, i) is the i-th 64-bit draw of the stream `key`: no state, so any
 * thread, rank or resumed run gets the same number by asking for it. Streams are told
 * apart by rng_key(seed, name). struct rng is a cursor on a stream for code that just
 * wants the next number.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t key, next;
};

/* The stream `name` of a seed: "init", "shuffle", "sample"... */
uint64_t rng_key(uint64_t seed, const char *name);

uint64_t rng_hash(uint64_t key, uint64_t i);

struct rng rng_open(uint64_t key);
uint64_t rng_u64(struct rng *r);
/* Uniform in [0, n), n > 0, without the bias of a remainder. */
uint64_t rng_below(struct rng *r, uint64_t n);
double rng_unit(struct rng *r);   /* uniform in [0, 1) with 53 bits */
double rng_normal(struct rng *r); /* N(0, 1), two draws of the stream */

/* Fisher-Yates over n uint32. */
void rng_shuffle(struct rng *r, uint32_t *items, size_t n);
