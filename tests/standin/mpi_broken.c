/*
 * A module of MPI for comm_mpi.c whose network breaks: two ranks of one host find each
 * other, then every message fails and the end never comes. test_comm is its rank 0.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dist/comm/mpi_calls.h"

static int n_swaps;

static bool broken_open(int *rank, int *size, char why[MPI_CALLS_WHY])
{
    (void)why;
    *rank = 0;
    *size = 2;
    n_swaps = 0;
    return true;
}

/* The first two swaps are the all-gather of the hosts' names; the other rank's bytes come
 * behind our own, and are the same. */
static bool broken_swap(const struct comm_msg *send, size_t n_send,
                        const struct comm_msg *recv, size_t n_recv, int poll_us,
                        char why[MPI_CALLS_WHY])
{
    (void)send, (void)n_send, (void)poll_us;
    if (n_swaps++ < 2) {
        if (n_recv)
            memcpy(recv->data, (char *)recv->data - recv->n_bytes, recv->n_bytes);
        return true;
    }
    snprintf(why, MPI_CALLS_WHY, "the network is gone");
    return false;
}

/* MPI_Finalize of a rank that waits for another one. */
static void broken_close(void)
{
    for (;;)
        pause();
}

static const char *broken_library(void)
{
    return "broken MPI";
}

extern const struct mpi_calls mpi_calls_table;
__attribute__((visibility("default")))
const struct mpi_calls mpi_calls_table = {.version = MPI_CALLS_VERSION,
                                          .open = broken_open,
                                          .swap = broken_swap,
                                          .close = broken_close,
                                          .library = broken_library};
