/* libcuda - how the stand-in cuBLASLt puts work into the stand-in driver's streams. */
#pragma once

#include <stddef.h>

struct CUstream_st;

typedef void standin_fn(void *ctx);

/* Queue run(copy of the n bytes of ctx). */
void standin_queue(struct CUstream_st *s, standin_fn *run, const void *ctx, size_t n);
