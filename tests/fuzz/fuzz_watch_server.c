/* Clients of the control channel that say anything: the first byte chooses how many, the
 * rest is dealt to them in portions. Who proved nothing must change nothing. */
#include "dist/watch_server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int dial(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void check_untouched(const struct watch_server *s)
{
    for (size_t r = 0; r < s->watch.n_ranks; r++)
        if (s->watch.rank[r].has_joined)
            __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const uint8_t token[BEAT_TOKEN] = "unknown to whoever writes these";
    struct watch_server s;
    struct err err;
    int fd[4];

    if (n < 2 ||
        watch_server_open(&s, "127.0.0.1", 0, 2, token, watch_limits_default, &err) != OK)
        return 0;
    const size_t n_clients = 1 + data[0] % 4, portion = 1 + data[1];
    for (size_t i = 0; i < n_clients; i++)
        fd[i] = dial(s.port);
    for (size_t at = 2, i = 0; at < n; at += portion, i++) {
        const size_t left = n - at;
        watch_server_turn(&s, 0);
        if (fd[i % n_clients] >= 0)
            (void)!send(fd[i % n_clients], data + at, left < portion ? left : portion,
                        MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    for (size_t i = 0; i < n_clients; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    watch_server_turn(&s, 0);
    watch_server_order(&s, BEAT_STOP);
    check_untouched(&s);
    watch_server_close(&s);
    return 0;
}
