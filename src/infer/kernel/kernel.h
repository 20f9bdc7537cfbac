/*
 * kernel - what the files of this folder share: KERNEL(name) gives each variant its own
 * symbols, and the prototypes come from the one list.
 */
#pragma once

#include "infer/kernel/lanes.h"
#include "infer/kernels.h"

#ifndef INFER_VARIANT
#define INFER_VARIANT plain
#endif

#define KERNEL_PASTE(a, b, c)  a##b##_##c
#define KERNEL_EXPAND(a, b, c) KERNEL_PASTE(a, b, c)
#define KERNEL(name)           KERNEL_EXPAND(infer_, INFER_VARIANT, name)

#define KERNEL_PROTOTYPE(name, args) void KERNEL(name) args;
INFER_KERNEL_LIST(KERNEL_PROTOTYPE)

/* The two halves of multiply, by the type of the matrix. */
void KERNEL(multiply_float)(float *c, size_t ldc, const struct kernels_input *a,
                            const struct linear *w, bool relu, size_t first, size_t n,
                            size_t p0, size_t p1);
void KERNEL(multiply_int8)(float *c, size_t ldc, const struct kernels_input *a,
                           const struct linear *w, bool relu, size_t first, size_t n,
                           size_t p0, size_t p1);

static inline size_t kernel_smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}
