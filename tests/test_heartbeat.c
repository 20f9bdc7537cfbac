/* The two ends of the control channel over the loopback, and hostile ones. */
#include "dist/watch/heartbeat.h"

#include "tower.h"

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
    CHECK(!seen(&t, 0).has_joined);
    CHECK(heartbeat_is_current(h));
    SOON(seen(&t, 1).last.waited_ms > 100); /* it stays in a phase that waits */
    heartbeat_close(h, ERR_IO, 1 + 2, 0);
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
    heartbeat_close(h, OK, 0, 0);
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
    heartbeat_close(h, OK, 0, 0);
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
    heartbeat_close(h, OK, 0, 0);
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
    CHECK(pthread_create(&t.thread, NULL, tower_turn, &t) == 0);
    SOON(seen(&t, 0).last.seq > 0);
    CHECK(n_leaves == 0);
    heartbeat_close(h, OK, 0, 0);
    tower_close(&t);
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
    heartbeat_close(h, OK, 0, 0);
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
    heartbeat_close(h, OK, 0, 0);
    tower_close(&t);
}

TEST(a_replayed_beat_ends_the_session)
{
    const struct channel_beat b = {.seq = 1, .step = 3};
    uint8_t wire[CHANNEL_BEAT_BYTES], ack[CHANNEL_ACK_BYTES];
    struct channel_key key;
    struct tower t;

    tower_open(&t, 1);
    const int fd = join_by_hand(t.server.port, 0, 1, &key);
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
    const int fd = join_by_hand(t.server.port, 0, 1, &key);
    for (uint64_t seq = 1; seq < 200000 && is_open; seq++) {
        const struct channel_beat b = {.seq = seq};
        uint8_t wire[CHANNEL_BEAT_BYTES];
        channel_put_beat(wire, &b, &key);
        is_open = send(fd, wire, sizeof wire, MSG_NOSIGNAL) == sizeof wire;
    }
    close(fd);
    const int again = join_by_hand(t.server.port, 0, 1, &key); /* still serving */
    close(again);
    tower_close(&t);
}
