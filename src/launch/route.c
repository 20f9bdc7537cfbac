#include "launch/route.h"

#include <netdb.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A datagram socket that is connected has been routed. */
static bool own_end(char *out, size_t n, const struct addrinfo *to)
{
    struct sockaddr_storage own = {0};
    socklen_t n_own = sizeof own;
    const int fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return false;
    const bool found = connect(fd, to->ai_addr, to->ai_addrlen) == 0 &&
                       getsockname(fd, (struct sockaddr *)&own, &n_own) == 0 &&
                       getnameinfo((struct sockaddr *)&own, n_own, out, (socklen_t)n,
                                   NULL, 0, NI_NUMERICHOST) == 0;
    close(fd);
    return found;
}

status route_to(char *out, size_t n, const char *host, struct err *err)
{
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;

    const int bad = getaddrinfo(host, "9", &hints, &found);
    if (bad)
        return err_set(err, ERR_USAGE,
                       "host %s has no address here (%s); give address=, this machine as "
                       "the hosts reach it",
                       host, gai_strerror(bad));
    const bool ok = own_end(out, n, found);
    freeaddrinfo(found);
    if (!ok)
        return err_set(err, ERR_USAGE,
                       "there is no route to host %s; give address=, this machine as the "
                       "hosts reach it",
                       host);
    return OK;
}
