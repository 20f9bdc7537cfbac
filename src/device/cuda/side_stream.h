/*
 * side_stream - a third stream of a CUDA device, for communication during computation.
 *
 * The device's own thread records marks (events) in the compute stream. Another thread
 * queues work that waits for such a mark, its own or a library's (NCCL), and polls until
 * the card has finished it:
 *
 *     side_stream_mark(s, i);                 the device's thread
 *     side_stream_begin(s, i, &stream, err);  the other one, from here on
 *     ...work for stream, side_stream_narrow, side_stream_widen...
 *     side_stream_end(s, err);
 *     side_stream_poll(s, &is_done, err);     until it is
 *
 * What the work has written may be used by any stream once side_stream_poll has said so.
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
struct side_stream;

/* n_marks: as many points as may be waited for at a time. n_narrow: the most numbers that
 * side_stream_narrow is given; 0: none. ERR_DEVICE on a device of another kind. */
status side_stream_open(struct side_stream **s, struct device *d, size_t n_marks,
                        size_t n_narrow, struct err *err);
/* Waits for what is queued; NULL is fine. */
void side_stream_close(struct side_stream *s);

void side_stream_mark(struct side_stream *s, size_t i);

/* The calls of this thread are for the stream's card, also those of a library. */
status side_stream_enter(struct side_stream *s, struct err *err);
status side_stream_begin(struct side_stream *s, size_t i, struct CUstream_st **stream,
                         struct err *err);
/* n floats of the card to bfloat16 in the stream's own memory, and from there back. */
status side_stream_narrow(struct side_stream *s, const float *x, size_t n,
                          struct err *err);
status side_stream_widen(struct side_stream *s, float *x, size_t n, struct err *err);
void *side_stream_narrowed(const struct side_stream *s);
status side_stream_end(struct side_stream *s, struct err *err);
status side_stream_poll(struct side_stream *s, bool *is_done, struct err *err);

/* Seconds from the mark to the end of the finished work, as the card measured them. */
double side_stream_seconds(const struct side_stream *s);
