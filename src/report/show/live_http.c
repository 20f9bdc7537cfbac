#include "report/show/live.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/str.h"
#include "format/sha256.h"
#include "page/page.h"
#include "report/judge/judgement.h"
#include "report/show/report.h"

enum { LISTENERS = 2, CLIENTS = 64, PAGE_MAX = 1 << 28, ROUTES = LIVE_JSON + 1 };

static const double patience = 5;   /* seconds for a whole request */
static const double slow_line = 30; /* and for taking the answer */

struct client {
    int fd;                 /* -1: free */
    double deadline, heard; /* heard: when a byte last went in or out */
    char request[LIVE_REQUEST_MAX];
    size_t n_request;
    struct str answer; /* empty while the request is read */
    size_t n_sent;
};

/* A page made a moment ago serves whoever asks next. */
struct cached {
    struct str text;
    double made;
    int status;
};

struct live_http {
    char run[FILE_PATH_MAX];
    char own_name[256];
    char policy[256]; /* the Content-Security-Policy */
    double every;
    int listener[LISTENERS];
    size_t n_listeners;
    int port;
    struct client client[CLIENTS];
    struct runlog_follow follow;
    struct cached cached[ROUTES];
};

/* ---- opening ---- */

static void base64(char *out, const unsigned char *in, size_t n)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < n; i += 3) {
        const unsigned a = in[i], b = i + 1 < n ? in[i + 1] : 0u,
                       c = i + 2 < n ? in[i + 2] : 0u;
        *out++ = letters[a >> 2];
        *out++ = letters[(a & 3) << 4 | b >> 4];
        *out++ = i + 1 < n ? letters[(b & 15) << 2 | c >> 6] : '=';
        *out++ = i + 2 < n ? letters[c & 63] : '=';
    }
    *out = '\0';
}

/* The style sheet is allowed by its hash, so that no other can be smuggled in. */
static void make_policy(struct live_http *s)
{
    unsigned char hash[SHA256_BYTES];
    char text[64];
    struct sha256 h;

    sha256_init(&h);
    sha256_add(&h, "\n", 1);
    sha256_add(&h, page_style, strlen(page_style));
    sha256_end(&h, hash);
    base64(text, hash, sizeof hash);
    snprintf(s->policy, sizeof s->policy,
             "default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; "
             "form-action 'none'; frame-ancestors 'none'",
             text);
}

static status listen_at(struct live_http *s, const struct addrinfo *a, struct err *err)
{
    const int yes = 1;
    const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return err_set(err, ERR_IO, "a socket: %s", strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (a->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, CLIENTS) != 0) {
        const int why = errno;
        close(fd);
        return err_set(err, ERR_IO, "port %d: %s; choose another with port=N", s->port,
                       strerror(why));
    }
    s->listener[s->n_listeners++] = fd;
    return OK;
}

static int port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } a = {.v6 = {0}};
    socklen_t n = sizeof a;

    if (getsockname(fd, &a.any, &n) != 0)
        return 0;
    return ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
}

static status open_listener(struct live_http *s, const char *address, struct err *err)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_PASSIVE};
    struct addrinfo *found;
    char port[16];

    snprintf(port, sizeof port, "%d", s->port);
    if (getaddrinfo(address, port, &hints, &found) != 0)
        return err_set(err, ERR_USAGE,
                       "'%s' is no address to listen on, such as 127.0.0.1 or 0.0.0.0",
                       address);
    const status result = listen_at(s, found, err);
    freeaddrinfo(found);
    if (result == OK && s->port == 0)
        s->port = port_of(s->listener[0]);
    return result;
}

static status open_listeners(struct live_http *s, const char *address, struct err *err)
{
    struct err ignored;

    if (address[0])
        return open_listener(s, address, err);
    TRY(open_listener(s, "127.0.0.1", err));
    (void)open_listener(s, "::1", &ignored); /* hosts without IPv6 go without */
    return OK;
}

status live_http_open(struct live_http **out, const char *run, const char *address,
                      int port, double every, struct err *err)
{
    struct live_http *s;

    *out = NULL;
    if (strlen(run) >= sizeof s->run)
        return err_set(err, ERR_USAGE, "%.40s...: the path of the run is too long", run);
    TRY(mem_alloc(&s, 1, sizeof *s, err));
    memcpy(s->run, run, strlen(run) + 1);
    os_host_name(s->own_name, sizeof s->own_name);
    s->port = port;
    s->every = every;
    for (size_t i = 0; i < CLIENTS; i++)
        s->client[i].fd = -1;
    for (size_t i = 0; i < ROUTES; i++)
        s->cached[i].text = str_new(PAGE_MAX);
    make_policy(s);
    const status result = open_listeners(s, address, err);
    if (result != OK) {
        live_http_close(s);
        return result;
    }
    *out = s;
    return OK;
}

int live_http_port(const struct live_http *s)
{
    return s->port;
}

/* ---- answering ---- */

static status render(struct live_http *s, enum live_route route, struct str *out,
                     struct err *err)
{
    struct judgement *t;

    TRY(mem_alloc(&t, 1, sizeof *t, err));
    status result = judgement_look(t, s->run, clock_wall(), &s->follow, err);
    if (result == OK) {
        if (route == LIVE_JSON)
            result = report_text_json(out, t, 1, err);
        else if (route == LIVE_REPORT)
            result = report_page_write(out, t, err);
        else
            result = live_page(out, t, s->every, err);
        judgement_close(t);
    }
    free(t);
    return result;
}

static void make_page(struct live_http *s, enum live_route route)
{
    struct cached *c = &s->cached[route];
    struct err err;

    if (c->status && clock_now() - c->made < 1)
        return;
    str_release(&c->text);
    c->text = str_new(PAGE_MAX);
    c->status = 200;
    if (render(s, route, &c->text, &err) != OK) {
        c->status = 500;
        str_release(&c->text);
        c->text = str_new(PAGE_MAX);
        page_begin(&c->text, "No report");
        page_tag(&c->text, "p", NULL, err.msg);
        page_end(&c->text);
    }
    c->made = clock_now();
}

static void begin_answer(struct live_http *s, struct client *c,
                         const struct live_request *r)
{
    const struct cached *page = NULL;
    int code = r->status;

    if (code == 200) {
        make_page(s, r->route);
        page = &s->cached[r->route];
        code = page->status;
    }
    const char *reason = live_request_reason(code);
    const size_t n = page ? page->text.len : strlen(reason) + 1;
    const bool is_json = r->route == LIVE_JSON && code == 200;
    c->answer = str_new(PAGE_MAX);
    str_printf(&c->answer,
               "HTTP/1.1 %d %s\r\nContent-Type: %s; charset=utf-8\r\n"
               "Content-Length: %zu\r\nConnection: close\r\nCache-Control: no-store\r\n"
               "Content-Security-Policy: %s\r\nX-Content-Type-Options: nosniff\r\n"
               "Referrer-Policy: no-referrer\r\n",
               code, reason,
               is_json ? "application/json"
               : page  ? "text/html"
                       : "text/plain",
               n, s->policy);
    if (code == 405)
        str_puts(&c->answer, "Allow: GET, HEAD\r\n");
    if (r->route == LIVE_NOW)
        str_printf(&c->answer, "Refresh: %.0f\r\n", s->every);
    str_puts(&c->answer, "\r\n");
    if (!r->is_head && page)
        str_add(&c->answer, page->text.data, page->text.len);
    else if (!r->is_head)
        str_printf(&c->answer, "%s\n", reason);
    c->deadline = clock_now() + slow_line;
}

/* ---- connections ---- */

static void hang_up(struct client *c)
{
    close(c->fd);
    str_release(&c->answer);
    c->fd = -1;
}

/* A free place. In a full house whoever has been silent for longest makes room. */
static struct client *find_place(struct live_http *s)
{
    struct client *place = &s->client[0];

    for (size_t i = 0; i < CLIENTS && place->fd >= 0; i++)
        if (s->client[i].fd < 0 || s->client[i].heard < place->heard)
            place = &s->client[i];
    if (place->fd >= 0)
        hang_up(place);
    return place;
}

static void take_clients(struct live_http *s, int listener)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        const int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        const double now = clock_now();
        *find_place(s) =
            (struct client){.fd = fd, .deadline = now + patience, .heard = now};
    }
}

static void read_client(struct live_http *s, struct client *c)
{
    struct live_request request;
    const ssize_t n =
        recv(c->fd, c->request + c->n_request, sizeof c->request - c->n_request, 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        hang_up(c);
        return;
    }
    c->n_request += (size_t)n;
    c->heard = clock_now();
    if (live_request_read(&request, c->request, c->n_request, s->own_name))
        begin_answer(s, c, &request);
}

static void write_client(struct client *c)
{
    const ssize_t n =
        send(c->fd, c->answer.data + c->n_sent, c->answer.len - c->n_sent, MSG_NOSIGNAL);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) {
        hang_up(c);
        return;
    }
    c->n_sent += (size_t)n;
    c->heard = clock_now();
    if (c->n_sent < c->answer.len)
        return;
    shutdown(c->fd, SHUT_WR);
    hang_up(c);
}

static size_t fill_polls(const struct live_http *s, struct pollfd *p)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_listeners; i++)
        p[n++] = (struct pollfd){.fd = s->listener[i], .events = POLLIN};
    for (size_t i = 0; i < CLIENTS; i++)
        p[n++] = (struct pollfd){.fd = s->client[i].fd,
                                 .events = s->client[i].answer.len ? POLLOUT : POLLIN};
    return n;
}

static void serve_polls(struct live_http *s, const struct pollfd *p)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        struct client *c = &s->client[i];
        const short seen = p[s->n_listeners + i].revents;
        if (c->fd < 0)
            continue;
        if (seen && c->answer.len)
            write_client(c);
        else if (seen)
            read_client(s, c);
        if (c->fd >= 0 && clock_now() > c->deadline)
            hang_up(c);
    }
    for (size_t i = 0; i < s->n_listeners; i++)
        if (p[i].revents)
            take_clients(s, s->listener[i]);
}

status live_http_serve(struct live_http *s, const volatile sig_atomic_t *stop,
                       struct err *err)
{
    struct pollfd p[LISTENERS + CLIENTS];

    while (!*stop) {
        const size_t n = fill_polls(s, p);
        if (poll(p, n, 250) < 0) {
            if (errno == EINTR)
                continue;
            return err_set(err, ERR_IO, "waiting for browsers: %s", strerror(errno));
        }
        serve_polls(s, p);
    }
    return OK;
}

void live_http_close(struct live_http *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_listeners; i++)
        close(s->listener[i]);
    for (size_t i = 0; i < CLIENTS; i++)
        if (s->client[i].fd >= 0)
            hang_up(&s->client[i]);
    for (size_t i = 0; i < ROUTES; i++)
        str_release(&s->cached[i].text);
    runlog_follow_close(&s->follow);
    free(s);
}
