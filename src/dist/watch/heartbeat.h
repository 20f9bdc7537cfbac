/*
 * heartbeat - the thread that reports the phase of a rank over the control channel.
 *
 * Once a second it sends what the training thread published last (dist/watch/phase.h),
 * and receives orders. A silent connection is replaced by a new one, tried every second.
 * A rank without an answer for `t_lost` seconds has been given up by the server, and
 * another may have been started in its place: so `leave` is called, which ends the
 * process. This bypasses MPI, because MPI may be what hangs.
 *
 * The ranks of a host report to its leader, the first of them, whose thread serves them
 * too (`relay`) and passes on, with its own beat, what they said since the last one. So
 * the server has one connection and one message a second for a host. What is answered is
 * what has arrived at the server: a leader that is cut off holds its ranks no longer than
 * they would last by themselves. A rank whose leader dies, or says nothing at all, turns
 * to the server and stays with it.
 *
 * Owns: its thread and socket. Borrows the phase and the relay, which nobody else touches
 * until heartbeat_close. The callbacks run on the thread, or in heartbeat_open.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "dist/watch/channel.h"
#include "dist/watch/phase.h"

struct control_server;

/* In seconds. */
struct heartbeat_times {
    double period;     /* between beats */
    double retry;      /* between attempts to connect */
    double connect;    /* for one attempt */
    double handshake;  /* for each message of it, once there is a connection */
    double unanswered; /* heartbeats, until another connection is tried */
    double goodbye;    /* to deliver it, over a new connection if necessary */
};

extern const struct heartbeat_times heartbeat_times_default;

struct heartbeat_config {
    uint32_t rank, n_ranks;
    const char *hosts; /* "a,b,c": where the server may be; tried in turn */
    uint16_t port;
    uint16_t leader_port;         /* of the leader on this host; 0: there is none */
    struct control_server *relay; /* of a leader, for the ranks of its host; or NULL */
    uint8_t token[CHANNEL_TOKEN];
    double t_lost;  /* without an answer */
    double t_first; /* for the first connection */
    struct heartbeat_times times;
    struct phase *phase;
    void *ctx;
    void (*stop)(void *ctx);                   /* ordered to save and end; called once */
    void (*leave)(void *ctx, const char *why); /* ordered to end at once, or lost */
};

struct heartbeat;

/* Returns when the server has accepted this rank, or with an error. */
status heartbeat_open(struct heartbeat **h, const struct heartbeat_config *c,
                      struct err *err);
/* Says goodbye with the status of this rank, and with 1 + the rank at fault (0: none);
 * silence after that is fine. A leader goes on for up to t_linger seconds while ranks
 * report through it. NULL is fine. */
void heartbeat_close(struct heartbeat *h, status result, uint32_t fault, double t_linger);

/* False when the last answer is older than t_lost: this rank was given up and must not
 * touch files that its successor may be using. Any thread. */
bool heartbeat_is_current(struct heartbeat *h);
