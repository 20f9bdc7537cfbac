/*
 * sha256 - the hash of FIPS 180-4 and the keyed hash (HMAC) of RFC 2104 over it.
 *
 * For telling files apart and for proving that a message comes from who knows the key;
 * too slow to hash gigabytes every minute. Owns nothing. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { SHA256_BYTES = 32, SHA256_BLOCK = 64, SHA256_HEX = 2 * SHA256_BYTES + 1 };

struct sha256 {
    uint32_t h[8];
    uint64_t n_bytes;
    uint8_t block[SHA256_BLOCK];
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *bytes, size_t n);
void sha256_end(struct sha256 *s, uint8_t out[SHA256_BYTES]);

/* HMAC of n bytes under a key of at most SHA256_BLOCK bytes. */
void sha256_hmac(uint8_t out[SHA256_BYTES], const void *key, size_t n_key,
                 const void *bytes, size_t n);

/* Equality in a time that does not tell where two MACs differ. */
bool sha256_equal(const uint8_t a[SHA256_BYTES], const uint8_t b[SHA256_BYTES]);

/* Lower-case digits with a NUL. */
void sha256_hex(char out[SHA256_HEX], const uint8_t hash[SHA256_BYTES]);

status sha256_file(uint8_t out[SHA256_BYTES], const char *path, struct err *err);
