/*
 * program - the kernels of device/gpu compiled as C, one table for each storage.
 *
 * Parameters are as cuLaunchKernel takes them: an array of pointers to the buffers'
 * pointers and, last, to the struct of arguments.
 */
#pragma once

#include <stddef.h>

typedef void program_fn(void **params);

struct program_kernel {
    const char *name;
    program_fn *run;
    size_t n_buffers, args_bytes;
};

extern const struct program_kernel program_float[], program_half[], program_bfloat[];
extern const size_t program_n;
