/* comm_leave - comm_close with a time limit. */
#pragma once

#include <stdbool.h>

struct comm;

/*
 * MPI_Finalize waits for all ranks, and for ever when one is cut off after the watching
 * has ended. False after `seconds`: this process must then end without it, and *c, which
 * a thread may still use, must outlive the call.
 */
bool comm_leave(struct comm *c, double seconds);
