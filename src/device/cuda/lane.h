/*
 * lane - a third stream of a CUDA device, for what goes on beside its computing.
 *
 * The device's own thread marks points of its computing. Another thread begins work in
 * the lane that waits for such a mark, lets a library queue its part there, and polls
 * until the card has done it all:
 *
 *     lane_mark(l, i);                        the device's thread
 *     lane_begin(l, i, &stream, err);         the other one, from here on
 *     ...work for stream, lane_narrow, lane_widen...
 *     lane_end(l, err);
 *     lane_poll(l, &is_done, err);            until it is
 *
 * What the work has written may be used by any stream once lane_poll has said so.
 *
 * Owns: a stream, events, memory for numbers of 16 bits. Borrows: the device, which
 * outlives it. Threads: open, close and mark are calls of the device; all others come
 * from one other thread at a time, at any time between open and close.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct CUstream_st;
struct device;
struct lane;

/* n_marks: as many points as may be waited for at a time. n_narrow: the most numbers that
 * lane_narrow is given; 0: none. ERR_DEVICE on a device of another kind. */
status lane_open(struct lane **l, struct device *d, size_t n_marks, size_t n_narrow,
                 struct err *err) MUST_CHECK;
/* Waits for what is queued; NULL is fine. */
void lane_close(struct lane *l);

void lane_mark(struct lane *l, size_t i);

/* The calls of this thread are for the lane's card, also those of a library. */
status lane_enter(struct lane *l, struct err *err) MUST_CHECK;
status lane_begin(struct lane *l, size_t i, struct CUstream_st **stream,
                  struct err *err) MUST_CHECK;
/* n floats of the card to bfloat16 in the lane's own memory, and from there back. */
status lane_narrow(struct lane *l, const float *x, size_t n, struct err *err) MUST_CHECK;
status lane_widen(struct lane *l, float *x, size_t n, struct err *err) MUST_CHECK;
void *lane_narrowed(const struct lane *l);
status lane_end(struct lane *l, struct err *err) MUST_CHECK;
status lane_poll(struct lane *l, bool *is_done, struct err *err) MUST_CHECK;

/* What the card took from the mark to the end of work that is done. */
double lane_seconds(const struct lane *l);
