/*
 * Bits are reflected, as everywhere this checksum is used: the polynomial's highest
 * power is the lowest bit.
 *
 * The plain version takes eight bytes a round ("slicing by eight"). table[k][b] is the
 * checksum register after byte b and k zero bytes; the register is linear in its
 * input, so the effect of eight bytes is the XOR of eight look-ups.
 */
#include "format/crc32c.h"

#include <pthread.h>
#include <string.h>

#include "format/le.h"

#define POLYNOMIAL 0x82f63b78U
#define MASK_DELTA 0xa282ead8U

static uint32_t table[8][256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void fill_table(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t r = b;
        for (int bit = 0; bit < 8; bit++)
            r = (r >> 1) ^ (r & 1 ? POLYNOMIAL : 0);
        table[0][b] = r;
    }
    for (int k = 1; k < 8; k++)
        for (int b = 0; b < 256; b++)
            table[k][b] = (table[k - 1][b] >> 8) ^ table[0][table[k - 1][b] & 0xff];
}

uint32_t crc32c_plain(uint32_t crc, const void *data, size_t n)
{
    const unsigned char *p = data;
    uint32_t r = ~crc;

    pthread_once(&table_once, fill_table);
    for (; n >= 8; n -= 8, p += 8) {
        const uint32_t lo = le_get32(p) ^ r, hi = le_get32(p + 4);
        r = table[7][lo & 0xff] ^ table[6][lo >> 8 & 0xff] ^ table[5][lo >> 16 & 0xff] ^
            table[4][lo >> 24] ^ table[3][hi & 0xff] ^ table[2][hi >> 8 & 0xff] ^
            table[1][hi >> 16 & 0xff] ^ table[0][hi >> 24];
    }
    for (; n; n--, p++)
        r = (r >> 8) ^ table[0][(r ^ *p) & 0xff];
    return ~r;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc,
                                                               const unsigned char *p,
                                                               size_t n)
{
    uint64_t r = (uint32_t)~crc;

    for (; n >= 8; n -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, sizeof word);
        r = __builtin_ia32_crc32di(r, word);
    }
    for (; n; n--, p++)
        r = __builtin_ia32_crc32qi((uint32_t)r, *p);
    return ~(uint32_t)r;
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t n)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("sse4.2"))
        return crc32c_sse42(crc, data, n);
#endif
    return crc32c_plain(crc, data, n);
}

uint32_t crc32c_mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + MASK_DELTA;
}
