/*
 * control_server - the listening end of the control channel.
 *
 * One thread turns it: accept connections, check the token, feed heartbeats to
 * `liveness`, answer each with the current order. No client can block it or make it grow:
 * sockets never block, messages have fixed sizes, unauthenticated connections are closed
 * after `t_join` seconds, and when all slots are taken the oldest of them is closed
 * first.
 *
 * A rank reports for itself, or the leader of its node for it: the leader has a server of
 * its own, a relay, whose ranks it passes on within its own session (heartbeat.c). A rank
 * whose leader's session ends has the time of any other closed connection to come by
 * itself; once it has, its leader's word about it no longer counts.
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

/* Where the server hears of a rank. */
struct control_route {
    int64_t client; /* its own or its leader's; -1: nowhere */
    bool is_news;   /* of a relay: not yet passed on */
};

struct control_server {
    struct liveness liveness;
    uint8_t token[CHANNEL_TOKEN];
    enum channel_order order; /* sent with every answer */
    int listener, epoll;
    uint16_t port;
    struct control_client *client;
    size_t max_clients, n_connected; /* connected: with a rank at the other end */
    struct control_route *route;     /* [n_ranks] */
    bool is_relay;  /* a beat counts as answered only when its news was passed on */
    bool is_urgent; /* of a relay: there is news that should not wait for the next beat */
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

/* Of a relay: the news of each rank since the last call, at most one beat for each of all
 * ranks; with is_all also the last word of those that have no news. Returns how many. */
size_t control_server_collect(struct control_server *s, bool is_all,
                              struct channel_beat *out);
/* Of a relay: what was collected has arrived. The next answers say so. */
void control_server_confirm(struct control_server *s);
