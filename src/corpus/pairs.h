/*
 * pairs - parallel text: two lists of files, read side by side.
 *
 * Opening reads every file once to count its lines, and refuses files that cannot be
 * parallel before anything is made of them.
 *
 * Owns:     the open files.
 * Outlives: every `struct line` handed out, which points into them.
 * Threads:  one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "text/lines.h"

enum { PAIRS_SOURCE, PAIRS_TARGET, PAIRS_SIDES };

struct pairs_file {
    char path[PAIRS_SIDES][FILE_PATH_MAX];
    struct lines text[PAIRS_SIDES];
    uint64_t n_lines; /* of each side */
};

struct pairs {
    struct pairs_file *file;
    size_t n_files, at; /* `at` is the file being read */
    uint64_t n_lines;   /* of all files of one side */
};

/*
 * Open two comma-separated lists of as many files. ERR_FORMAT for a file without lines
 * and for two of different length. On failure *p is closed.
 */
status pairs_open(struct pairs *p, const char *source, const char *target,
                  struct err *err) MUST_CHECK;
void pairs_close(struct pairs *p);

/* The next pair of lines; false after the last one of the last file. */
bool pairs_next(struct pairs *p, struct line side[PAIRS_SIDES]);
