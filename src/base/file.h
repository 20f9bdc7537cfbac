/*
 * file - whole files in, whole files out, and nothing half-written in between.
 *
 * Reading maps the file. Writing goes to "PATH.tmp-PID", is fsynced and renamed over
 * PATH, so that a reader (and a crash) sees the old bytes or the new ones. Failures
 * name the path and what the system said.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* A read-only mapping of a whole file. Zeroed = closed; an empty file maps to n = 0. */
struct file_map {
    const unsigned char *data;
    size_t n_bytes;
};

status file_map_open(struct file_map *m, const char *path, struct err *err);
void file_map_close(struct file_map *m);

/* The bytes being written to a file that does not exist yet under its name. */
struct file_writer {
    int fd; /* valid while path is set */
    char *path, *tmp;
    unsigned char *buf;
    size_t n_buffered;
    uint64_t n_bytes; /* written so far, buffered ones included */
    bool is_broken;   /* a write failed: commit refuses */
};

status file_writer_open(struct file_writer *w, const char *path, struct err *err);
status file_writer_add(struct file_writer *w, const void *data, size_t n,
                       struct err *err);
/* The same with a line feed behind it. */
status file_writer_add_line(struct file_writer *w, const void *text, size_t n,
                            struct err *err);
/* Flush, fsync, rename into place, fsync the directory. Closes *w either way. */
status file_writer_commit(struct file_writer *w, struct err *err);
/* Forget everything written. Safe on a zeroed, committed or aborted writer. */
void file_writer_abort(struct file_writer *w);

/* The three calls above for bytes that are at hand. */
status file_write(const char *path, const void *data, size_t n, struct err *err);

/* The same for a string, unless it lost something (str_check). */
status file_write_str(const char *path, const struct str *text, struct err *err);

/* All n bytes to an open file; `path` is what the message calls it. */
status file_put(int fd, const void *data, size_t n, const char *path, struct err *err);

enum { FILE_PATH_MAX = 1024 };

/* A new file in TMPDIR, or in /tmp, open to read and write; its name is in `path`. */
status file_temporary(int *fd, char path[FILE_PATH_MAX], struct err *err);
/* The same without a name: it is gone when it is closed. */
status file_nameless(int *fd, struct err *err);

bool file_exists(const char *path);
bool file_is_dir(const char *path);
/* Size in bytes, or -1 when there is no such file. */
int64_t file_bytes(const char *path);

/* Create the directory and its parents; no error if it is there. */
status file_make_dirs(const char *path, struct err *err);
status file_remove(const char *path, struct err *err); /* ENOENT is fine */
/* Durably. */
status file_rename(const char *from, const char *to, struct err *err);

/* dir + "/" + name in out; ERR_USAGE when it is too long. */
status file_join(char *out, size_t n_out, const char *dir, const char *name,
                 struct err *err);
/* A path as the format spells it. */
status file_path(char out[FILE_PATH_MAX], struct err *err, const char *fmt, ...)
    PRINTF(3, 4);
