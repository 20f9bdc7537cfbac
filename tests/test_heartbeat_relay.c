/* Ranks that report through the leader of their host: what the server learns of them, and
 * what becomes of them when one or the leader dies, freezes or is cut off. */
#include "dist/watch/heartbeat.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/os.h"
#include "tower.h"

/* A leader of this process, rank 0. */
struct leader {
    struct control_server relay;
    struct heartbeat *heartbeat;
    struct phase phase;
};

/* SLOW: it has little to say by itself. PATIENT: a busy machine is no reason to leave. */
enum pace { USUAL, SLOW, PATIENT };

static void leader_open_as(struct leader *l, const struct tower *t, uint32_t n_ranks,
                           enum pace pace)
{
    struct err err;

    *l = (struct leader){.heartbeat = NULL};
    CHECK_OK(control_server_open(&l->relay, "127.0.0.1", 0, n_ranks, token, limits, &err),
             &err);
    l->relay.is_relay = true;
    struct heartbeat_config c = config_of(t, &l->phase, 0, n_ranks);
    c.relay = &l->relay;
    if (pace == SLOW)
        c.times.period = 6; /* longer than the others wait for an answer */
    if (pace != USUAL)
        c.times.unanswered = c.t_lost = 1000;
    CHECK_OK(heartbeat_open(&l->heartbeat, &c, &err), &err);
}

static void leader_open(struct leader *l, const struct tower *t, uint32_t n_ranks)
{
    leader_open_as(l, t, n_ranks, USUAL);
}

static void leader_close(struct leader *l, double t_linger)
{
    heartbeat_close(l->heartbeat, OK, 0, t_linger);
    control_server_close(&l->relay);
}

/* A rank of this process that has a leader. */
struct member {
    struct heartbeat *heartbeat;
    struct phase phase;
    atomic_int n_left;
};

static void count_left(void *ctx, const char *why)
{
    (void)why;
    ((struct member *)ctx)->n_left++;
}

static void member_open(struct member *m, const struct tower *t, uint16_t leader_port,
                        uint32_t rank, uint32_t n_ranks)
{
    struct err err;

    *m = (struct member){.heartbeat = NULL};
    struct heartbeat_config c = config_of(t, &m->phase, rank, n_ranks);
    c.leader_port = leader_port;
    c.ctx = m;
    c.leave = count_left;
    CHECK_OK(heartbeat_open(&m->heartbeat, &c, &err), &err);
}

/* Connections of ranks that the server has. */
static size_t connected(struct tower *t)
{
    pthread_mutex_lock(&t->lock);
    const size_t n = t->server.n_connected;
    pthread_mutex_unlock(&t->lock);
    return n;
}

static bool is_direct(struct tower *t, uint32_t rank)
{
    pthread_mutex_lock(&t->lock);
    const int64_t own = t->server.route[rank].client;
    bool shares = false;
    for (uint32_t r = 0; r < t->server.liveness.n_ranks; r++)
        shares |= r != rank && t->server.route[r].client == own;
    pthread_mutex_unlock(&t->lock);
    return own >= 0 && !shares;
}

/* The next verdict, within eight seconds. */
static struct liveness_event verdict(struct tower *t)
{
    struct liveness_event e = {.verdict = LIVENESS_NOTHING};

    for (int i = 0; i < 800 && e.verdict == LIVENESS_NOTHING; i++) {
        usleep(10000);
        pthread_mutex_lock(&t->lock);
        e = liveness_judge(&t->server.liveness, clock_now());
        pthread_mutex_unlock(&t->lock);
    }
    return e;
}

static void order(struct tower *t, enum channel_order order)
{
    pthread_mutex_lock(&t->lock);
    control_server_order(&t->server, order);
    pthread_mutex_unlock(&t->lock);
}

TEST(the_server_has_one_connection_for_the_ranks_of_a_host)
{
    struct leader l;
    struct member a, b;
    struct tower t;

    tower_open(&t, 3);
    leader_open(&l, &t, 3);
    member_open(&a, &t, l.relay.port, 1, 3);
    member_open(&b, &t, l.relay.port, 2, 3);
    phase_set(&l.phase, 7, PHASE_COMPUTE);
    phase_set(&a.phase, 8, PHASE_EXCHANGE);
    phase_set(&b.phase, 9, PHASE_SAVE);
    SOON(seen(&t, 0).last.step == 7 && seen(&t, 1).last.step == 8 &&
         seen(&t, 2).last.step == 9);
    CHECK(seen(&t, 1).last.phase == PHASE_EXCHANGE);
    SOON(seen(&t, 1).last.waited_ms > 100);
    CHECK_STR(seen(&t, 1).host, seen(&t, 0).host);
    CHECK(connected(&t) == 1);
    CHECK(heartbeat_is_current(b.heartbeat));
    heartbeat_close(a.heartbeat, ERR_IO, 1 + 2, 0);
    CHECK(seen(&t, 1).is_done && seen(&t, 1).last.result == ERR_IO);
    CHECK(seen(&t, 1).last.fault == 1 + 2 && !seen(&t, 2).is_done);
    heartbeat_close(b.heartbeat, OK, 0, 0);
    CHECK(seen(&t, 2).is_done);
    leader_close(&l, 0);
    CHECK(seen(&t, 0).is_done);
    CHECK(n_leaves == 0 && a.n_left == 0 && b.n_left == 0);
    tower_close(&t);
}

TEST(orders_reach_the_ranks_behind_a_leader)
{
    struct leader l;
    struct member m;
    struct tower t;

    tower_open(&t, 2);
    leader_open(&l, &t, 2);
    member_open(&m, &t, l.relay.port, 1, 2);
    order(&t, CHANNEL_STOP);
    SOON(n_stops == 2);
    order(&t, CHANNEL_LEAVE);
    SOON(n_leaves > 0 && m.n_left > 0);
    CHECK(n_stops == 2);
    heartbeat_close(m.heartbeat, OK, 0, 0);
    leader_close(&l, 0);
    tower_close(&t);
}

TEST(the_begin_and_end_of_a_rank_do_not_wait_for_its_leader_s_next_beat)
{
    struct leader l;
    struct member a, b;
    struct tower t;

    tower_open(&t, 3);
    leader_open_as(&l, &t, 3, SLOW);
    member_open(&a, &t, l.relay.port, 1, 3); /* which the server has to answer */
    member_open(&b, &t, l.relay.port, 2, 3);
    phase_set(&b.phase, 1, PHASE_COMPUTE);
    SOON(seen(&t, 2).last.phase == PHASE_COMPUTE);
    heartbeat_close(a.heartbeat, ERR_IO, 0, 0);
    CHECK(seen(&t, 1).is_done);
    heartbeat_close(b.heartbeat, OK, 0, 0);
    CHECK(seen(&t, 2).is_done);
    leader_close(&l, 0);
    tower_close(&t);
}

TEST(the_ranks_of_a_leader_that_ends_first_go_on_alone)
{
    struct leader l;
    struct member m;
    struct tower t;

    tower_open(&t, 2);
    leader_open(&l, &t, 2);
    member_open(&m, &t, l.relay.port, 1, 2);
    leader_close(&l, 0);
    CHECK(seen(&t, 0).is_done);
    SOON(is_direct(&t, 1) && seen(&t, 1).is_open);
    heartbeat_close(m.heartbeat, OK, 0, 0);
    CHECK(seen(&t, 1).is_done && m.n_left == 0);
    tower_close(&t);
}

static void *close_late(void *arg)
{
    struct member *m = arg;

    usleep(1000000);
    heartbeat_close(m->heartbeat, OK, 0, 0);
    return NULL;
}

TEST(a_leader_waits_for_the_goodbye_of_a_slower_rank)
{
    struct leader l;
    struct member m;
    struct tower t;
    pthread_t thread;

    tower_open(&t, 2);
    leader_open(&l, &t, 2);
    member_open(&m, &t, l.relay.port, 1, 2);
    CHECK(pthread_create(&thread, NULL, close_late, &m) == 0);
    heartbeat_close(l.heartbeat, OK, 0, 20);
    CHECK(seen(&t, 1).is_done && !is_direct(&t, 1));
    pthread_join(thread, NULL);
    control_server_close(&l.relay);
    tower_close(&t);
}

/* The server is silent, the leader is not: a rank may not take the leader's word for the
 * server's, or it would outlive its being given up. */
TEST(ranks_behind_a_leader_that_is_cut_off_end_as_soon_as_it_does)
{
    struct leader l;
    struct member m;
    struct tower t;

    tower_open(&t, 2);
    leader_open(&l, &t, 2);
    member_open(&m, &t, l.relay.port, 1, 2);
    SOON(seen(&t, 1).last.seq > 0);
    t.is_paused = true;
    usleep(700000); /* longer than an unanswered connection lasts */
    t.is_paused = false;
    usleep(300000);
    CHECK(m.n_left == 0 && heartbeat_is_current(m.heartbeat));
    CHECK(connected(&t) == 1); /* it stayed with its leader */
    t.is_paused = true;
    SOON(m.n_left > 0);
    CHECK(!heartbeat_is_current(m.heartbeat));
    t.is_paused = false;
    heartbeat_close(m.heartbeat, OK, 0, 0);
    leader_close(&l, 0);
    tower_close(&t);
}

TEST(a_leader_that_comes_back_on_another_connection_tells_of_all_its_ranks)
{
    struct leader l;
    struct member m;
    struct tower t;
    struct err err;

    tower_open(&t, 3);
    leader_open(&l, &t, 3);
    member_open(&m, &t, l.relay.port, 1, 3);
    struct channel_key key;
    const struct channel_beat b = {.seq = 1, .rank = 2, .step = 5};
    uint8_t wire[CHANNEL_BEAT_BYTES];
    const int quiet = join_by_hand(l.relay.port, 2, 3, &key); /* speaks but once */
    channel_put_beat(wire, &b, &key);
    CHECK(channel_send(quiet, wire, sizeof wire));
    SOON(seen(&t, 2).last.step == 5);
    const uint16_t port = t.server.port;
    t.is_over = true;
    pthread_join(t.thread, NULL);
    control_server_close(&t.server);
    t.is_over = false;
    CHECK_OK(control_server_open(&t.server, "127.0.0.1", port, 3, token, limits, &err),
             &err);
    CHECK(pthread_create(&t.thread, NULL, tower_turn, &t) == 0);
    SOON(seen(&t, 0).last.seq > 0 && seen(&t, 1).last.seq > 0);
    SOON(seen(&t, 2).last.step == 5);
    CHECK(connected(&t) == 1 && m.n_left == 0 && n_leaves == 0);
    close(quiet);
    heartbeat_close(m.heartbeat, OK, 0, 0);
    leader_close(&l, 0);
    tower_close(&t);
}

/* ---- ranks that are processes, which can be killed and stopped ---- */

/* What a process is told: who it is and where to report. */
struct part {
    uint32_t rank, n_ranks;
    uint16_t port, leader_port;
    bool is_leader;
};

struct process {
    pid_t pid;
    int to, from; /* pipes: its part; then the port of its relay */
};

static void play(int from, int to)
{
    static struct control_server relay;
    static struct phase phase;
    struct heartbeat *h;
    struct part p;
    struct err err;

    if (read(from, &p, sizeof p) != sizeof p)
        _exit(1);
    struct tower t = {.server = {.port = p.port}};
    struct heartbeat_config c = config_of(&t, &phase, p.rank, p.n_ranks);
    c.leader_port = p.leader_port;
    if (p.is_leader) {
        if (control_server_open(&relay, "127.0.0.1", 0, p.n_ranks, token, limits, &err) !=
            OK)
            _exit(2);
        relay.is_relay = true;
        c.relay = &relay;
    }
    if (heartbeat_open(&h, &c, &err) != OK ||
        write(to, &relay.port, sizeof relay.port) != sizeof relay.port)
        _exit(3);
    for (;;)
        pause();
}

/* To be called before this process has threads. */
static struct process process_start(void)
{
    int to[2], from[2];

    CHECK(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        play(to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    return (struct process){pid, to[1], from[0]};
}

/* Returns the port of its relay once it reports. */
static uint16_t process_play(const struct process *p, struct part part)
{
    uint16_t port = 0;

    CHECK(write(p->to, &part, sizeof part) == sizeof part);
    CHECK(read(p->from, &port, sizeof port) == sizeof port);
    return port;
}

static void process_end(const struct process *p)
{
    kill(p->pid, SIGKILL);
    waitpid(p->pid, NULL, 0);
    close(p->to);
    close(p->from);
}

TEST(a_dead_leader_is_named_alone_and_its_ranks_report_themselves)
{
    const struct process leader = process_start();
    struct member a, b;
    struct tower t;

    tower_open(&t, 3);
    const uint16_t port = process_play(
        &leader, (struct part){.n_ranks = 3, .port = t.server.port, .is_leader = true});
    member_open(&a, &t, port, 1, 3);
    member_open(&b, &t, port, 2, 3);
    SOON(seen(&t, 1).last.seq > 0 && seen(&t, 2).last.seq > 0);
    CHECK(connected(&t) == 1);
    kill(leader.pid, SIGKILL);
    SOON(is_direct(&t, 1) && is_direct(&t, 2));
    const struct liveness_event e = verdict(&t);
    CHECK(e.verdict == LIVENESS_DEAD && e.rank == 0 && !seen(&t, 0).is_open);
    phase_set(&b.phase, 12, PHASE_COMPUTE);
    SOON(seen(&t, 2).last.step == 12);
    CHECK(seen(&t, 1).is_open && seen(&t, 2).is_open);
    CHECK(a.n_left == 0 && b.n_left == 0);
    heartbeat_close(a.heartbeat, OK, 0, 0);
    heartbeat_close(b.heartbeat, OK, 0, 0);
    process_end(&leader);
    tower_close(&t);
}

TEST(a_frozen_leader_is_named_alone_and_its_later_word_does_not_count)
{
    const struct process leader = process_start();
    struct member m;
    struct tower t;

    tower_open(&t, 2);
    const uint16_t port = process_play(
        &leader, (struct part){.n_ranks = 2, .port = t.server.port, .is_leader = true});
    member_open(&m, &t, port, 1, 2);
    SOON(seen(&t, 1).last.seq > 0);
    kill(leader.pid, SIGSTOP);
    SOON(is_direct(&t, 1));
    const struct liveness_event e = verdict(&t);
    CHECK(e.verdict == LIVENESS_DEAD && e.rank == 0 && seen(&t, 0).is_open);
    CHECK(m.n_left == 0);
    const double t_beat = seen(&t, 0).t_beat;
    kill(leader.pid, SIGCONT);               /* it finds that its rank has hung up */
    SOON(seen(&t, 0).t_beat > t_beat + 0.5); /* and has said so */
    CHECK(seen(&t, 1).is_open && is_direct(&t, 1));
    heartbeat_close(m.heartbeat, OK, 0, 0);
    process_end(&leader);
    tower_close(&t);
}

/* By hand: a leader that speaks of a rank which reports itself by now. */
TEST(a_rank_that_reports_itself_is_not_spoken_for)
{
    const struct channel_beat said[] = {{.seq = 1, .rank = 1, .step = 99},
                                        {.seq = 2, .rank = 1, .is_gone = true},
                                        {.seq = 3, .step = 1}};
    uint8_t wire[3][CHANNEL_BEAT_BYTES];
    struct channel_key key;
    struct member m;
    struct tower t;

    tower_open(&t, 2);
    member_open(&m, &t, 0, 1, 2);
    const int fd = join_by_hand(t.server.port, 0, 2, &key);
    for (int i = 0; i < 3; i++)
        channel_put_beat(wire[i], &said[i], &key);
    CHECK(channel_send(fd, wire, sizeof wire));
    SOON(seen(&t, 0).last.step == 1);
    CHECK(seen(&t, 1).last.step == 0 && seen(&t, 1).is_open && is_direct(&t, 1));
    close(fd);
    SOON(!seen(&t, 0).is_open);
    CHECK(seen(&t, 1).is_open);
    heartbeat_close(m.heartbeat, OK, 0, 0);
    tower_close(&t);
}

/* A rank behind a leader is stopped or killed, and found as if it had reported itself. */
static void lose_member(int number)
{
    const struct process lost = process_start();
    struct leader l;
    struct member m;
    struct tower t;

    tower_open(&t, 3);
    leader_open(&l, &t, 3);
    member_open(&m, &t, l.relay.port, 1, 3);
    process_play(&lost, (struct part){.rank = 2,
                                      .n_ranks = 3,
                                      .port = t.server.port,
                                      .leader_port = l.relay.port});
    SOON(seen(&t, 2).last.seq > 0);
    CHECK(connected(&t) == 1);
    kill(lost.pid, number);
    const struct liveness_event e = verdict(&t);
    CHECK(e.verdict == LIVENESS_DEAD && e.rank == 2);
    CHECK(seen(&t, 2).is_open == (number == SIGSTOP));
    CHECK((e.seconds < limits.t_silence) == (number == SIGKILL));
    CHECK(seen(&t, 0).is_open && seen(&t, 1).is_open && connected(&t) == 1);
    heartbeat_close(m.heartbeat, OK, 0, 0);
    process_end(&lost);
    leader_close(&l, 0);
    tower_close(&t);
}

TEST(a_frozen_rank_behind_a_leader_is_named)
{
    lose_member(SIGSTOP);
}

TEST(a_killed_rank_behind_a_leader_is_named_without_a_long_silence)
{
    lose_member(SIGKILL);
}

/* ---- many, and hostile ones ---- */

/* More than the send buffer of a new socket holds; the leader's report goes out whole. */
TEST(many_ranks_report_through_one_leader)
{
    enum { MANY = 1000 };
    static int fd[MANY];
    static struct channel_key key[MANY];
    uint8_t wire[CHANNEL_BEAT_BYTES];
    struct channel_ack ack;
    struct leader l;
    struct tower t;

    os_raise_files();
    tower_open(&t, MANY);
    leader_open_as(&l, &t, MANY, PATIENT);
    for (uint32_t r = 1; r < MANY; r++)
        fd[r] = join_by_hand(l.relay.port, r, MANY, &key[r]);
    for (uint64_t seq = 1; seq <= 3; seq++)
        for (uint32_t r = 1; r < MANY; r++) {
            const struct channel_beat b = {.seq = seq, .rank = r, .step = 100 * seq + r};
            channel_put_beat(wire, &b, &key[r]);
            CHECK(channel_send(fd[r], wire, sizeof wire));
        }
    for (uint32_t r = 1; r < MANY; r++)
        SOON(seen(&t, r).last.step == 300 + r);
    for (uint32_t r = 1; r < MANY; r++) {
        uint8_t in[CHANNEL_ACK_BYTES];
        do {
            read_all(fd[r], in, sizeof in);
            CHECK(channel_get_ack(&ack, in, &key[r]) && ack.seq <= 3);
        } while (ack.seq < 3);
    }
    CHECK(connected(&t) == 1 && n_leaves == 0);
    for (uint32_t r = 1; r < MANY; r++)
        close(fd[r]);
    leader_close(&l, 0);
    tower_close(&t);
}

TEST(a_report_is_answered_once)
{
    enum { RANKS = 1000 };
    static uint8_t wire[RANKS][CHANNEL_BEAT_BYTES];
    uint8_t in[CHANNEL_ACK_BYTES];
    struct channel_key key;
    struct channel_ack ack;
    struct tower t;

    tower_open(&t, RANKS);
    const int fd = join_by_hand(t.server.port, 0, RANKS, &key);
    for (uint32_t i = 0; i < RANKS; i++) { /* its own is the last */
        const struct channel_beat b = {.seq = i + 1, .rank = RANKS - 1 - i, .step = i};
        channel_put_beat(wire[i], &b, &key);
    }
    CHECK(send(fd, wire, sizeof wire, 0) == sizeof wire);
    read_all(fd, in, sizeof in);
    CHECK(channel_get_ack(&ack, in, &key) && ack.seq == RANKS);
    CHECK(recv(fd, in, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
    for (uint32_t r = 0; r < RANKS; r++)
        CHECK(seen(&t, r).last.step == RANKS - 1 - r && seen(&t, r).is_open);
    close(fd);
    SOON(!seen(&t, RANKS - 1).is_open); /* with the leader's session all are lost */
    tower_close(&t);
}

TEST(a_leader_takes_nothing_without_the_token)
{
    struct heartbeat *h;
    struct phase p = {0};
    struct leader l;
    struct member m;
    struct tower t;
    struct err err;
    char noise[4096];

    tower_open(&t, 3);
    leader_open(&l, &t, 3);
    struct heartbeat_config c = config_of(&t, &p, 2, 3);
    memcpy(c.token, wrong, sizeof wrong);
    c.leader_port = l.relay.port;
    c.t_first = 0.5;
    CHECK_FAILS(heartbeat_open(&h, &c, &err), &err, ERR_COMM, "cannot reach");
    memset(noise, 'x', sizeof noise);
    const int loud = dial(l.relay.port), silent = dial(l.relay.port);
    CHECK(send(loud, noise, sizeof noise, MSG_NOSIGNAL) > 0);
    CHECK(is_dropped(loud) && is_dropped(silent));
    close(loud);
    close(silent);
    member_open(&m, &t, l.relay.port, 1, 3);
    SOON(seen(&t, 1).last.seq > 0);
    CHECK(!seen(&t, 2).has_joined && connected(&t) == 1);
    heartbeat_close(m.heartbeat, OK, 0, 0);
    leader_close(&l, 0);
    tower_close(&t);
}

/* Another job's leader at the port that it was told. */
TEST(a_rank_does_not_take_a_stranger_for_its_leader)
{
    struct tower t, stranger;
    struct member m;

    tower_open(&t, 2);
    tower_open_at(&stranger, "127.0.0.1", 0, wrong, 2);
    member_open(&m, &t, stranger.server.port, 1, 2);
    CHECK(is_direct(&t, 1) && !seen(&stranger, 1).has_joined);
    heartbeat_close(m.heartbeat, OK, 0, 0);
    tower_close(&stranger);
    tower_close(&t);
}

TEST(a_rank_speaks_to_its_leader_of_itself_alone)
{
    const struct channel_beat b = {.seq = 1, .rank = 2, .step = 3};
    uint8_t wire[CHANNEL_BEAT_BYTES];
    struct channel_key key;
    struct leader l;
    struct tower t;

    tower_open(&t, 3);
    leader_open(&l, &t, 3);
    const int fd = join_by_hand(l.relay.port, 1, 3, &key);
    channel_put_beat(wire, &b, &key);
    CHECK(channel_send(fd, wire, sizeof wire));
    CHECK(is_dropped(fd));
    CHECK(!seen(&t, 2).has_joined);
    close(fd);
    leader_close(&l, 0);
    tower_close(&t);
}

TEST(nobody_speaks_of_a_rank_that_does_not_exist_or_of_its_own_absence)
{
    const struct channel_beat bad[] = {{.seq = 1, .rank = 2},
                                       {.seq = 1, .is_gone = true}};

    for (int i = 0; i < 2; i++) {
        uint8_t wire[CHANNEL_BEAT_BYTES];
        struct channel_key key;
        struct tower t;

        tower_open(&t, 2);
        const int fd = join_by_hand(t.server.port, 0, 2, &key);
        channel_put_beat(wire, &bad[i], &key);
        CHECK(channel_send(fd, wire, sizeof wire));
        CHECK(is_dropped(fd));
        close(fd);
        tower_close(&t);
    }
}
