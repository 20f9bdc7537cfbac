/* proto - messages of protobuf-c appended to a growing string. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/str.h"

/* The serialised message. A lost append shows in str_check(), as always. */
void proto_pack(struct str *out, const ProtobufCMessage *message);

/* The same as field `number` of an outer message: tag, length, bytes. */
void proto_pack_field(struct str *out, unsigned number, const ProtobufCMessage *message);
