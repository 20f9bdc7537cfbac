/*
 * control_server - the listening end of the control channel: sockets in, facts for a
 * watch.
 *
 * One thread turns it: accept, prove the token, take beats, answer each with the order in
 * force. Nothing a client sends can stall or grow it: sockets never block, messages have
 * one size, strangers get `t_stranger` seconds and a bounded number of places, of which
 * the oldest makes room for the newest.
 *
 * Owns: the sockets and the watch. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dist/watch/channel.h"
#include "dist/watch/liveness.h"

struct control_client;

struct control_server {
    struct liveness liveness;
    uint8_t token[CHANNEL_TOKEN];
    enum channel_order order; /* what every answer says */
    int listener, epoll;
    uint16_t port;
    struct control_client *client;
    size_t n_clients, max_clients;
    uint32_t refused; /* ranks that proved themselves but are of another world size */
    uint64_t n_opened;
};

/*
 * Listen on `address` (numeric, or "" for every interface) and `port` (0: any free one)
 * for a job of n_ranks with this token.
 */
status control_server_open(struct control_server *s, const char *address, uint16_t port,
                           size_t n_ranks, const uint8_t token[CHANNEL_TOKEN],
                           struct liveness_limits limits, struct err *err) MUST_CHECK;
void control_server_close(struct control_server *s); /* a zeroed one is fine */

/* Wait up to t seconds for something, serve all that is there. */
void control_server_turn(struct control_server *s, double t);

/* From now on, and at once to every rank that is connected. */
void control_server_order(struct control_server *s, enum channel_order order);
