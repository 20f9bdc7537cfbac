#include "format/tf/tensor_dtype.h"

static const struct {
    const char *name;
    size_t n_bytes;
} rows[] = {
#define X(constant, number, bytes, text) [number] = {.name = (text), .n_bytes = (bytes)},
    TENSOR_DTYPE_LIST(X)
#undef X
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

const char *tensor_dtype_name(int dtype)
{
    return dtype >= 0 && dtype < N_ROWS ? rows[dtype].name : NULL;
}

size_t tensor_dtype_bytes(int dtype)
{
    return dtype >= 0 && dtype < N_ROWS ? rows[dtype].n_bytes : 0;
}
