#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/http_parts.h"

static status listen_at(struct http *h, const char *address, const struct addrinfo *a,
                        struct err *err)
{
    enum { BACKLOG = 512 };
    const int yes = 1;
    const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return err_set(err, ERR_IO, "a socket: %s", strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (a->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
        const int why = errno;
        close(fd);
        if (why == EADDRNOTAVAIL)
            return err_set(err, ERR_IO,
                           "%s is no address of this machine; choose another with host=A",
                           address);
        return err_set(err, ERR_IO, "port %d: %s; choose another with port=N", h->port,
                       strerror(why));
    }
    h->listener[h->n_listeners++] = fd;
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

static status open_listener(struct http *h, const char *address, struct err *err)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_PASSIVE};
    struct addrinfo *found;
    char port[16];

    snprintf(port, sizeof port, "%d", h->port);
    if (getaddrinfo(address, port, &hints, &found) != 0)
        return err_set(err, ERR_USAGE,
                       "'%s' is no address to listen on, such as 127.0.0.1 or 0.0.0.0",
                       address);
    const status result = listen_at(h, address, found, err);
    freeaddrinfo(found);
    if (result == OK && h->port == 0)
        h->port = port_of(h->listener[0]);
    return result;
}

status http_listen(struct http *h, struct err *err)
{
    struct err ignored;

    h->port = h->options.port;
    if (h->options.address[0])
        return open_listener(h, h->options.address, err);
    TRY(open_listener(h, "127.0.0.1", err));
    (void)open_listener(h, "::1", &ignored); /* hosts without IPv6 go without */
    return OK;
}

void http_deafen(struct http *h)
{
    for (size_t i = 0; i < h->n_listeners; i++)
        close(h->listener[i]);
    h->n_listeners = 0;
}
