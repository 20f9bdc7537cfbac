/*
 * usage: bench_serve_load PORT FILE SOURCE TARGET CLIENTS SECONDS [WANT]
 *
 * So many clients of a translation server on this machine, each with one connection that
 * is kept, ask for the lines of FILE, one a request, in LibreTranslate's interface.
 * Prints requests a second and the median and 99th percentile of their times. With WANT,
 * a file of the translations, every answer is compared; the exit status is 1 when one was
 * lost, which is also one that does not come for 100 seconds, or is another's.
 */
#include <arpa/inet.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lines.h"
#include "base/mem.h"
#include "base/str.h"

enum { SAMPLES = 1 << 20, PATIENCE = 100 };

static struct {
    int port;
    const char *source, *target;
    char **line, **want;
    size_t n, n_want;
    double t_end;
    _Atomic size_t next, n_done, n_wrong, n_lost, n_busy;
    double *took; /* [SAMPLES] */
} all;

static status read_lines(const char *path, char ***out, size_t *n, struct err *err)
{
    struct lines l = {0};
    struct line line;
    size_t cap = 0;

    TRY(lines_open(&l, path, err));
    while (lines_next(&l, &line)) {
        TRY(mem_grow(out, &cap, *n + 1, sizeof **out, err));
        (*out)[(*n)++] = strndup(line.text, line.n_bytes);
    }
    lines_close(&l);
    return OK;
}

static int dial(void)
{
    const struct sockaddr_in a = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)all.port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const struct timeval patience = {.tv_sec = PATIENCE};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    close(fd);
    return -1;
}

/* The body of the next answer into *in, its status as the result; 0: there was none. */
static unsigned read_answer(int fd, struct str *in)
{
    char part[16384];
    const char *body = NULL;

    str_reset(in);
    for (;;) {
        body = strstr(str_text(in), "\r\n\r\n");
        const char *length = body ? strcasestr(str_text(in), "\ncontent-length:") : NULL;
        if (length &&
            in->len >= (size_t)(body - in->data) + 4 + strtoul(length + 16, NULL, 10))
            return (unsigned)strtoul(in->data + 9, NULL, 10);
        const ssize_t n = recv(fd, part, sizeof part, 0);
        if (n <= 0)
            return 0;
        str_add(in, part, (size_t)n);
    }
}

static bool is_right(const struct str *in, size_t i)
{
    json_t *value = json_loads(strstr(str_text(in), "\r\n\r\n") + 4, 0, NULL);
    const char *text = json_string_value(json_object_get(value, "translatedText"));
    const bool result = text && (i >= all.n_want || strcmp(text, all.want[i]) == 0);

    json_decref(value);
    return result;
}

static void ask(int *fd, size_t i, struct str *out, struct str *in)
{
    json_t *value = json_pack("{ss, ss, ss}", "q", all.line[i], "source", all.source,
                              "target", all.target);
    char *body = json_dumps(value, JSON_COMPACT);
    const double t0 = clock_now();

    str_reset(out);
    str_printf(out,
               "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
               "application/json\r\nContent-Length: %zu\r\n\r\n%s",
               strlen(body), body);
    const bool is_sent =
        send(*fd, out->data, out->len, MSG_NOSIGNAL) == (ssize_t)out->len;
    const unsigned code = is_sent ? read_answer(*fd, in) : 0;
    if (code == 200) {
        all.n_wrong += !is_right(in, i);
        all.took[all.n_done++ % SAMPLES] = clock_now() - t0;
    } else if (code == 503) {
        all.n_busy++;
    } else {
        all.n_lost++;
        close(*fd);
        *fd = dial();
    }
    free(body);
    json_decref(value);
}

static void *be_client(void *arg)
{
    struct str out = str_new(0), in = str_new(0);
    int fd = dial();

    (void)arg;
    while (fd >= 0 && clock_now() < all.t_end)
        ask(&fd, all.next++ % all.n, &out, &in);
    all.n_lost += fd < 0;
    close(fd);
    str_release(&out);
    str_release(&in);
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static status run(int argc, char **argv, struct err *err)
{
    const size_t n_clients = strtoul(argv[5], NULL, 10);
    pthread_t *thread;

    all.port = (int)strtol(argv[1], NULL, 10);
    all.source = argv[3];
    all.target = argv[4];
    TRY(read_lines(argv[2], &all.line, &all.n, err));
    if (argc > 7)
        TRY(read_lines(argv[7], &all.want, &all.n_want, err));
    TRY(mem_alloc(&all.took, SAMPLES, sizeof *all.took, err));
    TRY(mem_alloc(&thread, n_clients, sizeof *thread, err));
    const double t0 = clock_now();
    all.t_end = t0 + strtod(argv[6], NULL);
    for (size_t i = 0; i < n_clients; i++)
        if (pthread_create(&thread[i], NULL, be_client, NULL) != 0)
            return err_set(err, ERR_IO, "no thread for client %zu", i);
    for (size_t i = 0; i < n_clients; i++)
        pthread_join(thread[i], NULL);
    const double seconds = clock_now() - t0;
    const size_t n = all.n_done < SAMPLES ? all.n_done : SAMPLES;
    qsort(all.took, n, sizeof *all.took, by_size);
    printf("%zu clients: %zu answers, %.0f/s, p50 %.1f ms, p99 %.1f ms; %zu lost, %zu "
           "wrong, %zu told to come back\n",
           n_clients, (size_t)all.n_done, (double)all.n_done / seconds,
           n ? all.took[n / 2] * 1e3 : 0, n ? all.took[n * 99 / 100] * 1e3 : 0,
           (size_t)all.n_lost, (size_t)all.n_wrong, (size_t)all.n_busy);
    return all.n_lost || all.n_wrong ? err_set(err, ERR_CHECK, "answers were not right")
                                     : OK;
}

int main(int argc, char **argv)
{
    struct err err;

    if (argc < 7) {
        fprintf(stderr, "usage: bench_serve_load PORT FILE SOURCE TARGET CLIENTS SECONDS "
                        "[WANT]\n");
        return 2;
    }
    if (run(argc, argv, &err) == OK)
        return 0;
    fprintf(stderr, "%s\n", err.msg);
    return err.code;
}
