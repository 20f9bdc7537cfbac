/*
 * run_dir - the run directory, as all ranks see it.
 *
 * Disks may be shared between nodes or not. The first rank puts a file with a name that
 * nobody can guess into its directory; who sees it shares that disk. The first rank
 * writes the files of the run, and on every node that does not share its disk the first
 * of the ranks there writes a copy of the checkpoints, so that the run can go on from any
 * node. Those put a file of their own and look for the others' in the same way: of nodes
 * that share another disk one writes. A directory belongs to one training at a time: each
 * writer holds a lock, on the file .lock, which names the `ferry launch` that started it.
 * A later start of the same takes it over from a rank that was given up and cannot let
 * go.
 *
 * Owns: the lock. Threads: one at a time; opening is collective.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct comm;
struct progress;

struct run_dir {
    int lock;       /* file descriptor, or -1 */
    bool is_writer; /* of checkpoints */
    int n_writers;
};

/* Create the directory where it is missing, and lock it. */
status run_dir_open(struct run_dir *h, struct comm *comm, const char *dir,
                    struct progress *console, struct err *err) MUST_CHECK;
void run_dir_close(struct run_dir *h);
