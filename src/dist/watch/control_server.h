/*
 * control_server - the listening end of the control channel.
 *
 * One thread turns it: accept connections, check the token, feed heartbeats to
 * `liveness`, answer each with the current order. No client can block it or make it grow:
 * sockets never block, messages have fixed sizes, unauthenticated connections are closed
 * after `t_join` seconds, and when all slots are taken the oldest of them is closed
 * first.
 *
 * Owns: the sockets and `liveness`. Threads: one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dist/watch/channel.h"
#include "dist/watch/liveness.h"

struct control_client;

struct control_server {
    struct liveness liveness;
    uint8_t token[CHANNEL_TOKEN];
    enum channel_order order; /* sent with every answer */
    int listener, epoll;
    uint16_t port;
    struct control_client *client;
    size_t max_clients;
    bool is_full, was_full; /* no descriptor is left for a connection; ever */
    double t_full;          /* when that was seen */
    uint32_t refused; /* the number of ranks that a refused rank counts; 0: none was */
};

/*
 * Listen on `address` (numeric, or "" for every interface) and `port` (0: any free one)
 * for a job of n_ranks with this token.
 */
status control_server_open(struct control_server *s, const char *address, uint16_t port,
                           size_t n_ranks, const uint8_t token[CHANNEL_TOKEN],
                           struct liveness_limits limits, struct err *err);
void control_server_close(struct control_server *s); /* a zeroed one is fine */

/* Whether ranks were turned away for want of descriptors; true once, to be said so. */
bool control_server_is_full(struct control_server *s);
extern const char control_server_full_text[];

/* Wait up to t seconds for messages and serve them. */
void control_server_turn(struct control_server *s, double t);

/* Change the order, and send it to every connected rank at once. */
void control_server_order(struct control_server *s, enum channel_order order);
