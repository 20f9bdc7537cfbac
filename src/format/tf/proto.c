#include "format/tf/proto.h"

#include "format/varint.h"

struct sink {
    ProtobufCBuffer base;
    struct str *out;
};

static void append(ProtobufCBuffer *buffer, size_t n, const uint8_t *data)
{
    str_add(((struct sink *)buffer)->out, data, n);
}

void proto_pack(struct str *out, const ProtobufCMessage *message)
{
    struct sink sink = {.base = {.append = append}, .out = out};

    protobuf_c_message_pack_to_buffer(message, &sink.base);
}

void proto_pack_field(struct str *out, unsigned number, const ProtobufCMessage *message)
{
    varint_add(out, (uint64_t)number << 3 | PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED);
    varint_add(out, protobuf_c_message_get_packed_size(message));
    proto_pack(out, message);
}

void proto_shape_init(struct proto_shape *s, const uint64_t *dims, size_t n)
{
    tensor_shape_proto__init(&s->message);
    for (size_t i = 0; i < n; i++) {
        tensor_shape_proto__dim__init(&s->dim[i]);
        s->dim[i].size = (int64_t)dims[i];
        s->dim_at[i] = &s->dim[i];
    }
    s->message.n_dim = n;
    s->message.dim = s->dim_at;
}
