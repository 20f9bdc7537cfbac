/*
 * tower - a server of the control channel that a thread turns, for tests of what connects
 * to it; ranks made by hand, to say what a heartbeat never would.
 */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "dist/watch/control_server.h"
#include "dist/watch/heartbeat.h"
#include "test.h"

static const uint8_t token[CHANNEL_TOKEN] = "a token of thirty-two bytes....";
static const uint8_t wrong[CHANNEL_TOKEN] = "this is not the job's own token";

/* A server turned by a thread until told otherwise. */
struct tower {
    struct control_server server;
    pthread_t thread;
    pthread_mutex_t lock;
    atomic_bool is_over, is_paused;
};

static inline void *tower_turn(void *arg)
{
    struct tower *t = arg;

    while (!t->is_over) {
        if (t->is_paused) {
            usleep(20000);
            continue;
        }
        pthread_mutex_lock(&t->lock);
        control_server_turn(&t->server, 0.01);
        pthread_mutex_unlock(&t->lock);
        usleep(1000);
    }
    return NULL;
}

/* The usual times, some times faster. */
static const struct liveness_limits limits = {.t_silence = 2,
                                              .t_closed = 0.5,
                                              .t_start = 10,
                                              .t_late = 2,
                                              .t_stall = 10,
                                              .t_join = 0.6};
static const struct heartbeat_times times = {.period = 0.2,
                                             .retry = 0.2,
                                             .connect = 0.2,
                                             .handshake = 0.6,
                                             .unanswered = 0.6,
                                             .goodbye = 2};

static inline void tower_open_at(struct tower *t, const char *address, uint16_t port,
                                 const uint8_t key[CHANNEL_TOKEN], size_t n_ranks)
{
    struct err err;

    t->is_over = t->is_paused = false;
    pthread_mutex_init(&t->lock, NULL);
    CHECK_OK(control_server_open(&t->server, address, port, n_ranks, key, limits, &err),
             &err);
    CHECK(t->server.port != 0);
    CHECK(pthread_create(&t->thread, NULL, tower_turn, t) == 0);
}

static inline void tower_open(struct tower *t, size_t n_ranks)
{
    tower_open_at(t, "127.0.0.1", 0, token, n_ranks);
}

static inline void tower_close(struct tower *t)
{
    t->is_over = true;
    pthread_join(t->thread, NULL);
    control_server_close(&t->server);
    pthread_mutex_destroy(&t->lock);
}

/* A copy of what the server knows of a rank. */
static inline struct liveness_rank seen(struct tower *t, uint32_t rank)
{
    pthread_mutex_lock(&t->lock);
    const struct liveness_rank r = t->server.liveness.rank[rank];
    pthread_mutex_unlock(&t->lock);
    return r;
}

static atomic_int n_stops, n_leaves;

static inline void count_stop(void *ctx)
{
    (void)ctx;
    n_stops++;
}

static inline void count_leave(void *ctx, const char *why)
{
    (void)ctx;
    (void)why;
    n_leaves++;
}

static inline struct heartbeat_config config_of(const struct tower *t, struct phase *p,
                                                uint32_t rank, uint32_t n_ranks)
{
    struct heartbeat_config c = {.rank = rank,
                                 .n_ranks = n_ranks,
                                 .hosts = "127.0.0.1",
                                 .port = t->server.port,
                                 .t_lost = 1.5,
                                 .t_first = 2,
                                 .times = times,
                                 .phase = p,
                                 .stop = count_stop,
                                 .leave = count_leave};

    memcpy(c.token, token, sizeof token);
    n_stops = n_leaves = 0;
    return c;
}

/* Wait up to five seconds for something to become true. */
#define SOON(cond)                                  \
    do {                                            \
        for (int i_ = 0; i_ < 500 && !(cond); i_++) \
            usleep(10000);                          \
        CHECK(cond);                                \
    } while (0)

static inline int dial(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0);
    return fd;
}

/* Whether the server hangs up within five seconds; it may say its hello first. */
static inline bool is_dropped(int fd)
{
    const struct timeval limit = {.tv_sec = 5};
    char bytes[256];
    ssize_t got;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    do {
        got = recv(fd, bytes, sizeof bytes, 0);
    } while (got > 0);
    return got == 0 || errno != EAGAIN;
}

static inline void read_all(int fd, void *out, size_t n)
{
    CHECK(recv(fd, out, n, MSG_WAITALL) == (ssize_t)n);
}

/* A rank made by hand, to say what a heartbeat never would. */
static inline int join_by_hand(uint16_t port, uint32_t rank, uint32_t n_ranks,
                               struct channel_key *key)
{
    struct channel_join j = {.rank = rank, .n_ranks = n_ranks, .host = "by hand"};
    uint8_t hello[CHANNEL_HELLO_BYTES], join[CHANNEL_JOIN_BYTES],
        welcome[CHANNEL_WELCOME_BYTES];
    uint8_t nonce[CHANNEL_NONCE];
    enum channel_answer answer;
    const int fd = dial(port);

    read_all(fd, hello, sizeof hello);
    CHECK(channel_get_hello(nonce, hello));
    CHECK(channel_random(j.nonce, sizeof j.nonce));
    channel_put_join(join, &j, token, nonce);
    CHECK(channel_send(fd, join, sizeof join));
    read_all(fd, welcome, sizeof welcome);
    *key = channel_session(token, nonce, j.nonce);
    CHECK(channel_get_welcome(&answer, welcome, key) && answer == CHANNEL_ACCEPTED);
    return fd;
}
