#include "http/http.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/os.h"
#include "http/http_parts.h"

enum { TICK_MS = 200 };

/* The library's own messages: nothing below cli prints. */
static void say_nothing(void *cls, const char *fmt, va_list ap)
{
    (void)cls, (void)fmt, (void)ap;
}

static status open_daemon(struct http *h, struct err *err)
{
    const struct http_limits *l = &h->options.limits;

    h->daemon = h->mhd->start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
            MHD_USE_ERROR_LOG,
        0, NULL, NULL, http_request_step, h,           /* pairs of a name and values: */
        MHD_OPTION_EXTERNAL_LOGGER, say_nothing, NULL, /* and then pairs */
        MHD_OPTION_NOTIFY_COMPLETED, http_request_done, h, /* of a name */
        MHD_OPTION_NOTIFY_CONNECTION, http_conn_notify, h, /* and its values */
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)l->connections * 2 /* shut ones too */,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, l->head_bytes, MHD_OPTION_STRICT_FOR_CLIENT,
        1, MHD_OPTION_END);
    if (!h->daemon)
        return err_set(err, ERR_IO, "the HTTP library did not start: %s",
                       strerror(errno));
    h->daemon_fd = h->mhd->get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    return OK;
}

/* The house is full before descriptors run out: without one nobody could be accepted, nor
 * anybody told so. */
static void limit_connections(struct http *h)
{
    enum { OTHERS = 32 }; /* descriptors that the rest of the process may come to need */
    const rlim_t used = (rlim_t)h->wake_fd + 1 + OTHERS;
    size_t *most = &h->options.limits.connections;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < used + *most)
        *most = limit.rlim_cur > used ? (size_t)(limit.rlim_cur - used) : 1;
}

status http_open(struct http **out, const struct http_options *o, struct err *err)
{
    struct http *h;

    *out = NULL;
    TRY(mem_alloc(&h, 1, sizeof *h, err));
    h->options = *o;
    os_raise_files();
    h->absent_fd = epoll_create1(EPOLL_CLOEXEC);
    h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    status result = h->absent_fd < 0 || h->wake_fd < 0
                        ? err_set(err, ERR_IO, "epoll: %s", strerror(errno))
                        : OK;
    limit_connections(h);
    THEN(result, mhd_library_open(&h->mhd, err));
    THEN(result, open_daemon(h, err));
    THEN(result, http_listen(h, err));
    if (result != OK) {
        http_close(h);
        return result;
    }
    *out = h;
    return OK;
}

int http_port(const struct http *h)
{
    return h->port;
}

struct http_load http_load(const struct http *h)
{
    return (struct http_load){atomic_load(&h->n_shown), atomic_load(&h->n_requests)};
}

void http_resume(struct http *h, struct MHD_Connection *connection)
{
    const uint64_t one = 1;

    h->mhd->resume_connection(connection);
    (void)!write(h->wake_fd, &one, sizeof one); /* full, it wakes too */
}

static void tick(struct http *h)
{
    const double now = clock_now();

    if (now < h->t_tick)
        return;
    h->t_tick = now + TICK_MS / 1e3;
    http_conn_sweep(h);
    if (h->options.tick)
        h->options.tick(h->options.ctx);
}

status http_turn(struct http *h, struct err *err)
{
    struct pollfd p[HTTP_LISTENERS + 3];
    MHD_UNSIGNED_LONG_LONG ms = TICK_MS;
    uint64_t n_resumed;
    nfds_t n = 0;

    for (; n < h->n_listeners; n++)
        p[n] = (struct pollfd){.fd = h->listener[n], .events = POLLIN};
    p[n++] = (struct pollfd){.fd = h->absent_fd, .events = POLLIN};
    p[n++] = (struct pollfd){.fd = h->daemon_fd, .events = POLLIN};
    p[n++] = (struct pollfd){.fd = h->wake_fd, .events = POLLIN};
    if (h->mhd->get_timeout(h->daemon, &ms) != MHD_YES || ms > TICK_MS)
        ms = TICK_MS;
    if (poll(p, n, (int)ms) < 0 && errno != EINTR)
        return err_set(err, ERR_IO, "waiting for clients: %s", strerror(errno));
    (void)!read(h->wake_fd, &n_resumed, sizeof n_resumed);
    http_conn_leave(h);
    for (size_t i = 0; i < h->n_listeners; i++)
        http_conn_accept(h, h->listener[i]);
    if (h->mhd->run(h->daemon) != MHD_YES)
        return err_set(err, ERR_IO, "the HTTP library gave up: %s", strerror(errno));
    tick(h);
    return OK;
}

status http_run(struct http *h, const volatile sig_atomic_t *stop, double t_grace,
                struct err *err)
{
    while (!*stop)
        TRY(http_turn(h, err));
    TRY(http_turn(h, err)); /* whoever has connected is still accepted */
    http_deafen(h);
    h->is_stopping = true;
    const double t_end = clock_now() + t_grace;
    do {
        http_conn_sweep(h);
        TRY(http_turn(h, err));
        if (clock_now() > t_end)
            return err_set(err, ERR_LOST,
                           "%zu requests were not answered within %g seconds",
                           http_load(h).n_requests, t_grace);
    } while (h->n_conns);
    return OK;
}

void http_close(struct http *h)
{
    if (!h)
        return;
    http_deafen(h);
    if (h->daemon)
        h->mhd->stop_daemon(h->daemon);
    if (h->absent_fd >= 0)
        close(h->absent_fd);
    if (h->wake_fd >= 0)
        close(h->wake_fd);
    free(h);
}
