#include "format/sha256.h"

#include <string.h>

#include "base/file.h"

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
    0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
    0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
    0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2};

static uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The message schedule: sixteen words of the block, the rest mixed from them. */
static void expand(uint32_t w[64], const uint8_t *block)
{
    for (size_t i = 0; i < 16; i++)
        w[i] = big_endian(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        const uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
}

static void mix(uint32_t h[8], const uint8_t *block)
{
    uint32_t w[64], s[8];

    expand(w, block);
    memcpy(s, h, sizeof s);
    for (int i = 0; i < 64; i++) {
        const uint32_t a = s[0], e = s[4];
        const uint32_t t1 = s[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                            ((e & s[5]) ^ (~e & s[6])) + round_constant[i] + w[i];
        const uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                            ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        h[i] += s[i];
}

void sha256_init(struct sha256 *s)
{
    *s = (struct sha256){.h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                               0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *s, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;

    while (n > 0) {
        const size_t used = (size_t)(s->n_bytes % SHA256_BLOCK);
        const size_t take = n < SHA256_BLOCK - used ? n : SHA256_BLOCK - used;
        memcpy(s->block + used, p, take);
        s->n_bytes += take;
        p += take;
        n -= take;
        if (used + take == SHA256_BLOCK)
            mix(s->h, s->block);
    }
}

void sha256_end(struct sha256 *s, uint8_t out[SHA256_BYTES])
{
    static const uint8_t padding[SHA256_BLOCK] = {0x80};
    const uint64_t n_bits = 8 * s->n_bytes;
    const size_t used = (size_t)(s->n_bytes % SHA256_BLOCK);
    uint8_t length[8];

    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(n_bits >> (56 - 8 * i));
    sha256_add(s, padding, used < 56 ? 56 - used : 120 - used);
    sha256_add(s, length, sizeof length);
    for (int i = 0; i < SHA256_BYTES; i++)
        out[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

/* One of HMAC's two passes: hash(key xor pad, bytes). */
static void keyed(uint8_t out[SHA256_BYTES], const void *key, size_t n_key, uint8_t pad,
                  const void *bytes, size_t n)
{
    uint8_t block[SHA256_BLOCK] = {0};
    struct sha256 s;

    memcpy(block, key, n_key);
    for (int i = 0; i < SHA256_BLOCK; i++)
        block[i] ^= pad;
    sha256_init(&s);
    sha256_add(&s, block, sizeof block);
    sha256_add(&s, bytes, n);
    sha256_end(&s, out);
}

void sha256_hmac(uint8_t out[SHA256_BYTES], const void *key, size_t n_key,
                 const void *bytes, size_t n)
{
    uint8_t inner[SHA256_BYTES];

    BUG_ON(n_key > SHA256_BLOCK);
    keyed(inner, key, n_key, 0x36, bytes, n);
    keyed(out, key, n_key, 0x5c, inner, sizeof inner);
}

bool sha256_equal(const uint8_t a[SHA256_BYTES], const uint8_t b[SHA256_BYTES])
{
    uint8_t differ = 0;

    for (int i = 0; i < SHA256_BYTES; i++)
        differ |= a[i] ^ b[i];
    return differ == 0;
}

void sha256_hex(char out[SHA256_HEX], const uint8_t hash[SHA256_BYTES])
{
    static const char digit[] = "0123456789abcdef";

    for (size_t i = 0; i < SHA256_BYTES; i++) {
        out[2 * i] = digit[hash[i] >> 4];
        out[2 * i + 1] = digit[hash[i] & 15];
    }
    out[SHA256_HEX - 1] = '\0';
}

status sha256_file(uint8_t out[SHA256_BYTES], const char *path, struct err *err)
{
    struct file_map map = {0};
    struct sha256 s;

    TRY(file_map_open(&map, path, err));
    sha256_init(&s);
    sha256_add(&s, map.data, map.n_bytes);
    sha256_end(&s, out);
    file_map_close(&map);
    return OK;
}
