#include "dist/watch/control_server.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "dist/watch/phase.h"

enum { N_UNKNOWN = 64, NO_RANK = -1 };

static const double t_full = 0.5; /* until the next try to accept a connection */

const char control_server_full_text[] =
    "ranks cannot report: this process has as many files open as it may, raise the limit "
    "(ulimit -n) above the number of ranks";

struct control_client {
    int fd; /* -1: free */
    int64_t rank;
    double t_opened;
    uint64_t seq, collected, confirmed; /* numbers of beats; the last is answered */
    uint8_t nonce[CHANNEL_NONCE];
    struct channel_key key;
    struct channel_inbox in;
};

/* Nothing more is heard of a rank on this way. */
static void lose_rank(struct control_server *s, uint32_t rank)
{
    const bool is_news = !s->liveness.rank[rank].is_done;

    s->route[rank] = (struct control_route){.client = -1, .is_news = is_news};
    s->is_urgent |= is_news;
    liveness_hung_up(&s->liveness, rank, clock_now());
}

static void drop(struct control_server *s, struct control_client *c)
{
    if (c->fd < 0)
        return;
    close(c->fd);
    c->fd = -1;
    if (c->rank == NO_RANK)
        return;
    for (uint32_t r = 0; r < s->liveness.n_ranks; r++)
        if (s->route[r].client == c - s->client)
            lose_rank(s, r);
    c->rank = NO_RANK;
    s->n_connected--;
}

/* ---- opening ---- */

/* The port is in the same place of a sockaddr_in. */
static uint16_t port_of(int fd)
{
    struct sockaddr_in6 a = {.sin6_port = 0};
    socklen_t n = sizeof a;

    return getsockname(fd, (struct sockaddr *)&a, &n) == 0 ? ntohs(a.sin6_port) : 0;
}

static status open_listener(struct control_server *s, const char *address, uint16_t port,
                            struct err *err)
{
    const struct addrinfo hints = {.ai_family = address[0] ? AF_UNSPEC : AF_INET,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_PASSIVE | AI_NUMERICHOST};
    struct addrinfo *found = NULL;
    const int yes = 1;
    char digits[8];

    snprintf(digits, sizeof digits, "%u", port);
    const int bad = getaddrinfo(address[0] ? address : NULL, digits, &hints, &found);
    if (bad)
        return err_set(err, ERR_USAGE, "'%.200s' is not a numeric address: %s", address,
                       gai_strerror(bad));
    s->listener = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool listens =
        s->listener >= 0 &&
        setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        bind(s->listener, found->ai_addr, found->ai_addrlen) == 0 &&
        listen(s->listener, 128) == 0;
    const int why = errno;
    freeaddrinfo(found);
    if (!listens)
        return err_set(err, ERR_IO, "cannot listen on %.200s port %u: %s",
                       address[0] ? address : "any address", port, strerror(why));
    s->port = port_of(s->listener);
    return OK;
}

/* Add fd to epoll; its events carry `id`. */
static bool follow(const struct control_server *s, int fd, uint64_t id)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = id};

    return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) == 0;
}

static status open_all(struct control_server *s, const char *address, uint16_t port,
                       size_t n_ranks, struct liveness_limits limits, struct err *err)
{
    TRY(liveness_open(&s->liveness, n_ranks, limits, clock_now(), err));
    TRY(mem_alloc(&s->client, s->max_clients, sizeof *s->client, err));
    for (size_t i = 0; i < s->max_clients; i++)
        s->client[i] = (struct control_client){.fd = -1, .rank = NO_RANK};
    TRY(mem_alloc(&s->route, n_ranks, sizeof *s->route, err));
    for (size_t i = 0; i < n_ranks; i++)
        s->route[i].client = -1;
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (s->epoll < 0)
        return err_set(err, ERR_IO, "epoll: %s", strerror(errno));
    TRY(open_listener(s, address, port, err));
    if (!follow(s, s->listener, s->max_clients))
        return err_set(err, ERR_IO, "epoll: %s", strerror(errno));
    return OK;
}

status control_server_open(struct control_server *s, const char *address, uint16_t port,
                           size_t n_ranks, const uint8_t token[CHANNEL_TOKEN],
                           struct liveness_limits limits, struct err *err)
{
    *s = (struct control_server){
        .listener = -1, .epoll = -1, .max_clients = 2 * n_ranks + N_UNKNOWN};
    memcpy(s->token, token, CHANNEL_TOKEN);
    if (open_all(s, address, port, n_ranks, limits, err) != OK) {
        control_server_close(s);
        return err->code;
    }
    return OK;
}

void control_server_close(struct control_server *s)
{
    for (size_t i = 0; s->client && i < s->max_clients; i++)
        drop(s, &s->client[i]);
    free(s->client);
    free(s->route);
    if (s->max_clients && s->listener >= 0)
        close(s->listener);
    if (s->max_clients && s->epoll >= 0)
        close(s->epoll);
    liveness_close(&s->liveness);
    *s = (struct control_server){.listener = -1, .epoll = -1};
}

/* ---- serving ---- */

/* A free slot, or that of the oldest unauthenticated connection. */
static struct control_client *free_slot(struct control_server *s)
{
    struct control_client *oldest = NULL;

    for (size_t i = 0; i < s->max_clients; i++) {
        struct control_client *c = &s->client[i];
        if (c->fd < 0)
            return c;
        if (c->rank == NO_RANK && (!oldest || c->t_opened < oldest->t_opened))
            oldest = c;
    }
    BUG_ON(!oldest); /* each rank has at most one slot */
    drop(s, oldest);
    return oldest;
}

static void greet(struct control_server *s, int fd)
{
    struct control_client *c = free_slot(s);
    uint8_t hello[CHANNEL_HELLO_BYTES];
    const int yes = 1;

    *c = (struct control_client){.fd = fd, .rank = NO_RANK, .t_opened = clock_now()};
    if (!channel_random(c->nonce, sizeof c->nonce) ||
        !follow(s, fd, (uint64_t)(c - s->client))) {
        drop(s, c);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    channel_put_hello(hello, c->nonce);
    if (!channel_send(fd, hello, sizeof hello))
        drop(s, c);
}

/* A listener that cannot be served stays readable: it is not looked at for a while. */
static void turn_away(struct control_server *s)
{
    epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->listener, NULL);
    s->is_full = true;
    s->t_full = clock_now();
}

bool control_server_is_full(struct control_server *s)
{
    const bool is_news = s->is_full && !s->was_full;

    s->was_full |= s->is_full;
    return is_news;
}

static void accept_some(struct control_server *s)
{
    for (int i = 0; i < N_UNKNOWN; i++) {
        const int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE)
                turn_away(s);
            return;
        }
        greet(s, fd);
    }
}

static enum channel_answer answer_to(const struct control_server *s,
                                     const struct channel_join *j)
{
    if (j->n_ranks != s->liveness.n_ranks)
        return CHANNEL_WRONG_SIZE;
    return j->rank < j->n_ranks ? CHANNEL_ACCEPTED : CHANNEL_WRONG_RANK;
}

/* Whether a rank has a connection of its own. */
static bool is_direct(const struct control_server *s, uint32_t rank)
{
    const int64_t client = s->route[rank].client;

    return client >= 0 && s->client[client].rank == (int64_t)rank;
}

/* A new connection of a rank replaces the old one, whose end may never be seen. */
static void admit(struct control_server *s, struct control_client *c,
                  const struct channel_join *j)
{
    if (is_direct(s, j->rank))
        drop(s, &s->client[s->route[j->rank].client]);
    s->route[j->rank].client = c - s->client;
    c->rank = j->rank;
    s->n_connected++;
    liveness_joined(&s->liveness, j, clock_now());
}

static bool take_join(struct control_server *s, struct control_client *c)
{
    uint8_t welcome[CHANNEL_WELCOME_BYTES];
    struct channel_join j;

    if (!channel_get_join(&j, c->in.bytes, s->token, c->nonce))
        return false;
    c->key = channel_session(s->token, c->nonce, j.nonce);
    const enum channel_answer answer = answer_to(s, &j);
    channel_put_welcome(welcome, answer, &c->key);
    if (!channel_send(c->fd, welcome, sizeof welcome))
        return false;
    if (answer != CHANNEL_ACCEPTED) {
        s->refused = j.n_ranks;
        return false;
    }
    admit(s, c, &j);
    return true;
}

static bool send_ack(const struct control_server *s, const struct control_client *c)
{
    const struct channel_ack ack = {s->is_relay ? c->confirmed : c->seq, s->order};
    uint8_t out[CHANNEL_ACK_BYTES];

    channel_put_ack(out, &ack, &c->key);
    return channel_send(c->fd, out, sizeof out);
}

/* A rank's first word, the begin of its training and its end are not kept waiting. */
static void hear(struct control_server *s, const struct channel_beat *b)
{
    const struct channel_beat *last = &s->liveness.rank[b->rank].last;

    s->is_urgent |= b->is_last || last->seq == 0 ||
                    (last->phase == PHASE_START && b->phase != PHASE_START);
    s->route[b->rank].is_news = true;
    liveness_heard(&s->liveness, b->rank, b, clock_now());
}

/* What a leader says of another rank of its host. */
static void hear_relayed(struct control_server *s, const struct control_client *c,
                         const struct channel_beat *b)
{
    const int64_t client = c - s->client;
    struct channel_join j = {.rank = b->rank, .n_ranks = (uint32_t)s->liveness.n_ranks};

    if (is_direct(s, b->rank))
        return;
    if (b->is_gone) {
        if (s->route[b->rank].client == client)
            lose_rank(s, b->rank);
        return;
    }
    if (s->route[b->rank].client != client) {
        memcpy(j.host, s->liveness.rank[c->rank].host, sizeof j.host);
        liveness_joined(&s->liveness, &j, clock_now());
        s->route[b->rank].client = client;
    }
    hear(s, b);
}

/* Whom a client may speak of: to a relay of itself alone. */
static bool is_fit(const struct control_server *s, const struct control_client *c,
                   const struct channel_beat *b)
{
    const bool is_own = b->rank == c->rank;

    return b->seq > c->seq && b->rank < s->liveness.n_ranks &&
           !(is_own ? b->is_gone : s->is_relay);
}

/* The leader's own beat comes last and is answered for all. */
static bool take_beat(struct control_server *s, struct control_client *c)
{
    struct channel_beat b;

    if (!channel_get_beat(&b, c->in.bytes, &c->key) || !is_fit(s, c, &b))
        return false;
    c->seq = b.seq;
    if (b.rank != c->rank) {
        hear_relayed(s, c, &b);
        return true;
    }
    hear(s, &b);
    return send_ack(s, c);
}

/* A few messages of one client, so that a busy one does not starve the others. */
static void serve(struct control_server *s, struct control_client *c)
{
    for (int i = 0; i < 8 && c->fd >= 0; i++) {
        const bool is_unknown = c->rank == NO_RANK;
        const enum channel_receipt got = channel_receive(
            &c->in, c->fd, is_unknown ? CHANNEL_JOIN_BYTES : CHANNEL_BEAT_BYTES);
        if (got == CHANNEL_PARTIAL)
            return;
        c->in.n = 0;
        if (got == CHANNEL_CLOSED || !(is_unknown ? take_join(s, c) : take_beat(s, c)))
            drop(s, c);
    }
}

static void drop_unknown(struct control_server *s, double now)
{
    for (size_t i = 0; i < s->max_clients; i++) {
        struct control_client *c = &s->client[i];
        if (c->fd >= 0 && c->rank == NO_RANK &&
            now - c->t_opened > s->liveness.limits.t_join)
            drop(s, c);
    }
}

void control_server_turn(struct control_server *s, double t)
{
    struct epoll_event event[64];

    if (s->is_full && clock_now() - s->t_full > t_full)
        s->is_full = !follow(s, s->listener, s->max_clients);
    int n = epoll_wait(s->epoll, event, 64, t > 0 ? (int)(t * 1000) + 1 : 0);
    for (int round = 0; round < 16 && n > 0; round++) {
        for (int i = 0; i < n; i++) {
            if (event[i].data.u64 == s->max_clients)
                accept_some(s);
            else if (s->client[event[i].data.u64].fd >= 0)
                serve(s, &s->client[event[i].data.u64]);
        }
        n = epoll_wait(s->epoll, event, 64, 0);
    }
    drop_unknown(s, clock_now());
}

void control_server_order(struct control_server *s, enum channel_order order)
{
    s->order = order;
    for (size_t i = 0; i < s->max_clients; i++) {
        struct control_client *c = &s->client[i];
        if (c->fd >= 0 && c->rank != NO_RANK && !send_ack(s, c))
            drop(s, c);
    }
}

/* ---- a relay's ---- */

/* The last word about a rank, for others. */
static struct channel_beat word_of(const struct control_server *s, uint32_t rank)
{
    struct channel_beat b = s->liveness.rank[rank].last;

    b.rank = rank;
    b.is_gone = s->route[rank].client < 0 && !b.is_last;
    return b;
}

size_t control_server_collect(struct control_server *s, bool is_all,
                              struct channel_beat *out)
{
    size_t n = 0;

    for (uint32_t r = 0; r < s->liveness.n_ranks; r++) {
        struct control_route *at = &s->route[r];
        if (!at->is_news && !(is_all && s->liveness.rank[r].last.seq))
            continue;
        out[n++] = word_of(s, r);
        at->is_news = false;
        if (at->client >= 0)
            s->client[at->client].collected = s->client[at->client].seq;
    }
    s->is_urgent = false;
    return n;
}

void control_server_confirm(struct control_server *s)
{
    for (size_t i = 0; i < s->max_clients; i++)
        s->client[i].confirmed = s->client[i].collected;
}
