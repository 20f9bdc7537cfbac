/*
 * file - whole files in, whole files out, and nothing half-written in between.
 *
 * Reading maps the file. Writing goes to a temporary file beside PATH, is fsynced and
 * renamed over PATH, so that a reader (and a crash) sees the old bytes or the new ones.
 * Failures name the path and what the system said.
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
/* The same bytes read into memory of our own: whatever is done to the file later, it is
 * not seen. ERR_IO when the file is cut short at that moment. */
status file_map_copy(struct file_map *m, const char *path, struct err *err);
void file_map_close(struct file_map *m);

/* The path of the open mapping that holds the address, or NULL: for a handler of SIGBUS,
 * which is how a file that was cut short under its mapping is noticed. Safe in a signal
 * handler; of more than 64 mappings it knows the first. */
const char *file_mapped_at(const void *address);

/*
 * What a writer has not committed is named NAME.tmp-ferry-PID-COUNT, where NAME is what
 * it becomes. No other file of ours has such a name, and only files with such a name may
 * be removed as the rest of an interrupted write.
 */
#define FILE_TMP_MARK ".tmp-ferry-"
bool file_is_tmp(const char *name);
/* One that nobody on this host writes any more: its process is gone, or it is this one,
 * which asks before it writes there. */
bool file_is_abandoned(const char *name);

/* The bytes being written to a file that does not exist yet under its name. */
struct file_writer {
    int fd;       /* valid while path is set */
    int into;     /* -1, or what the bytes of `fd` go into at the commit */
    char *path;   /* as the caller named it */
    char *target; /* what is replaced; NULL: the bytes go straight into `path` */
    char *tmp;
    unsigned char *buf;
    size_t n_buffered;
    uint64_t n_bytes; /* written so far, buffered ones included */
    bool is_broken;   /* a write failed: commit refuses */
};

/* A file of ours in a directory of ours. A symbolic link of that name is replaced, never
 * followed; a directory, a device or a pipe is refused. */
status file_writer_open(struct file_writer *w, const char *path, struct err *err);
/* A file that the user named. A symbolic link stays and what it points at is replaced,
 * keeping its permissions. A device, a pipe or a descriptor (/dev/stdout) is written into
 * as the bytes come. A directory or a socket is refused. */
status file_writer_open_output(struct file_writer *w, const char *path, struct err *err);
/* The same for bytes that are patched before the commit: what goes into a device, a pipe
 * or a descriptor, where nothing can be taken back, waits for it in a file without a
 * name. */
status file_writer_open_patchable(struct file_writer *w, const char *path,
                                  struct err *err);
/* Whether the system would let it be written, before long work begins. */
status file_check_output(const char *path, struct err *err);
status file_writer_add(struct file_writer *w, const void *data, size_t n,
                       struct err *err);
/* The same with a line feed behind it. */
status file_writer_add_line(struct file_writer *w, const void *text, size_t n,
                            struct err *err);
/* Put n bytes over those that were added at offset `at`. The writer is no output that is
 * written into as the bytes come. */
status file_writer_patch(struct file_writer *w, uint64_t at, const void *data, size_t n,
                         struct err *err);
/* Flush, fsync, rename into place, fsync the directory. Closes *w either way. */
status file_writer_commit(struct file_writer *w, struct err *err);
/* Forget everything written. Safe on a zeroed, committed or aborted writer. */
void file_writer_abort(struct file_writer *w);

/* Open, add and commit for bytes that are at hand: a file of ours, or one that the user
 * named. */
status file_write(const char *path, const void *data, size_t n, struct err *err);
status file_write_output(const char *path, const void *data, size_t n, struct err *err);

/* file_write for a string, unless it lost something (str_check). */
status file_write_str(const char *path, const struct str *text, struct err *err);

/*
 * A file of ours that stays open, or is written in place: locks, logs, journals. `flags`
 * are those of open(). Only a regular file is opened, and never through a symbolic link,
 * which in a directory from elsewhere could point anywhere. *fd is -1 on failure.
 */
status file_open_regular(int *fd, const char *path, int flags, struct err *err);

/* For a lock, which anybody can take who can read its file, and keep from its owner. */
void file_close_to_others(int fd);

/* ERR_IO with the path and what errno means. */
status file_error(struct err *err, const char *path);
/* What errno `code` means, in the words of the system and ours. */
const char *file_reason(int code);

/* All n bytes to an open file; `path` is what the message calls it. */
status file_put(int fd, const void *data, size_t n, const char *path, struct err *err);

enum { FILE_PATH_MAX = 1024 };

/* A new file in TMPDIR, or in /tmp, open to read and write; its name is in `path`. */
status file_temporary(int *fd, char path[FILE_PATH_MAX], struct err *err);
/* The same without a name: it is gone when it is closed. */
status file_nameless(int *fd, struct err *err);
/* The same on the disk of `path`, for what is as large as that file. */
status file_nameless_beside(int *fd, const char *path, struct err *err);

bool file_exists(const char *path);
bool file_is_dir(const char *path);
/* A device, a pipe or a socket, maybe behind a link; bytes go into it, never over it. */
bool file_is_special(const char *path);
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
/* The path from the root: behind the present directory when it does not begin there. */
status file_absolute(char out[FILE_PATH_MAX], const char *path, struct err *err);
/* A path as the format spells it. */
status file_path(char out[FILE_PATH_MAX], struct err *err, const char *fmt, ...)
    PRINTF(3, 4);
