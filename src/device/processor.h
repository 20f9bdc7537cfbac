/*
 * processor - which vector extensions this machine has, asked once by whoever chooses
 * among several builds of the same loops. Threads: any.
 */
#pragma once

#include <stdbool.h>

/* What the compiler may use for -march=x86-64-v3, and for -march=x86-64-v4. */
bool processor_has_avx2(void);
bool processor_has_avx512(void);
/* Dot products of four bytes, beside AVX-512; on ARM64 the instruction SDOT. */
bool processor_has_dot_product(void);
/* The matrix unit for 16-bit and for 8-bit numbers, and the system lets us use it. */
bool processor_has_amx_bf16(void);
bool processor_has_amx_int8(void);
