/*
 * rounding - mixed precision on a CPU.
 *
 * A MAT_HALF is stored as reals there. These kernels call the exact ones and then round
 * what they stored to half or bfloat16, infinities included, so that training in mixed
 * precision can be tested end to end on any machine. Sums inside a kernel stay in real,
 * as they do on a GPU.
 */
#pragma once

struct device;

/* Put the rounding kernels in front of those of an open CPU device. */
void rounding_begin(struct device *d);
