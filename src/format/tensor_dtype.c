#include "format/tensor_dtype.h"

const char *tensor_dtype_name(int dtype)
{
    switch (dtype) {
#define X(constant, number, bytes, name) \
    case number:                         \
        return name;
        TENSOR_DTYPE_LIST(X)
#undef X
    default:
        return NULL;
    }
}

size_t tensor_dtype_bytes(int dtype)
{
    switch (dtype) {
#define X(constant, number, bytes, name) \
    case number:                         \
        return bytes;
        TENSOR_DTYPE_LIST(X)
#undef X
    default:
        return 0;
    }
}
