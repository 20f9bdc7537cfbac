/* The server of HTTP, spoken to over sockets: what it refuses, and answers that come
 * late, in pieces, or too late. */
#include "test.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/http.h"

static struct err err;
static volatile sig_atomic_t stop; /* set in the server's thread, as by a signal */
static atomic_bool wants_stop;
static struct http *http;
static pthread_t server;
static struct http_request *held;
static atomic_bool has_held;
static atomic_uint last_status;

static struct http_answer text(unsigned code, const char *body)
{
    struct http_answer a = {.status = code, .type = "text/plain", .body = str_new(0)};

    str_puts(&a.body, body);
    return a;
}

static void refuse(void *ctx, struct http_request *r, unsigned code)
{
    struct http_answer a = text(code, "refused");

    (void)ctx;
    http_answer(r, &a);
}

static void add_field(void *ctx, const char *name, struct line value)
{
    str_printf(ctx, "%s=%.*s;", name, (int)value.n_bytes, value.text);
}

static void handle(void *ctx, struct http_request *r)
{
    struct http_answer a = text(200, "");

    (void)ctx;
    if (strcmp(http_path(r), "/hold") == 0) {
        str_release(&a.body);
        http_hold(r);
        held = r;
        atomic_store(&has_held, true);
        return;
    }
    if (strcmp(http_path(r), "/form") == 0) {
        if (http_form(r, add_field, &a.body, &err) != OK)
            a.status = 400;
    } else {
        const char *q = http_query(r, "q");
        str_add(&a.body, http_body(r).text, http_body(r).n_bytes);
        str_puts(&a.body, q ? q : "");
    }
    http_answer(r, &a);
}

static void done(void *ctx, const struct http_done *d)
{
    (void)ctx;
    atomic_store(&last_status, d->status);
}

static void tick(void *ctx)
{
    (void)ctx;
    stop = atomic_load(&wants_stop);
}

static void *run(void *arg)
{
    static struct err of_server;

    (void)arg;
    return http_run(http, &stop, 20, &of_server) == OK ? NULL : of_server.msg;
}

static void begin(double patience)
{
    const struct http_options o = {.address = "127.0.0.1",
                                   .limits = {.connections = 8,
                                              .head_bytes = 8192,
                                              .body_bytes = 1000,
                                              .t_head = patience,
                                              .t_idle = patience,
                                              .t_body = patience,
                                              .t_answer = patience},
                                   .handle = handle,
                                   .refuse = refuse,
                                   .tick = tick,
                                   .done = done};

    stop = 0;
    atomic_store(&wants_stop, false);
    atomic_store(&has_held, false);
    CHECK_OK(http_open(&http, &o, &err), &err);
    CHECK(pthread_create(&server, NULL, run, NULL) == 0);
}

static void end(void)
{
    void *why;

    atomic_store(&wants_stop, true);
    pthread_join(server, &why);
    CHECK(!why);
    http_close(http);
}

static int client(const char *request)
{
    const struct timeval patience = {.tv_sec = 60};
    const struct sockaddr_in a = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)http_port(http)),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    CHECK(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    CHECK(connect(fd, (const struct sockaddr *)&a, sizeof a) == 0);
    CHECK(send(fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request));
    return fd;
}

/* All that comes until the connection ends. */
static const char *answer(int fd)
{
    static char text_of[65536];
    size_t n = 0;

    for (ssize_t got = 1; got > 0 && n < sizeof text_of - 1; n += (size_t)got) {
        got = recv(fd, text_of + n, sizeof text_of - 1 - n, 0);
        got = got < 0 ? 0 : got;
    }
    text_of[n] = '\0';
    close(fd);
    return text_of;
}

static const char *ask(const char *request)
{
    return answer(client(request));
}

static int status_of(const char *response)
{
    return strlen(response) > 12 ? (int)strtol(response + 9, NULL, 10) : 0;
}

static void wait_held(void)
{
    while (!atomic_load(&has_held))
        usleep(1000);
    atomic_store(&has_held, false);
}

#define HEAD  "Host: localhost\r\nConnection: close\r\n"
#define CHUNK "Transfer-Encoding: chunked\r\n"

TEST(a_body_and_a_query_arrive)
{
    begin(60);
    CHECK(strstr(ask("POST /a?q=b%20c HTTP/1.1\r\n" HEAD "Content-Length: 3\r\n\r\nxyz"),
                 "\r\n\r\nxyzb c"));
    CHECK(strstr(
        ask("POST /a HTTP/1.1\r\n" HEAD CHUNK "\r\n2\r\nxy\r\n1\r\nz\r\n0\r\n\r\n"),
        "\r\n\r\nxyz"));
    end();
    CHECK(atomic_load(&last_status) == 200);
}

TEST(forms_of_both_kinds_are_read)
{
    begin(60);
    CHECK(strstr(ask("POST /form HTTP/1.1\r\n" HEAD
                     "Content-Type: application/x-www-form-urlencoded\r\n"
                     "Content-Length: 22\r\n\r\nq=a+b%0D%0Ac&source=de"),
                 "q=a b\r\nc;source=de;"));
    CHECK(strstr(ask("POST /form HTTP/1.1\r\n" HEAD
                     "Content-Type: multipart/form-data; boundary=xx\r\n"
                     "Content-Length: 64\r\n\r\n--xx\r\nContent-Disposition: "
                     "form-data; name=\"q\"\r\n\r\nviel\r\n--xx--\r\n"),
                 "q=viel;"));
    CHECK(status_of(ask("POST /form HTTP/1.1\r\n" HEAD "Content-Length: 1\r\n\r\nx")) ==
          400);
    end();
}

TEST(what_could_be_read_in_two_ways_is_refused)
{
    static const struct {
        const char *request;
        int status;
    } cases[] = {
        {"GET / HTTP/1.1\r\n" HEAD "\r\n", 200},
        {"POST / HTTP/1.1\r\n" HEAD "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
         400},
        {"POST / HTTP/1.1\r\n" HEAD "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx",
         400},
        {"POST / HTTP/1.1\r\n" HEAD "Content-Length: 3\r\n" CHUNK "\r\n0\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\n" HEAD CHUNK CHUNK "\r\n0\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\n" HEAD
         "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
         400},
        {"POST / HTTP/1.1\r\n" HEAD "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\n" HEAD "Content-Length: +1\r\n\r\nx", 400},
        {"POST / HTTP/1.1\r\n" HEAD "Content-Length: 1,1\r\n\r\nx", 400},
        {"POST / HTTP/1.1\r\n" HEAD "Content-Length : 1\r\n\r\nx", 400},
        {"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HEAD "X: a\rY: b\r\n\r\n", 400},
        {"POST / HTTP/1.0\r\n" HEAD CHUNK "\r\n0\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HEAD "Host: other\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\n" HEAD "Content-Length: 99999999999999999999\r\n\r\nx", 413},
        {"POST / HTTP/1.1\r\n" HEAD "Content-Length: 999999999\r\n\r\nx", 413},
    };

    begin(60);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int got = status_of(ask(cases[i].request));
        if (got != cases[i].status)
            test_fail(__FILE__, __LINE__, "%s: %d, want %d", cases[i].request, got,
                      cases[i].status);
    }
    end();
}

TEST(a_body_beyond_the_limit_is_read_and_refused)
{
    char request[2000] = "POST / HTTP/1.1\r\n" HEAD "Content-Length: 1500\r\n\r\n";

    begin(60);
    memset(request + strlen(request), 'x', 1500);
    CHECK(status_of(ask(request)) == 413);
    end();
}

TEST(another_thread_answers_a_held_request)
{
    begin(60);
    const int fd = client("GET /hold HTTP/1.1\r\n" HEAD "\r\n");
    wait_held();
    CHECK(status_of(ask("GET / HTTP/1.1\r\n" HEAD "\r\n")) == 200); /* nobody waits */
    CHECK(!http_is_gone(held) && http_load(http).n_requests == 1);
    struct http_answer a = text(201, "late");
    http_answer(held, &a);
    CHECK(strstr(answer(fd), "\r\n\r\nlate"));
    end();
}

/* Processor seconds that this process has used. */
static double busy_seconds(void)
{
    struct timespec t;

    CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

TEST(a_server_with_nothing_to_do_sleeps_and_leaves_standard_input_alone)
{
    const int was = dup(0);
    int ends[2];
    char byte;

    CHECK(was >= 0 && pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
    CHECK(dup2(ends[0], 0) == 0);
    begin(60);
    CHECK(status_of(ask("GET / HTTP/1.1\r\n" HEAD "\r\n")) == 200);
    const double before = busy_seconds();
    usleep(1000000);
    CHECK(busy_seconds() - before < 0.5); /* a few turns, not all that there is */
    end();
    CHECK(read(0, &byte, 1) == 1 && byte == 'x');
    CHECK(dup2(was, 0) == 0);
    close(was);
    close(ends[0]);
    close(ends[1]);
}

TEST(a_stream_comes_piece_by_piece)
{
    char piece[256] = "";

    begin(60);
    const int fd = client("GET /hold HTTP/1.1\r\n" HEAD "\r\n");
    wait_held();
    struct http_answer a = text(200, "one,");
    http_stream_begin(held, &a);
    while (!strstr(piece, "one,")) {
        const ssize_t n = recv(fd, piece, sizeof piece - 1, 0);
        CHECK(n > 0);
        piece[n] = '\0';
    }
    http_stream_send(held, "two,", 4);
    usleep(20000);
    http_stream_send(held, "three", 5);
    http_stream_end(held);
    const char *rest = answer(fd);
    CHECK(strstr(rest, "two,") && strstr(rest, "three") && strstr(rest, "\r\n0\r\n"));
    end();
}

TEST(a_client_that_leaves_is_noticed)
{
    begin(60);
    for (int streams = 0; streams < 2; streams++) {
        const int fd = client("GET /hold HTTP/1.1\r\n" HEAD "\r\n");
        wait_held();
        struct http_answer a = text(200, "lost");
        if (streams)
            http_stream_begin(held, &a);
        close(fd);
        while (!http_is_gone(held))
            usleep(1000);
        if (streams)
            http_stream_end(held);
        else
            http_answer(held, &a);
    }
    end();
}

TEST(a_client_that_leaves_before_its_body_is_whole_is_let_go)
{
    begin(1000);
    for (int i = 0; i < 20; i++)
        close(client("POST / HTTP/1.1\r\n" HEAD "Content-Length: 9\r\n\r\nx"));
    end(); /* waits for requests that came */
}

TEST(a_stop_answers_what_came_and_closes_the_silent)
{
    begin(60);
    const int silent = client("");
    const int fd = client("GET /hold HTTP/1.1\r\n" HEAD "\r\n");
    wait_held();
    atomic_store(&wants_stop, true);
    CHECK(answer(silent)[0] == '\0');
    struct http_answer a = text(200, "whole");
    http_answer(held, &a);
    CHECK(strstr(answer(fd), "\r\n\r\nwhole"));
    end();
}

TEST(a_full_house_makes_room_but_not_of_a_request_in_work)
{
    int idle[40];

    begin(60);
    const int fd = client("GET /hold HTTP/1.1\r\n" HEAD "\r\n");
    wait_held();
    for (int i = 0; i < 40; i++)
        idle[i] = client("G");
    CHECK(status_of(ask("GET / HTTP/1.1\r\n" HEAD "\r\n")) == 200);
    struct http_answer a = text(200, "kept");
    http_answer(held, &a);
    CHECK(strstr(answer(fd), "\r\n\r\nkept"));
    for (int i = 0; i < 40; i++)
        close(idle[i]);
    end();
}

TEST(a_client_that_never_ends_its_request_is_closed)
{
    begin(0.3);
    CHECK(answer(client("GET / HTTP/1.1\r\nHost: "))[0] == '\0');
    CHECK(answer(client("POST / HTTP/1.1\r\n" HEAD "Content-Length: 9\r\n\r\nx"))[0] ==
          '\0');
    end();
}

TEST(a_host_is_an_address_or_our_name)
{
    static const char *const ours[] = {"localhost",  "LOCALHOST:1", "127.0.0.1:80",
                                       "[::1]:6160", "box",         "BOX:6160"};
    static const char *const others[] = {
        "",           ":", "evil.example", "evil.example:127", "[::1", "box.evil.example",
        "127.0.0.1.x"};

    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        CHECK(http_host_is_own(ours[i], "box"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK(!http_host_is_own(others[i], "box"));
}
