/*
 * Any bytes as what a client sends: the server answers or closes, and a handler that
 * looks at all of a request finds texts. Several requests may follow each other.
 */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/http_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void add_field(void *ctx, const char *name, struct line value)
{
    str_puts(ctx, name);
    str_add(ctx, value.text, value.n_bytes);
}

static void refuse(void *ctx, struct http_request *r, unsigned code)
{
    struct http_answer a = {.status = code, .body = str_new(0)};

    (void)ctx;
    http_answer(r, &a);
}

static void handle(void *ctx, struct http_request *r)
{
    struct http_answer a = {.status = 200, .body = str_new(0)};
    const char *type = http_header(r, "Content-Type"), *query = http_query(r, "q");
    struct err err;

    (void)ctx;
    str_puts(&a.body, http_path(r));
    str_puts(&a.body, type ? type : "");
    str_puts(&a.body, query ? query : "");
    if (http_form(r, add_field, &a.body, &err) != OK)
        str_add(&a.body, http_body(r).text, http_body(r).n_bytes);
    http_answer(r, &a);
}

static struct http *server(void)
{
    static const struct http_options o = {.address = "127.0.0.1",
                                          .limits = {.connections = 64,
                                                     .head_bytes = 4096,
                                                     .body_bytes = 4096,
                                                     .t_head = 1,
                                                     .t_idle = 1,
                                                     .t_body = 1,
                                                     .t_answer = 1},
                                          .handle = handle,
                                          .refuse = refuse};
    struct http *h;
    struct err err;

    if (http_open(&h, &o, &err) != OK)
        abort();
    return h;
}

/* What there is to do now, without waiting for more. */
static void turn(struct http *h)
{
    const uint64_t one = 1;
    struct err err;

    if (write(h->wake_fd, &one, sizeof one) != sizeof one || http_turn(h, &err) != OK)
        abort();
}

/* A client that was answered goes; one that waits for nothing goes as well. */
static void be_client(struct http *h, int fd)
{
    enum { PATIENCE = 4 };
    char answer[65536];

    for (int n_quiet = 0; n_quiet < PATIENCE; n_quiet++) {
        turn(h);
        const ssize_t got = recv(fd, answer, sizeof answer, MSG_DONTWAIT);
        if (got == 0)
            return;
        if (got > 0)
            n_quiet = 0;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    enum { AT_ONCE = 100, AT_MOST = 100 };
    static struct http *h;
    struct err err;

    if (!h)
        h = server();
    const struct sockaddr_in a = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)http_port(h)),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const struct linger at_once = {.l_onoff = 1}; /* no port stays taken for a minute */
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&a, sizeof a) != 0)
        abort();
    if (n > 60000 || send(fd, data, n, MSG_NOSIGNAL) < 0)
        n = 0;
    shutdown(fd, SHUT_WR);
    be_client(h, fd);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(fd);
    for (int i = 0; i < AT_ONCE && h->n_conns; i++)
        turn(h);
    for (int i = 0; h->n_conns;
         i++) /* of somebody who has gone: until its time is over */
        if (http_turn(h, &err) != OK || i == AT_MOST)
            abort();
    return 0;
}
