/*
 * relay - mpirun's output and errors, passed on to ours without mpirun's own traces.
 *
 * A thread reads both through pipes and writes what the ranks print to where it would
 * have gone. Traces of an end (launch/fold.h) go whole to launch.log in the run
 * directory, or in the working directory where the run directory is not on this machine,
 * and one line says so. When neither can be written, nothing is folded.
 *
 * Owns: its thread, pipes and log. Borrows the paths until relay_open returns.
 * Threads: one at a time.
 */
#pragma once

#include "base/err.h"

struct relay;

struct relay_paths {
    const char *launcher;  /* what the user calls mpirun */
    const char *directory; /* where the ranks run; empty: here */
    char *const *args;     /* of the program; they or their configuration name the run */
};

/* The directory of the run; empty: not known. It may be on another machine. */
void relay_find_run(char *out, size_t n, const struct relay_paths *p);

status relay_open(struct relay **r, const struct relay_paths *paths, int console,
                  struct err *err);
/* Where mpirun is to write. */
int relay_out(const struct relay *r);
int relay_errors(const struct relay *r);
/* Call once mpirun has them: ours are closed, and the thread begins. */
status relay_start(struct relay *r, struct err *err);
/*
 * Waits until all was passed on, at most t seconds; then takes what there is. A thread
 * that is stuck in a write stays until the process ends. The first error that a rank
 * printed goes to said[n]; empty: none did. NULL is fine.
 */
void relay_close(struct relay *r, double t, char *said, size_t n);
