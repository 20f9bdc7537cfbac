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
#include "base/progress.h"

struct download_config {
    int64_t retries;   /* tries without progress, after the first */
    double t_backoff;  /* seconds before the second try; doubles up to a minute */
    double t_stall;    /* seconds without a byte that end a try */
    const char *ca;    /* PEM file of certificates to trust, "": the system's */
    const char *label; /* in the progress line */
    struct progress *progress;
};

/*
 * Bring `url` to `path` and sync it. On failure what came is kept for the next call, and
 * *is_local says that this machine failed (a full disk), which another server cannot
 * mend.
 */
status download_get(const struct download_config *c, const char *url, const char *path,
                    bool *is_local, struct err *err) MUST_CHECK;

/* Remove the bytes and the note beside them. */
status download_discard(const char *path, struct err *err) MUST_CHECK;
/* Give them their name, durably. */
status download_commit(const char *path, const char *name, struct err *err) MUST_CHECK;
