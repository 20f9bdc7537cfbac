/*
 * sources - the files that belong to one run, found by looking into them.
 *
 * A run of Ferry is its directory, or its run.jsonl alone. A run of another program may
 * have left a console log, a directory of TensorBoard events, checkpoints, and captures
 * that somebody took beside it (capture.h): each is found in a directory, or given.
 *
 * Owns nothing. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/file.h"

enum { SOURCES_CAPTURES_MAX = 16 };

/* Paths; an empty one: there is none. */
struct sources {
    char given[FILE_PATH_MAX]; /* the first that was given, which names the run */
    bool is_ferry;             /* `log` is a run.jsonl */
    char log[FILE_PATH_MAX];   /* run.jsonl, or a console log */
    char events[FILE_PATH_MAX], files[FILE_PATH_MAX]; /* directories */
    char capture[SOURCES_CAPTURES_MAX][FILE_PATH_MAX];
    size_t n_captures, n_given;
};

/* The sources of one path. ERR_IO when there is no such path, or nothing in it that a
 * report is made of. */
status sources_open(struct sources *s, const char *path, struct err *err);

/*
 * Several paths as runs, whose number is *n, at most n_paths. With `joins`, a path adds
 * to the run before it unless both have a log, events or checkpoints, or one is Ferry's.
 */
status sources_group(struct sources *runs, size_t *n, const char *const *path,
                     size_t n_paths, bool joins, struct err *err);

/* When its log was last written, in seconds since 1970; NAN: it has none. */
double sources_written(const struct sources *s);
