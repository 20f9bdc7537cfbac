/*
 * wire - the fields of a protobuf message, one after the other, and how to write one.
 *
 * Just enough of the format for SentencePiece's models: no schema, nothing copied, no
 * bound trusted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum wire_type { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_FIXED32 = 5 };

/* Bytes of somebody else. */
struct wire {
    const unsigned char *data;
    size_t n;
};

struct wire_field {
    uint64_t number;
    enum wire_type type;
    uint64_t value;   /* of a varint */
    struct wire body; /* of everything else */
};

/* The first n bytes of *in; false when there are fewer. */
bool wire_take(struct wire *in, size_t n, struct wire *out);

/* The next field of a message; false when it is damaged. *in must not be empty. */
bool wire_take_field(struct wire *in, struct wire_field *f);

void wire_put_varint(struct str *out, unsigned number, uint64_t value);
void wire_put_float(struct str *out, unsigned number, float value);
void wire_put_bytes(struct str *out, unsigned number, const void *data, size_t n);
