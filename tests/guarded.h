/*
 * guarded - memory between guards, for kernels that must write what they are told and
 * nothing else.
 *
 * A block is filled with its guard: floats that are not numbers, so that whoever reads
 * what nobody wrote shows it, and bytes of 0xa5. guarded_close() looks at all guards and
 * releases everything; it belongs at the end of a test. Under the address sanitizer
 * guards may not even be read.
 */
#pragma once

#include <stdbool.h>
#include <stdlib.h>

#include "base/rng.h"
#include "test.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, n)   ((void)(at), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#endif

enum { GUARDED_BYTES = 256, GUARDED_BLOCKS = 64, GUARDED_FILL = 0xa5 };

struct guarded {
    unsigned char *at[GUARDED_BLOCKS];
    size_t n_bytes[GUARDED_BLOCKS], n;
};

static struct guarded guarded;

/* A float that is not a number, with bits that no computation gives. */
static inline float guarded_float(void)
{
    const uint32_t bits = 0x7fe5a5a5;
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline bool guarded_is_fresh(float x)
{
    const float guard = guarded_float();

    return memcmp(&x, &guard, sizeof x) == 0;
}

/* n bytes on a line of the cache. */
static inline void *guarded_bytes(size_t n)
{
    const size_t n_all = (n + 2 * GUARDED_BYTES + 63) / 64 * 64;
    unsigned char *block = aligned_alloc(64, n_all);

    CHECK(block && guarded.n < GUARDED_BLOCKS);
    memset(block, GUARDED_FILL, n_all);
    guarded.at[guarded.n] = block;
    guarded.n_bytes[guarded.n++] = n;
    ASAN_POISON_MEMORY_REGION(block, GUARDED_BYTES);
    ASAN_POISON_MEMORY_REGION(block + GUARDED_BYTES + n, GUARDED_BYTES);
    return block + GUARDED_BYTES;
}

static inline float *guarded_floats(size_t n)
{
    float *x = guarded_bytes(n * sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = guarded_float();
    return x;
}

static inline void guarded_close(void)
{
    for (size_t b = 0; b < guarded.n; b++) {
        const unsigned char *before = guarded.at[b];
        const unsigned char *after = before + GUARDED_BYTES + guarded.n_bytes[b];
        ASAN_UNPOISON_MEMORY_REGION(before, GUARDED_BYTES);
        ASAN_UNPOISON_MEMORY_REGION(after, GUARDED_BYTES);
        for (size_t i = 0; i < GUARDED_BYTES; i++) {
            CHECK(before[i] == GUARDED_FILL);
            CHECK(after[i] == GUARDED_FILL);
        }
        free(guarded.at[b]);
    }
    guarded = (struct guarded){0};
}

/* Uniform in [-1, 1). */
static inline float guarded_unit(struct rng *r)
{
    return (float)(2 * rng_unit(r) - 1);
}

/* Bits of floats, folded into a checksum. */
static inline uint64_t guarded_sum(uint64_t sum, const void *at, size_t n_bytes)
{
    const unsigned char *byte = at;

    for (size_t i = 0; i < n_bytes; i++)
        sum = (sum ^ byte[i]) * 0x100000001b3u;
    return sum;
}
