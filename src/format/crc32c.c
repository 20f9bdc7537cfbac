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
/*
 * The instruction has a latency of three cycles and a throughput of one a cycle, so
 * three neighbouring lanes of the input are read side by side. skip[k][b] is what a lane
 * of zeros makes of a register that holds b in byte k: it carries the register of one
 * lane over the next. Short lanes are one stream to the processor's prefetcher: from
 * memory, lanes of 256 bytes are read at 20 GB/s and lanes of 1024 at 7.
 */
#define SSE42      __attribute__((target("sse4.2")))
#define LANE_BYTES ((size_t)256)

static uint32_t skip[4][256];
static pthread_once_t skip_once = PTHREAD_ONCE_INIT;

SSE42 static uint64_t add_word(uint64_t r, const unsigned char *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof word);
    return __builtin_ia32_crc32di(r, word);
}

SSE42 static void fill_skip(void)
{
    for (int k = 0; k < 4; k++)
        for (uint32_t b = 1; b < 256; b++) {
            const uint32_t lowest = b & -b;
            uint64_t r = lowest << 8 * k;
            for (size_t i = 0; b == lowest && i < LANE_BYTES / 8; i++)
                r = __builtin_ia32_crc32di(r, 0);
            skip[k][b] =
                b == lowest ? (uint32_t)r : skip[k][b ^ lowest] ^ skip[k][lowest];
        }
}

static uint64_t skip_lane(uint64_t r)
{
    return skip[0][r & 0xff] ^ skip[1][r >> 8 & 0xff] ^ skip[2][r >> 16 & 0xff] ^
           skip[3][r >> 24];
}

SSE42 static uint32_t crc32c_sse42(uint32_t crc, const unsigned char *p, size_t n)
{
    uint64_t r = (uint32_t)~crc;

    if (n >= 3 * LANE_BYTES)
        pthread_once(&skip_once, fill_skip);
    for (; n >= 3 * LANE_BYTES; n -= 3 * LANE_BYTES, p += 2 * LANE_BYTES) {
        uint64_t second = 0, third = 0;
        for (const unsigned char *end = p + LANE_BYTES; p < end; p += 8) {
            r = add_word(r, p);
            second = add_word(second, p + LANE_BYTES);
            third = add_word(third, p + 2 * LANE_BYTES);
        }
        r = skip_lane(skip_lane(r) ^ second) ^ third;
    }
    for (; n >= 8; n -= 8, p += 8)
        r = add_word(r, p);
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
