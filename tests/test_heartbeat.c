/* The two ends of the control channel over the loopback, and hostile ones. */
#include "dist/watch/heartbeat.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "dist/watch/control_server.h"
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

static void *turn(void *arg)
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

static void tower_open_at(struct tower *t, const char *address, uint16_t port,
                          const uint8_t key[CHANNEL_TOKEN], size_t n_ranks)
{
    struct err err;

    t->is_over = t->is_paused = false;
    pthread_mutex_init(&t->lock, NULL);
    CHECK_OK(control_server_open(&t->server, address, port, n_ranks, key, limits, &err),
             &err);
    CHECK(t->server.port != 0);
    CHECK(pthread_create(&t->thread, NULL, turn, t) == 0);
}

static void tower_open(struct tower *t, size_t n_ranks)
{
    tower_open_at(t, "127.0.0.1", 0, token, n_ranks);
}

static void tower_close(struct tower *t)
{
    t->is_over = true;
    pthread_join(t->thread, NULL);
    control_server_close(&t->server);
    pthread_mutex_destroy(&t->lock);
}

/* A copy of what the server knows of a rank. */
static struct liveness_rank seen(struct tower *t, uint32_t rank)
{
    pthread_mutex_lock(&t->lock);
    const struct liveness_rank r = t->server.liveness.rank[rank];
    pthread_mutex_unlock(&t->lock);
    return r;
}

static atomic_int n_stops, n_leaves;

static void count_stop(void *ctx)
{
    (void)ctx;
    n_stops++;
}

static void count_leave(void *ctx, const char *why)
{
    (void)ctx;
    (void)why;
    n_leaves++;
}

static struct heartbeat_config config_of(const struct tower *t, struct phase *p,
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

TEST(what_a_rank_publishes_arrives)
{
    struct heartbeat *h;
    struct phase p = {0};
    struct tower t;
    struct err err;

    tower_open(&t, 2);
    const struct heartbeat_config c = config_of(&t, &p, 1, 2);
    phase_set(&p, 41, PHASE_COMPUTE);
    CHECK_OK(heartbeat_open(&h, &c, &err), &err);
    SOON(seen(&t, 1).last.step == 41);
    phase_set(&p, 42, PHASE_EXCHANGE);
    SOON(seen(&t, 1).last.step == 42 && seen(&t, 1).last.phase == PHASE_EXCHANGE);
    CHECK(seen(&t, 1).pid == (uint32_t)getpid());
    CHECK(!seen(&t, 0).has_joined);
    CHECK(heartbeat_is_current(h));
    SOON(seen(&t, 1).last.waited_ms > 100); /* it stays in a phase that waits */
    heartbeat_close(h, ERR_IO, 1 + 2);
    CHECK(seen(&t, 1).is_done && seen(&t, 1).last.result == ERR_IO);
    CHECK(n_leaves == 0);
    tower_close(&t);
}

TEST(orders_reach_the_rank)
{
    struct heartbeat *h;
    struct phase p = {0};
    struct tower t;
    struct err err;

    tower_open(&t, 1);
    const struct heartbeat_config c = config_of(&t, &p, 0, 1);
    CHECK_OK(heartbeat_open(&h, &c, &err), &err);
    pthread_mutex_lock(&t.lock);
    control_server_order(&t.server, CHANNEL_STOP);
    pthread_mutex_unlock(&t.lock);
    SOON(n_stops == 1);
    pthread_mutex_lock(&t.lock);
    control_server_order(&t.server, CHANNEL_LEAVE);
    pthread_mutex_unlock(&t.lock);
    SOON(n_leaves > 0);
    CHECK(n_stops == 1);
    heartbeat_close(h, OK, 0);
    tower_close(&t);
}

TEST(a_rank_with_another_token_never_joins)
{
    struct heartbeat *h;
    struct phase p = {0};
    struct tower t;
    struct err err;

    tower_open(&t, 1);
    struct heartbeat_config c = config_of(&t, &p, 0, 1);
    memcpy(c.token, wrong, sizeof wrong);
    c.t_first = 0.5;
    CHECK_FAILS(heartbeat_open(&h, &c, &err), &err, ERR_COMM, "cannot reach");
    CHECK(!seen(&t, 0).has_joined);
    tower_close(&t);
}

/* As with one FERRY_CONTROL_PORT for two jobs: 127.0.0.1, which is tried first, belongs
 * to another job on the rank's own host. */
TEST(a_rank_passes_by_the_watcher_of_another_job)
{
    struct heartbeat *h;
    struct phase p = {0};
    struct tower t, other;
    struct err err;

    tower_open(&t, 1);
    tower_open_at(&other, "127.0.0.2", t.server.port, wrong, 1);
    struct heartbeat_config c = config_of(&t, &p, 0, 1);
    c.hosts = "127.0.0.2,127.0.0.1";
    CHECK_OK(heartbeat_open(&h, &c, &err), &err);
    CHECK(seen(&t, 0).has_joined && !seen(&other, 0).has_joined);
    heartbeat_close(h, OK, 0);
    tower_close(&other);
    tower_close(&t);
}

TEST(a_rank_of_another_world_is_told_what_is_wrong)
{
    struct heartbeat *h;
    struct phase p = {0};
    struct tower t;
    struct err err;

    tower_open(&t, 4);
    const struct heartbeat_config c = config_of(&t, &p, 0, 1);
    CHECK_FAILS(heartbeat_open(&h, &c, &err), &err, ERR_COMM, "counts 1 ranks");
    pthread_mutex_lock(&t.lock);
    CHECK(t.server.refused == 1);
    pthread_mutex_unlock(&t.lock);
    tower_close(&t);
}

TEST(a_silent_server_is_noticed_and_one_that_wakes_in_time_is_not)
{
    struct heartbeat *h;
    struct phase p = {0};
    struct tower t;
    struct err err;

    tower_open(&t, 1);
    struct heartbeat_config c = config_of(&t, &p, 0, 1);
    c.t_lost = 1.5;
    CHECK_OK(heartbeat_open(&h, &c, &err), &err);
    SOON(seen(&t, 0).last.seq > 0);
    t.is_paused = true;
    usleep(500000);
    t.is_paused = false;
    usleep(100000);
    CHECK(n_leaves == 0);
    CHECK(heartbeat_is_current(h));
    t.is_paused = true;
    SOON(n_leaves > 0);
    CHECK(!heartbeat_is_current(h));
    t.is_paused = false;
    heartbeat_close(h, OK, 0);
    tower_close(&t);
}

TEST(a_rank_whose_connection_breaks_comes_back_on_another)
{
    struct heartbeat *h;
    struct phase p = {0};
    struct tower t;
    struct err err;

    tower_open(&t, 1);
    const struct heartbeat_config c = config_of(&t, &p, 0, 1);
    CHECK_OK(heartbeat_open(&h, &c, &err), &err);
    SOON(seen(&t, 0).last.seq > 0);
    const uint16_t port = t.server.port;
    t.is_over = true;
    pthread_join(t.thread, NULL);
    control_server_close(&t.server);
    t.is_over = false;
    CHECK_OK(control_server_open(&t.server, "127.0.0.1", port, 1, token, limits, &err),
             &err);
    CHECK(pthread_create(&t.thread, NULL, turn, &t) == 0);
    SOON(seen(&t, 0).last.seq > 0);
    CHECK(n_leaves == 0);
    heartbeat_close(h, OK, 0);
    tower_close(&t);
}

static int dial(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0);
    return fd;
}

/* Whether the server hangs up within five seconds; it may say its hello first. */
static bool is_dropped(int fd)
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

TEST(strangers_who_babble_or_keep_silent_are_shown_the_door)
{
    struct heartbeat *h;
    struct phase p = {0};
    struct tower t;
    struct err err;
    char noise[4096];

    tower_open(&t, 1);
    memset(noise, 'x', sizeof noise);
    const int loud = dial(t.server.port), silent = dial(t.server.port);
    CHECK(send(loud, noise, sizeof noise, MSG_NOSIGNAL) > 0);
    CHECK(is_dropped(loud));
    CHECK(is_dropped(silent)); /* in time */
    close(loud);
    close(silent);
    const struct heartbeat_config c = config_of(&t, &p, 0, 1);
    CHECK_OK(heartbeat_open(&h, &c, &err), &err);
    heartbeat_close(h, OK, 0);
    tower_close(&t);
}

TEST(a_crowd_of_strangers_does_not_keep_a_rank_out)
{
    enum { CROWD = 200 };
    struct heartbeat *h;
    struct phase p = {0};
    struct tower t;
    struct err err;
    int fd[CROWD];

    tower_open(&t, 1);
    for (int i = 0; i < CROWD; i++)
        fd[i] = dial(t.server.port);
    const struct heartbeat_config c = config_of(&t, &p, 0, 1);
    CHECK_OK(heartbeat_open(&h, &c, &err), &err);
    SOON(seen(&t, 0).last.seq > 0);
    for (int i = 0; i < CROWD; i++)
        close(fd[i]);
    heartbeat_close(h, OK, 0);
    tower_close(&t);
}

static void read_all(int fd, void *out, size_t n)
{
    CHECK(recv(fd, out, n, MSG_WAITALL) == (ssize_t)n);
}

/* A rank made by hand, to say what a heartbeat never would. */
static int join_by_hand(const struct tower *t, struct channel_key *key)
{
    struct channel_join j = {.rank = 0, .n_ranks = 1, .host = "by hand"};
    uint8_t hello[CHANNEL_HELLO_BYTES], join[CHANNEL_JOIN_BYTES],
        welcome[CHANNEL_WELCOME_BYTES];
    uint8_t nonce[CHANNEL_NONCE];
    enum channel_answer answer;
    const int fd = dial(t->server.port);

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

TEST(a_replayed_beat_ends_the_session)
{
    const struct channel_beat b = {.seq = 1, .step = 3};
    uint8_t wire[CHANNEL_BEAT_BYTES], ack[CHANNEL_ACK_BYTES];
    struct channel_key key;
    struct tower t;

    tower_open(&t, 1);
    const int fd = join_by_hand(&t, &key);
    channel_put_beat(wire, &b, &key);
    CHECK(channel_send(fd, wire, sizeof wire));
    read_all(fd, ack, sizeof ack);
    CHECK(channel_send(fd, wire, sizeof wire));
    CHECK(is_dropped(fd));
    CHECK(seen(&t, 0).last.seq == 1);
    close(fd);
    tower_close(&t);
}

TEST(a_rank_that_never_reads_its_answers_does_not_stop_the_others)
{
    struct channel_key key;
    struct tower t;
    bool is_open = true;

    tower_open(&t, 1);
    const int fd = join_by_hand(&t, &key);
    for (uint64_t seq = 1; seq < 200000 && is_open; seq++) {
        const struct channel_beat b = {.seq = seq};
        uint8_t wire[CHANNEL_BEAT_BYTES];
        channel_put_beat(wire, &b, &key);
        is_open = send(fd, wire, sizeof wire, MSG_NOSIGNAL) == sizeof wire;
    }
    close(fd);
    const int again = join_by_hand(&t, &key); /* still serving */
    close(again);
    tower_close(&t);
}
