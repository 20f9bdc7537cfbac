/* proto - messages of protobuf-c appended to a growing string. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/str.h"
#include "tensor_shape.pb-c.h"

enum { PROTO_MAX_DIMS = 8 };

/* A shape and everything it points to. */
struct proto_shape {
    TensorShapeProto message;
    TensorShapeProto__Dim dim[PROTO_MAX_DIMS], *dim_at[PROTO_MAX_DIMS];
};

/* n <= PROTO_MAX_DIMS; the struct may not be moved afterwards. */
void proto_shape_init(struct proto_shape *s, const uint64_t *dims, size_t n);

/* The serialised message. A lost append shows in str_check(), as always. */
void proto_pack(struct str *out, const ProtobufCMessage *message);

/* The same as field `number` of an outer message: tag, length, bytes. */
void proto_pack_field(struct str *out, unsigned number, const ProtobufCMessage *message);
