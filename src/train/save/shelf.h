/*
 * shelf - the checkpoints of a directory as files: which are kept, which one its pointer
 * file `checkpoint` names.
 *
 * Threads: one at a time for a directory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"

/*
 * Checkpoints of one directory whose names begin alike. Without is_pointed the pointer
 * file still names another kind as the one to use, if it has any.
 */
struct shelf {
    char dir[FILE_PATH_MAX];
    const char *kind; /* what their names begin with */
    size_t keep;      /* how many of the newest */
    bool is_pointed;
};

/*
 * Put NAME (of a checkpoint just written in the shelf's directory) into the pointer file,
 * as the newest of its kind, and remove the files of those that are too many.
 */
status shelf_publish(const struct shelf *shelf, const char *name,
                     struct err *err) MUST_CHECK;

/* Remove the files of a checkpoint that no pointer file names. */
void shelf_remove(const char *dir, const char *name);

/* Remove what a killed process left half-written or half-removed in a run directory. */
void shelf_sweep(const char *run);

/* Of all files of a checkpoint. */
uint64_t shelf_bytes(const char *prefix);
