/*
 * mpi_calls - what is asked of an MPI library, as a table of plain C.
 *
 * The libraries differ in their binary interface, and a machine may have either, both or
 * none. So src/dist/comm/mpi/mpi_calls.c, the one file that includes mpi.h, is compiled
 * once for each library found into a module that the program carries (mpi_module.h), and
 * comm_mpi.c opens the one that the launcher's environment asks for. A run of one rank
 * opens neither and starts where no MPI is installed.
 *
 * Threads: all calls from the thread that called open.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "dist/comm/comm_backend.h"

enum { MPI_CALLS_VERSION = 1, MPI_CALLS_WHY = 512 };

/* Calls return whether they worked, and otherwise say why. */
struct mpi_calls {
    int version;
    bool (*open)(int *rank, int *size, char why[MPI_CALLS_WHY]);
    bool (*swap)(const struct comm_msg *send, size_t n_send, const struct comm_msg *recv,
                 size_t n_recv, int poll_us, char why[MPI_CALLS_WHY]);
    void (*close)(void); /* a meeting of all ranks */
    const char *(*library)(void);
};

#define MPI_CALLS_SYMBOL "mpi_calls_table"
