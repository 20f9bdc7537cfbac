/*
 * download - a file from a server, whole or not at all, through whatever the network
 * does.
 *
 * Bytes go to PATH, a name that the caller does not take for the file. Beside it
 * PATH.meta says which version of which address they are from, so that a later try, or a
 * later run, asks for the rest of the same version (Range, If-Range) and starts over when
 * the server has another one. Cut, stalled and refused connections are tried again after
 * a pause that doubles; the count starts over whenever 1 MiB has arrived.
 *
 * Owns nothing between calls. Threads: one at a time for a path.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "base/progress.h"

struct download_config {
    int64_t retries;    /* tries without progress, after the first */
    double t_backoff;   /* seconds before the second try; doubles up to a minute */
    double t_stall;     /* seconds without a byte that end a try */
    const char *ca;     /* PEM file of certificates to trust, "": the system's */
    const char *label;  /* in the progress line */
    uint64_t max_bytes; /* that a file may have */
    struct progress *progress;
};

/*
 * Bring `url` to `path` and sync it. On failure what came is kept for the next call, and
 * *is_local says that this machine failed (a full disk), which another server cannot
 * mend.
 */
status download_get(const struct download_config *c, const char *url, const char *path,
                    bool *is_local, struct err *err);

/* Remove the bytes and the note beside them. */
status download_discard(const char *path, struct err *err);
/* Give them their name, durably. */
status download_commit(const char *path, const char *name, struct err *err);

/* ---- between the files of this module ---- */

enum { DOWNLOAD_TEXT = 256, DOWNLOAD_URL = 2048 };

/* A file on its way. */
struct download_part {
    const struct download_config *config;
    const char *url, *path;
    char meta[FILE_PATH_MAX];
    int fd;
    uint64_t n;      /* bytes in it that belong to the version below */
    int64_t n_total; /* of the whole file, -1: not known */
    char
        validator[DOWNLOAD_TEXT]; /* strong ETag, or date; "": no rest can be asked for */
    uint64_t n_shown;             /* bytes that were there when the progress line began */
};

enum download_end {
    DOWNLOAD_WHOLE, /* to the last byte, as the server counts them */
    DOWNLOAD_AGAIN, /* the network or the server failed: another try may do */
    DOWNLOAD_NEVER, /* this server will not give this file */
    DOWNLOAD_STALE  /* what was downloaded does not fit: start over */
};

struct download_try {
    enum download_end end;
    char why[DOWNLOAD_TEXT * 2]; /* when not whole: what happened */
    double t_wait;               /* seconds that the server asked to be left alone */
};

/* One request for the rest of a file over HTTP. libcurl stands behind this call alone:
 * ERR_USAGE without it; otherwise fails only when one of the two below did. */
status download_http(struct download_part *p, struct download_try *r, struct err *err);
/* The bytes that come next are the rest, or those of a version that begins anew: */
status download_begin(struct download_part *p, bool is_rest, int64_t n_total,
                      const char *validator, struct err *err);
status download_add(struct download_part *p, const void *bytes, size_t n,
                    struct err *err);
