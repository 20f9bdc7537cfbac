#include "text/spm_guard.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Field numbers of the model message and of the normaliser message inside it. */
enum { MODEL_NORMALIZER = 3, MODEL_DENORMALIZER = 5, NORMALIZER_CHARSMAP = 2 };

enum wire { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_FIXED32 = 5 };

struct span {
    const unsigned char *data;
    size_t n;
};

/* One field of a protobuf message; `body` is set for WIRE_BYTES. */
struct field {
    uint64_t number;
    struct span body;
};

static bool take(struct span *in, size_t n, struct span *out)
{
    if (n > in->n)
        return false;
    *out = (struct span){in->data, n};
    in->data += n;
    in->n -= n;
    return true;
}

static bool take_varint(struct span *in, uint64_t *value)
{
    struct span byte;

    *value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (!take(in, 1, &byte))
            return false;
        *value |= (uint64_t)(byte.data[0] & 0x7F) << shift;
        if (byte.data[0] < 0x80)
            return true;
    }
    return false;
}

static bool take_field(struct span *in, struct field *f)
{
    uint64_t tag, n;

    if (!take_varint(in, &tag))
        return false;
    f->number = tag >> 3;
    f->body = (struct span){0};
    switch (tag & 7) {
    case WIRE_VARINT:
        return take_varint(in, &n);
    case WIRE_FIXED64:
        return take(in, 8, &f->body);
    case WIRE_FIXED32:
        return take(in, 4, &f->body);
    case WIRE_BYTES:
        return take_varint(in, &n) && n <= in->n && take(in, (size_t)n, &f->body);
    default:
        return false;
    }
}

static uint32_t unit_at(struct span trie, size_t i)
{
    uint32_t unit;

    memcpy(&unit, trie.data + 4 * i, sizeof unit);
    return unit;
}

/*
 * A unit of a Darts double array: bit 31 marks a value; otherwise bits 0..7 are the
 * label that leads here, bit 8 says that a value stands at the base, bit 9 that the
 * offset in bits 10.. is shifted by 8. From unit i a byte c leads to (i ^ offset) ^ c,
 * so the whole block of 256 around i ^ offset must exist.
 */
static bool unit_stays_inside(struct span trie, size_t i, size_t n_text)
{
    const uint32_t unit = unit_at(trie, i), leaf = 1u << 8, value = 1u << 31;
    const size_t offset = (size_t)(unit >> 10) << ((unit & (1u << 9)) >> 6);
    const size_t base = i ^ offset;

    if (unit & value)
        return true;
    if ((base | 0xFF) >= trie.n / 4)
        return false;
    return !(unit & leaf) || (unit_at(trie, base) & ~value) < n_text;
}

/* uint32 size of the trie, the trie, then NUL-terminated strings. */
static bool charsmap_is_safe(struct span map)
{
    struct span size, trie;
    uint32_t n_trie;

    if (map.n == 0)
        return true;
    if (!take(&map, sizeof n_trie, &size))
        return false;
    memcpy(&n_trie, size.data, sizeof n_trie);
    if (n_trie == 0 || n_trie % (256 * 4) != 0 || !take(&map, n_trie, &trie))
        return false;
    if (map.n == 0 || map.data[map.n - 1] != '\0')
        return false;
    for (size_t i = 0; i < n_trie / 4; i++)
        if (!unit_stays_inside(trie, i, map.n))
            return false;
    return true;
}

static bool normalizer_is_safe(struct span message)
{
    struct field f;

    while (message.n) {
        if (!take_field(&message, &f))
            return false;
        if (f.number == NORMALIZER_CHARSMAP && !charsmap_is_safe(f.body))
            return false;
    }
    return true;
}

status spm_guard_model(const void *bytes, size_t n_bytes, struct err *err)
{
    struct span message = {bytes, n_bytes};
    struct field f;

    if (n_bytes == 0)
        return err_set(err, ERR_FORMAT, "an empty file is not a SentencePiece model");
    if (n_bytes > SPM_GUARD_MAX_BYTES)
        return err_set(err, ERR_FORMAT,
                       "%zu bytes are too many for a SentencePiece model, at most %d are "
                       "taken",
                       n_bytes, SPM_GUARD_MAX_BYTES);
    while (message.n) {
        if (!take_field(&message, &f))
            return err_set(err, ERR_FORMAT,
                           "not a SentencePiece model, or cut short: byte %zu of %zu "
                           "cannot be read",
                           n_bytes - message.n, n_bytes);
        if ((f.number == MODEL_NORMALIZER || f.number == MODEL_DENORMALIZER) &&
            !normalizer_is_safe(f.body))
            return err_set(err, ERR_FORMAT,
                           "the normalisation rules in the SentencePiece model are "
                           "damaged");
    }
    return OK;
}
