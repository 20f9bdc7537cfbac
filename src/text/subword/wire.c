#include "text/subword/wire.h"

#include <string.h>

bool wire_take(struct wire *in, size_t n, struct wire *out)
{
    if (n > in->n)
        return false;
    *out = (struct wire){in->data, n};
    in->data += n;
    in->n -= n;
    return true;
}

static bool take_varint(struct wire *in, uint64_t *value)
{
    struct wire byte;

    *value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (!wire_take(in, 1, &byte))
            return false;
        *value |= (uint64_t)(byte.data[0] & 0x7F) << shift;
        if (byte.data[0] < 0x80)
            return true;
    }
    return false;
}

bool wire_take_field(struct wire *in, struct wire_field *f)
{
    uint64_t tag, n;

    if (!take_varint(in, &tag))
        return false;
    *f = (struct wire_field){.number = tag >> 3, .type = (enum wire_type)(tag & 7)};
    switch (f->type) {
    case WIRE_VARINT:
        return take_varint(in, &f->value);
    case WIRE_FIXED64:
        return wire_take(in, 8, &f->body);
    case WIRE_FIXED32:
        return wire_take(in, 4, &f->body);
    case WIRE_BYTES:
        return take_varint(in, &n) && n <= in->n && wire_take(in, (size_t)n, &f->body);
    }
    return false;
}

static void put_varint(struct str *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        str_putc(out, (char)(value | 0x80));
    str_putc(out, (char)value);
}

static void put_tag(struct str *out, unsigned number, enum wire_type type)
{
    put_varint(out, (uint64_t)number << 3 | type);
}

void wire_put_varint(struct str *out, unsigned number, uint64_t value)
{
    put_tag(out, number, WIRE_VARINT);
    put_varint(out, value);
}

void wire_put_float(struct str *out, unsigned number, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    put_tag(out, number, WIRE_FIXED32);
    for (unsigned shift = 0; shift < 32; shift += 8)
        str_putc(out, (char)(bits >> shift));
}

void wire_put_bytes(struct str *out, unsigned number, const void *data, size_t n)
{
    put_tag(out, number, WIRE_BYTES);
    put_varint(out, n);
    str_add(out, data, n);
}
