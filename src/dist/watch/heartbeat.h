/*
 * heartbeat - the thread that reports the phase of a rank over the control channel.
 *
 * It says once a second what the training thread published last (dist/watch/phase.h), and
 * takes the orders that come back. A connection that falls silent is opened anew every
 * second. A rank that has heard no answer for `t_lost` seconds has been given up by the
 * other side, which has started or will start another in its place: so it calls `lost`,
 * which ends the process. MPI is not involved: it may be what hangs.
 *
 * Owns: its thread and socket. Borrows the phase. The callbacks run on the thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "dist/watch/channel.h"
#include "dist/watch/phase.h"

/* In seconds. */
struct heartbeat_times {
    double period;     /* between beats */
    double retry;      /* between attempts to connect */
    double connect;    /* for one attempt */
    double handshake;  /* for each message of it, once there is a connection */
    double unanswered; /* beats, until another connection is tried */
    double goodbye;    /* to say it in, over a new connection if need be */
};

extern const struct heartbeat_times heartbeat_times_default;

struct heartbeat_config {
    uint32_t rank, n_ranks;
    const char *hosts; /* "a,b,c": where the other end may be; the first that answers */
    uint16_t port;
    uint8_t token[CHANNEL_TOKEN];
    double t_lost;  /* without an answer */
    double t_first; /* for the first connection */
    struct heartbeat_times times;
    struct phase *phase;
    void *ctx;
    void (*stop)(void *ctx);                   /* save and end was ordered; called once */
    void (*leave)(void *ctx, const char *why); /* ordered to end at once, or lost */
};

struct heartbeat;

/* Returns when the other end has accepted this rank, or with a sentence. */
status heartbeat_open(struct heartbeat **h, const struct heartbeat_config *c,
                      struct err *err) MUST_CHECK;
/* Says goodbye and how this rank ended; silence from here on is no death. NULL is fine.
 */
void heartbeat_close(struct heartbeat *h, status result);

/* False when the last answer is older than t_lost: this rank has been given up and must
 * not touch what its successor may be using. Any thread. */
bool heartbeat_is_current(struct heartbeat *h);
