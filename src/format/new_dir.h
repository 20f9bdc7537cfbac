/*
 * new_dir - a directory of files that appears whole or not at all.
 *
 * It is made beside the name that it shall have, under a temporary one (base/file.h), and
 * renamed once its files are written. A name that is taken is refused, unless by an empty
 * directory.
 *
 *     new_dir_begin(&d, "out", err);
 *     file_write(path of "config.json" in d.path, ...);
 *     new_dir_commit(&d, err);
 *
 * Owns: the unfinished directory, with the files in it; directories within it are not
 * expected. Threads: one at a time.
 */
#pragma once

#include "base/err.h"
#include "base/file.h"

/* Zeroed = closed. */
struct new_dir {
    char path[FILE_PATH_MAX]; /* the unfinished one */
    char target[FILE_PATH_MAX];
};

/* Could it be made? Before long work begins. ERR_USAGE: something is there. */
status new_dir_check(const char *target, struct err *err);

status new_dir_begin(struct new_dir *d, const char *target, struct err *err);
status new_dir_commit(struct new_dir *d, struct err *err);
/* Remove it with its files. Safe on one that is zeroed or committed. */
void new_dir_abort(struct new_dir *d);
