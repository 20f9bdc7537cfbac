/* tensor_dtype - the element types of TensorFlow's files, with its numbers. */
#pragma once

#include <stddef.h>

/* constant, number in files, bytes an element (0: varies), name */
#define TENSOR_DTYPE_LIST(X)        \
    X(FLOAT, 1, 4, "float32")       \
    X(DOUBLE, 2, 8, "float64")      \
    X(INT32, 3, 4, "int32")         \
    X(UINT8, 4, 1, "uint8")         \
    X(INT16, 5, 2, "int16")         \
    X(INT8, 6, 1, "int8")           \
    X(STRING, 7, 0, "string")       \
    X(COMPLEX64, 8, 8, "complex64") \
    X(INT64, 9, 8, "int64")         \
    X(BOOL, 10, 1, "bool")          \
    X(BFLOAT16, 14, 2, "bfloat16")  \
    X(UINT16, 17, 2, "uint16")      \
    X(HALF, 19, 2, "float16")       \
    X(VARIANT, 21, 0, "variant")    \
    X(UINT32, 22, 4, "uint32")      \
    X(UINT64, 23, 8, "uint64")

enum tensor_dtype {
#define X(constant, number, bytes, name) TENSOR_##constant = (number),
    TENSOR_DTYPE_LIST(X)
#undef X
};

/* NULL for a number that is not in the list. */
const char *tensor_dtype_name(int dtype);

/* 0 when the elements have no fixed size, or the number is not in the list. */
size_t tensor_dtype_bytes(int dtype);
