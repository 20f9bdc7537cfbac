/* libcuda - how the other stand-ins put work into the stand-in driver's streams. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct CUstream_st;

typedef void standin_fn(void *ctx);
typedef bool standin_ready_fn(void *ctx);

/* Queue run(copy of the n bytes of ctx). */
void standin_queue(struct CUstream_st *s, standin_fn *run, const void *ctx, size_t n);

/* The same, but not before ready says so. It is asked when the work's turn has come, and
 * again until it does. */
void standin_queue_when(struct CUstream_st *s, standin_ready_fn *ready, standin_fn *run,
                        const void *ctx, size_t n);

/* The card whose context the process has; -1 in a thread that has not made it current. */
int standin_card(void);

/* What a call by this name gives: 0 unless it or one before it was made to fail. The
 * thread must have the context. */
unsigned standin_failure(const char *call);

/* The numbers of this kernel are to be wrong. */
bool standin_is_spoilt(const char *kernel);
