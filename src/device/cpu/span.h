/*
 * span - the elements of a strided matrix counted as one run, row after row.
 *
 * Element-wise kernels divide elements, not rows, among threads: the flat array of all
 * parameters is a matrix of one row.
 */
#pragma once

#include <stddef.h>

#include "device/mat.h"

/* n neighbours in memory: columns [col, col + n) of a row. */
struct span {
    size_t row, col, n;
};

/* The longest span that begins at element i and stays in its row and before `end`. */
static inline struct span span_at(size_t cols, size_t i, size_t end)
{
    const size_t row = i / cols, col = i % cols, left = cols - col;

    return (struct span){row, col, left < end - i ? left : end - i};
}

static inline size_t span_offset(struct mat m, struct span s)
{
    return m.at + s.row * m.stride + s.col;
}
