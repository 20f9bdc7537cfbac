/*
 * fibres - runs kernels of device/gpu on the CPU, as the plain C of the dialect.
 *
 * A group's items are fibres on one thread: each runs to the next barrier, then the next
 * item does. A barrier that some items miss is found, and said. Groups run one after
 * another, with the local memory that the last one left, as on a GPU.
 */
#pragma once

#include <stddef.h>

typedef void fibres_fn(void *ctx);

/* fn(ctx) for every item of every group; aborts when items disagree about barriers. */
void fibres_run(fibres_fn *fn, void *ctx, const unsigned group[3], unsigned items);
