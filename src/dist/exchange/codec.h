/*
 * codec - the loops over gradients on their way to and from the wire.
 *
 * Encoding and decoding of a range of a segment (recipe/wire.h), and sums. Compiled for
 * any machine and for AVX2, chosen at start; both give the same bits, because the
 * compiler may not contract products and sums.
 *
 *   fp32  as it is
 *   bf16  the upper half, rounded to nearest even
 *   fp16  the same with 10 bits of fraction; a power of two for each 1,024 elements
 *         brings the largest of them just below 2^15, so that nothing overflows
 *   int8  multiples of max/127 of 128 elements
 *
 * A block of fp16 or int8 that holds something not finite decodes to NaN throughout, so
 * that every rank sees it and skips the update.
 *
 * Threads: pure functions of their arguments.
 */
#pragma once

#include <stddef.h>

#include "recipe/wire.h"

/* Elements [first, first + n) of a segment of n_segment; first is a multiple of
 * WIRE_ALIGN, and so is n unless the range ends the segment. */
struct codec_range {
    size_t n_segment, first, n;
};

struct codec_loops {
    /* x[0..n) to and from the range */
    void (*encode[N_WIRES])(void *segment, struct codec_range r, const float *x);
    void (*decode[N_WIRES])(float *x, const void *segment, struct codec_range r);

    void (*sum)(float *x, const float *y, size_t n); /* x += y */
    /* What rounding lost: lost = x - rounded, 0 where that is not finite. */
    void (*lost)(float *lost, const float *x, const float *rounded, size_t n);
};

/* The fastest for this machine. */
const struct codec_loops *codec_loops(void);
extern const struct codec_loops codec_loops_plain;
