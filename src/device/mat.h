/*
 * mat - what the model sees of device memory: a handle, an offset and a shape.
 *
 * `mem` is opaque above the device room: a host pointer on the CPU, a buffer object
 * elsewhere. Offsets and strides count elements, so views are made without knowing
 * where the memory is or how wide a real is there.
 */
#pragma once

#include <stddef.h>

/* What an element is: the device's real or, in mixed precision, its 16-bit number. */
enum mat_type { MAT_REAL, MAT_HALF };

/* [rows,cols] numbers on a device; element (r,c) is at + r*stride + c. */
struct mat {
    void *mem;
    size_t at;
    size_t rows, cols, stride;
    enum mat_type type;
};

/* n int32 on a device: token ids, positions, offsets. */
struct ids {
    void *mem;
    size_t at;
    size_t n;
};

/* Rows [first, first + n) of m. */
static inline struct mat mat_rows(struct mat m, size_t first, size_t n)
{
    return (struct mat){m.mem, m.at + first * m.stride, n, m.cols, m.stride, m.type};
}

/* Columns [first, first + n) of m. */
static inline struct mat mat_cols(struct mat m, size_t first, size_t n)
{
    return (struct mat){m.mem, m.at + first, m.rows, n, m.stride, m.type};
}

static inline struct ids ids_part(struct ids x, size_t first, size_t n)
{
    return (struct ids){x.mem, x.at + first, n};
}
