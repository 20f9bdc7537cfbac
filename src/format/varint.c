#include "format/varint.h"

size_t varint_put(unsigned char *out, uint64_t value)
{
    size_t n = 0;

    while (value >= 0x80) {
        out[n++] = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    out[n++] = (unsigned char)value;
    return n;
}

void varint_add(struct str *out, uint64_t value)
{
    unsigned char bytes[VARINT_MAX_BYTES];

    str_add(out, bytes, varint_put(bytes, value));
}

size_t varint_get64(const unsigned char *p, size_t n, uint64_t *value)
{
    uint64_t v = 0;

    for (size_t i = 0; i < n && i < VARINT_MAX_BYTES; i++) {
        const uint64_t group = p[i] & 0x7f;
        if ((i == VARINT_MAX_BYTES - 1 && group > 1) || (i && p[i] == 0))
            return 0;
        v |= group << (7 * i);
        if (p[i] < 0x80) {
            *value = v;
            return i + 1;
        }
    }
    return 0;
}

size_t varint_get32(const unsigned char *p, size_t n, uint32_t *value)
{
    uint64_t v;
    const size_t used = varint_get64(p, n, &v);

    if (!used || v > UINT32_MAX)
        return 0;
    *value = (uint32_t)v;
    return used;
}
