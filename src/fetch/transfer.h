/*
 * transfer - one request for the rest of a file over HTTP, and what became of it.
 *
 * libcurl stands behind this file alone; in a build without it the one call says so.
 * Proxies come from the environment (http_proxy, https_proxy, no_proxy). Redirections are
 * followed, at most ten, and never from https to http. An answer is only whole when the
 * server said how long it is and as much came: everything else is not TRANSFER_WHOLE.
 *
 * Owns nothing between calls. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { TRANSFER_TEXT = 256, TRANSFER_URL = 2048 };

/* Which bytes of which version of the file are wanted. */
struct transfer_request {
    const char *url;
    uint64_t at;           /* first byte wanted; 0: all */
    const char *validator; /* of the version that the first `at` bytes are from, or "" */
    int64_t n_total;       /* its length, -1 when that is not known */
    const char *ca;        /* PEM file of certificates to trust, "": the system's */
    double t_stall;        /* seconds without a byte that end it */
};

/* What the server said about the bytes that begin now. */
struct transfer_head {
    uint64_t at;     /* offset of the first byte that comes: 0 or as asked */
    int64_t n_total; /* of the whole file, -1 when it is not known */
    char validator[TRANSFER_TEXT]; /* strong ETag, or date; "" when there is none */
};

/* Where they go. A failure of either ends the transfer and is its result. */
struct transfer_sink {
    status (*begin)(void *to, const struct transfer_head *head, struct err *err);
    status (*add)(void *to, const void *bytes, size_t n, struct err *err);
    void *to;
};

enum transfer_end {
    TRANSFER_WHOLE, /* to the last byte, as the server counts them */
    TRANSFER_AGAIN, /* the network or the server failed: another try may do */
    TRANSFER_NEVER, /* this server will not give this file */
    TRANSFER_STALE  /* what was downloaded does not fit: start over */
};

struct transfer_result {
    enum transfer_end end;
    char why[TRANSFER_TEXT * 2]; /* when not whole: what happened */
    double t_wait;               /* seconds that the server asked to be left alone */
};

/* ERR_USAGE without libcurl; otherwise fails only when the sink did. */
status transfer_get(const struct transfer_request *q, const struct transfer_sink *sink,
                    struct transfer_result *r, struct err *err) MUST_CHECK;
