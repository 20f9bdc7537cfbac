#include "dist/watch/heartbeat.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/os.h"
#include "dist/watch/control_server.h"

enum { MAX_ADDRESSES = 16, TICKS = 10 }; /* looks at the clock in a period */

const struct heartbeat_times heartbeat_times_default = {.period = 1,
                                                        .retry = 1,
                                                        .connect = 1,
                                                        .handshake = 2,
                                                        .unanswered = 2.5,
                                                        .goodbye = 3};

/* A rank beats again so much of a period after its leader's last report has arrived: in
 * time for the next one, so that its news is not old when it goes out. */
static const double lead = 0.8;

enum stage { CLOSED, CONNECTING, HELLO, WELCOME, OPEN };

struct address {
    struct sockaddr_storage at;
    socklen_t n;
};

struct heartbeat {
    struct heartbeat_config config;
    struct address address[MAX_ADDRESSES];
    size_t n_addresses, next_address;
    pthread_t thread;
    int wake; /* written to by close */

    /* of the thread */
    enum stage stage;
    int fd;
    struct channel_inbox in;
    struct channel_key key;
    struct channel_join join;
    uint64_t seq, answered; /* numbers of beats of this session */
    double t_began, t_next_try, t_next_beat, t_sampled, t_phase, t_waited, t_span;
    uint64_t last_word, goodbye; /* number of the last beat; 0 before it was sent */
    bool was_stopped, is_over, is_starting; /* the last beat said PHASE_START */
    bool is_relayed; /* the connection is, or will be, to the leader of this host */
    struct channel_beat *news; /* of the ranks that report through this one */
    uint8_t *report;           /* their beats, and room for our own */

    bool is_joined, is_refused; /* a beat was answered; JOIN was, but not accepted */
    _Atomic double t_answer;    /* when a beat was last answered */
    status result;              /* how this rank ended; written before is_closing */
    uint32_t fault;             /* the same */
    double t_linger;            /* the same */
    atomic_bool is_closing;
};

/* ---- the phase ---- */

static void sample(struct heartbeat *h, double now)
{
    const struct phase_now p = phase_get(h->config.phase);

    if (p.word != h->last_word)
        h->t_phase = now;
    else if (phase_waits(p.phase))
        h->t_waited += now - h->t_sampled;
    h->t_span += now - h->t_sampled;
    h->last_word = p.word;
    h->t_sampled = now;
}

static uint32_t milliseconds(double t)
{
    return t > 4e6 ? UINT32_MAX : (uint32_t)(t * 1000);
}

/* ---- the connection ---- */

/* A rank that was not accepted tries the next address: the server of another job may
 * listen at this one. Its leader it tries once. */
static void hang_up(struct heartbeat *h, double now)
{
    if (h->stage != OPEN && !h->is_relayed)
        h->next_address = (h->next_address + 1) % h->n_addresses;
    if (h->fd >= 0)
        close(h->fd);
    h->fd = -1;
    h->stage = CLOSED;
    h->in.n = 0;
    /* A connection that was lost later than that is replaced at once. */
    if (h->t_next_try < now || h->is_relayed)
        h->t_next_try = now;
    h->is_relayed = false;
}

static void set_stage(struct heartbeat *h, enum stage stage, double now)
{
    h->stage = stage;
    h->t_began = now;
}

static struct address leader_of(const struct heartbeat *h)
{
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons(h->config.leader_port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct address a = {.n = sizeof at};

    memcpy(&a.at, &at, sizeof at);
    return a;
}

static void dial(struct heartbeat *h, double now)
{
    const struct address to = h->is_relayed ? leader_of(h) : h->address[h->next_address];
    const int yes = 1;

    /* All addresses are tried in turn within `retry`. */
    h->t_next_try = now + h->config.times.retry / (double)h->n_addresses;
    h->fd = socket(to.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (h->fd < 0)
        return;
    setsockopt(h->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (connect(h->fd, (const struct sockaddr *)&to.at, to.n) != 0 &&
        errno != EINPROGRESS) {
        hang_up(h, now);
        return;
    }
    set_stage(h, CONNECTING, now);
}

static bool finish_connect(struct heartbeat *h, double now)
{
    int error = 0;
    socklen_t n = sizeof error;

    (void)now;
    return getsockopt(h->fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0 && error == 0;
}

static bool take_hello(struct heartbeat *h, double now)
{
    uint8_t nonce[CHANNEL_NONCE], out[CHANNEL_JOIN_BYTES];

    (void)now;
    if (!channel_get_hello(nonce, h->in.bytes) ||
        !channel_random(h->join.nonce, sizeof h->join.nonce))
        return false;
    h->key = channel_session(h->config.token, nonce, h->join.nonce);
    channel_put_join(out, &h->join, h->config.token, nonce);
    return channel_send(h->fd, out, sizeof out);
}

static bool take_welcome(struct heartbeat *h, double now)
{
    enum channel_answer answer;

    if (!channel_get_welcome(&answer, h->in.bytes, &h->key))
        return false;
    h->is_refused = answer != CHANNEL_ACCEPTED;
    h->seq = h->answered = h->goodbye = 0;
    h->t_next_beat = now;
    return !h->is_refused;
}

/* A leader answers at once, to say that it is there, and once more when the server has
 * what it passed on. Only the second has a number that is new. */
static void take_answer(struct heartbeat *h, uint64_t seq, double now)
{
    if (seq <= h->answered)
        return;
    h->answered = seq;
    h->is_joined = true;
    h->t_answer = now;
    if (h->is_relayed)
        h->t_next_beat = now + lead * h->config.times.period;
    if (h->config.relay && seq == h->seq)
        control_server_confirm(h->config.relay);
}

static bool take_ack(struct heartbeat *h, double now)
{
    struct channel_ack ack;

    if (!channel_get_ack(&ack, h->in.bytes, &h->key) || ack.seq > h->seq)
        return false;
    take_answer(h, ack.seq, now);
    h->is_over |= h->goodbye && ack.seq == h->goodbye;
    if (h->config.relay)
        control_server_order(h->config.relay, ack.order);
    if (ack.order == CHANNEL_STOP && !h->was_stopped) {
        h->was_stopped = true;
        h->config.stop(h->config.ctx);
    }
    if (ack.order == CHANNEL_LEAVE && !h->is_closing)
        h->config.leave(h->config.ctx, "another rank of the job was lost");
    return true;
}

/* The message that each stage waits for (none while the socket connects), what takes it
 * (false: it is not valid), and the stage behind it. */
static const struct {
    size_t n_bytes;
    bool (*take)(struct heartbeat *h, double now);
    enum stage next;
} awaited[] = {[CONNECTING] = {0, finish_connect, HELLO},
               [HELLO] = {CHANNEL_HELLO_BYTES, take_hello, WELCOME},
               [WELCOME] = {CHANNEL_WELCOME_BYTES, take_welcome, OPEN},
               [OPEN] = {CHANNEL_ACK_BYTES, take_ack, OPEN}};

static void listen_to(struct heartbeat *h, double now)
{
    while (h->stage != CLOSED) {
        const enum channel_receipt got =
            channel_receive(&h->in, h->fd, awaited[h->stage].n_bytes);
        if (got == CHANNEL_PARTIAL)
            return;
        h->in.n = 0;
        if (got == CHANNEL_WHOLE && awaited[h->stage].take(h, now))
            set_stage(h, awaited[h->stage].next, now);
        else
            hang_up(h, now);
    }
}

/* The beats of the ranks that report through this one, into the report. The first of a
 * session says what is known of each. Returns how many. */
static size_t put_news(struct heartbeat *h)
{
    const size_t n = h->config.relay
                         ? control_server_collect(h->config.relay, h->seq == 0, h->news)
                         : 0;

    for (size_t i = 0; i < n; i++) {
        h->news[i].seq = ++h->seq;
        channel_put_beat(h->report + i * CHANNEL_BEAT_BYTES, &h->news[i], &h->key);
    }
    return n;
}

static void send_beat(struct heartbeat *h, double now)
{
    const size_t n = put_news(h);
    const bool is_last = h->is_closing;
    const struct phase_now p = phase_get(h->config.phase);
    const struct channel_beat b = {.seq = ++h->seq,
                                   .rank = h->config.rank,
                                   .step = p.step,
                                   .phase = (uint32_t)p.phase,
                                   .age_ms = milliseconds(now - h->t_phase),
                                   .waited_ms = milliseconds(h->t_waited),
                                   .span_ms = milliseconds(h->t_span),
                                   .is_last = is_last,
                                   .result = is_last ? h->result : OK,
                                   .fault = is_last ? h->fault : 0};

    h->t_waited = h->t_span = 0;
    h->is_starting = p.phase == PHASE_START;
    h->goodbye = is_last ? h->seq : 0;
    h->t_next_beat = now + h->config.times.period;
    channel_put_beat(h->report + n * CHANNEL_BEAT_BYTES, &b, &h->key);
    if (!channel_send(h->fd, h->report, (n + 1) * CHANNEL_BEAT_BYTES))
        hang_up(h, now);
}

/* Every period, and at once when training begins or this rank ends, or one that reports
 * through it begins, ends or is lost. */
static bool is_beat_due(const struct heartbeat *h, double now)
{
    return (h->is_closing && !h->goodbye) || now >= h->t_next_beat ||
           (h->is_starting && phase_get(h->config.phase).phase != PHASE_START) ||
           (h->config.relay && h->config.relay->is_urgent);
}

/* What is due at this time, without any message. */
static void tick(struct heartbeat *h, double now)
{
    sample(h, now);
    if (h->stage == OPEN && is_beat_due(h, now))
        send_beat(h, now);
    const struct heartbeat_times *t = &h->config.times;
    const double t_limit = h->stage == OPEN         ? t->unanswered
                           : h->stage == CONNECTING ? t->connect
                                                    : t->handshake;
    if (h->stage != CLOSED && now - h->t_began > t_limit)
        hang_up(h, now);
    if (h->stage == CLOSED && now >= h->t_next_try)
        dial(h, now);
    if (h->is_joined && now - h->t_answer > h->config.t_lost && !h->is_closing) {
        char why[120];
        snprintf(why, sizeof why, "no answer over the control channel for %.1f s",
                 now - h->t_answer);
        h->config.leave(h->config.ctx, why);
    }
}

/* Wait a moment for something to happen, and do what is due. */
static void turn(struct heartbeat *h)
{
    const int tick_ms = (int)(1000 * h->config.times.period / TICKS);
    struct pollfd p[3] = {{h->is_closing ? -1 : h->wake, POLLIN, 0},
                          {h->fd, h->stage == CONNECTING ? POLLOUT : POLLIN, 0},
                          {h->config.relay ? h->config.relay->epoll : -1, POLLIN, 0}};

    poll(p, 3, tick_ms); /* ignores negative descriptors */
    if (h->config.relay)
        control_server_turn(h->config.relay, 0);
    const double now = clock_now();
    if (h->fd >= 0 && p[1].revents)
        listen_to(h, now);
    tick(h, now);
}

static void *beat_on(void *arg)
{
    struct heartbeat *h = arg;

    while (!h->is_closing)
        turn(h);
    const double t_closed = clock_now();
    while (!h->is_over && clock_now() < t_closed + h->config.times.goodbye)
        turn(h);
    while (h->config.relay && h->config.relay->n_connected &&
           clock_now() < t_closed + h->t_linger)
        turn(h);
    return NULL;
}

/* ---- opening and closing ---- */

static void add_addresses(struct heartbeat *h, const char *host)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char port[8];

    snprintf(port, sizeof port, "%u", h->config.port);
    if (getaddrinfo(host, port, &hints, &found) != 0)
        return;
    for (const struct addrinfo *a = found; a && h->n_addresses < MAX_ADDRESSES;
         a = a->ai_next) {
        struct address *to = &h->address[h->n_addresses++];
        memcpy(&to->at, a->ai_addr, a->ai_addrlen);
        to->n = a->ai_addrlen;
    }
    freeaddrinfo(found);
}

static status resolve(struct heartbeat *h, struct err *err)
{
    char hosts[1024], *rest = hosts, *host;

    snprintf(hosts, sizeof hosts, "%s", h->config.hosts);
    while ((host = strsep(&rest, ",")))
        if (host[0])
            add_addresses(h, host);
    if (!h->n_addresses)
        return err_set(err, ERR_COMM, "no address is known for '%.200s'",
                       h->config.hosts);
    return OK;
}

/* On the caller's thread; ours starts after it. */
static status join(struct heartbeat *h, struct err *err)
{
    const struct heartbeat_config *c = &h->config;
    const double t_end = clock_now() + c->t_first;

    while (!h->is_joined && !h->is_refused && clock_now() < t_end)
        turn(h);
    if (h->is_refused)
        return err_set(err, ERR_COMM,
                       "rank %u on %s counts %u ranks where another number was started; "
                       "is mpirun of the MPI library that ferry was built with?",
                       c->rank, h->join.host, c->n_ranks);
    if (!h->is_joined)
        return err_set(err, ERR_COMM,
                       "rank %u on %s cannot reach the control channel at %.200s port %u "
                       "within %.0f s; is a firewall in between?",
                       c->rank, h->join.host, c->hosts, c->port, c->t_first);
    return OK;
}

static void release(struct heartbeat *h)
{
    if (h->fd >= 0)
        close(h->fd);
    if (h->wake >= 0)
        close(h->wake);
    free(h->news);
    free(h->report);
    free(h);
}

static status make_room(struct heartbeat *h, struct err *err)
{
    const size_t n = h->config.relay ? h->config.n_ranks : 0;

    if (n)
        TRY(mem_alloc(&h->news, n, sizeof *h->news, err));
    return mem_alloc(&h->report, n + 1, CHANNEL_BEAT_BYTES, err);
}

status heartbeat_open(struct heartbeat **out, const struct heartbeat_config *c,
                      struct err *err)
{
    struct heartbeat *h;
    const double now = clock_now();

    *out = NULL;
    TRY(mem_alloc(&h, 1, sizeof *h, err));
    *h = (struct heartbeat){.config = *c,
                            .fd = -1,
                            .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                            .join = {.rank = c->rank, .n_ranks = c->n_ranks},
                            .is_relayed = c->leader_port,
                            .t_sampled = now,
                            .t_phase = now,
                            .t_answer = now};
    os_host_name(h->join.host, sizeof h->join.host);
    if (make_room(h, err) != OK || resolve(h, err) != OK || join(h, err) != OK ||
        os_thread(&h->thread, beat_on, h, err) != OK) {
        release(h);
        return err->code;
    }
    *out = h;
    return OK;
}

void heartbeat_close(struct heartbeat *h, status result, uint32_t fault, double t_linger)
{
    const uint64_t one = 1;

    if (!h)
        return;
    h->result = result;
    h->fault = fault;
    h->t_linger = t_linger;
    h->is_closing = true;
    (void)!write(h->wake, &one, sizeof one); /* the thread looks at the clock anyway */
    pthread_join(h->thread, NULL);
    release(h);
}

bool heartbeat_is_current(struct heartbeat *h)
{
    return clock_now() - h->t_answer <= h->config.t_lost;
}
