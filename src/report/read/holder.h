/*
 * holder - the process that trains in a run directory, if one does: found by the lock on
 * RUN/.lock and the pulse in RUN/.pulse (recipe/pulse.h), without asking the process.
 *
 * Owns nothing. Threads: any.
 */
#pragma once

#include <stdbool.h>

#include "recipe/pulse.h"

enum holder_kind {
    HOLDER_UNKNOWN, /* a copy, or another host's directory: the log must tell */
    HOLDER_ALIVE,
    HOLDER_FROZEN, /* it holds the lock and gives no sign of life */
    HOLDER_GONE,
};

struct holder {
    enum holder_kind kind;
    bool has_pulse; /* of this directory, not of one that it was copied from */
    struct pulse pulse;
    double age; /* of the pulse in seconds; NAN: there is none */
};

/* `host` is the one that the log names, or NULL; `now` is in seconds since 1970. */
void holder_find(struct holder *h, const char *dir, const char *host, double now);
