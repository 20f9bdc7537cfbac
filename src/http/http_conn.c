#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/http_parts.h"

/* From now on something must happen within the phase's time. */
void http_conn_enter(struct http_conn *c, enum http_phase phase,
                     const struct http_limits *limits)
{
    const double patience = phase == HTTP_WAITING   ? limits->t_idle
                            : phase == HTTP_READING ? limits->t_body
                            : phase == HTTP_WORKING ? HUGE_VAL
                                                    : limits->t_answer;

    c->phase = phase;
    c->t_heard = clock_now();
    c->deadline = c->t_heard + patience;
}

/* The library notices and closes it. */
static void shut(struct http *h, struct http_conn *c)
{
    if (c->is_shut)
        return;
    c->is_shut = true;
    h->n_conns--;
    shutdown(c->fd, SHUT_RDWR);
}

/* Whoever has been silent for longest makes room; false: all of them are being served. */
static bool make_room(struct http *h)
{
    struct http_conn *oldest = NULL;

    if (h->n_conns < h->options.limits.connections)
        return true;
    for (struct http_conn *c = h->conns; c; c = c->next)
        if (c->phase != HTTP_WORKING && !c->is_shut &&
            (!oldest || c->t_heard <= oldest->t_heard))
            oldest = c;
    if (!oldest)
        return false;
    shut(h, oldest);
    return h->mhd->run(h->daemon) == MHD_YES; /* so that it is closed */
}

/* Without reading its request, which will be lost: a full house has no room for it. */
static void turn_away(int fd)
{
    static const char text[] = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n"
                               "Content-Length: 0\r\nConnection: close\r\n\r\n";

    if (send(fd, text, sizeof text - 1, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
        shutdown(fd, SHUT_WR);
    close(fd);
}

void http_conn_accept(struct http *h, int listener)
{
    enum { AT_ONCE = 256 };

    for (int i = 0; i < AT_ONCE; i++) {
        const int yes = 1;
        union {
            struct sockaddr any;
            struct sockaddr_in6 v6;
        } a = {.v6 = {0}};
        socklen_t n = sizeof a;
        const int fd = accept4(listener, &a.any, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        if (!make_room(h)) {
            turn_away(fd);
            continue;
        }
        (void)h->mhd->add_connection(h->daemon, fd, &a.any,
                                     n); /* closes it if it fails */
    }
}

static void begin(struct http *h, struct MHD_Connection *connection, void **context)
{
    const union MHD_ConnectionInfo *info =
        h->mhd->get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct http_conn *c = calloc(1, sizeof *c);

    *context = c;
    if (!c || !info)
        return;
    c->fd = info->connect_fd;
    http_conn_enter(c, HTTP_WAITING, &h->options.limits);
    c->deadline = c->t_heard + h->options.limits.t_head;
    c->next = h->conns;
    if (c->next)
        c->next->prev = c;
    h->conns = c;
    h->n_conns++;
}

static void end(struct http *h, struct http_conn *c)
{
    if (c->prev)
        c->prev->next = c->next;
    else
        h->conns = c->next;
    if (c->next)
        c->next->prev = c->prev;
    h->n_conns -= !c->is_shut;
    free(c);
}

void http_conn_notify(void *cls, struct MHD_Connection *connection, void **context,
                      enum MHD_ConnectionNotificationCode what)
{
    struct http *h = cls;

    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        begin(h, connection, context);
    else if (*context)
        end(h, *context);
    atomic_store(&h->n_shown, h->n_conns);
}

/* Nothing of a request is there, not even unread. */
static bool is_silent(const struct http_conn *c)
{
    char byte;

    return c->phase == HTTP_WAITING &&
           recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

/* Its client has left in the middle of its body, which the library does not notice when
 * it did so together with the last bytes. */
static bool is_broken_off(const struct http_conn *c)
{
    char byte;

    return c->phase == HTTP_READING &&
           recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

void http_conn_sweep(struct http *h)
{
    const double now = clock_now();

    for (struct http_conn *c = h->conns; c; c = c->next)
        if (now > c->deadline || is_broken_off(c) || (h->is_stopping && is_silent(c)))
            shut(h, c);
}

void http_conn_watch(struct http_request *r, bool is_watched)
{
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = r};

    if (r->is_watched == is_watched)
        return;
    r->is_watched = is_watched;
    (void)epoll_ctl(r->http->absent_fd, is_watched ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
                    r->conn->fd, &event); /* or nobody knows when its client leaves */
}

void http_conn_leave(struct http *h)
{
    enum { AT_ONCE = 64 };
    struct epoll_event event[AT_ONCE];

    for (int n = AT_ONCE; n == AT_ONCE;) {
        n = epoll_wait(h->absent_fd, event, AT_ONCE, 0);
        for (int i = 0; i < n; i++)
            atomic_store(&((struct http_request *)event[i].data.ptr)->is_gone, true);
    }
}
